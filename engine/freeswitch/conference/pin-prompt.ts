import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { ApplicationContext } from '../application.ts';
import { collectKeys } from '../key-collection.ts';
import { plain, playList } from '../player.ts';
import { synthesize } from '../speech.ts';
import type { JoinRequest } from './conferences.ts';
import { samePin } from './conferences.ts';

const tries = 3;
const waitMs = 10_000;
/** Where there is neither a recording nor a speech engine. */
const beep = 'tone_stream://%(300,0,440)';

/**
 * Asks a caller who brings no pin for the one that the conference has: first the channel variable `supplied_pin`, then up
 * to three times the caller. Gives the request with what was learnt; whether it is right is for the conference to say.
 */
export async function withPin(context: ApplicationContext, request: JoinRequest): Promise<JoinRequest> {
  const { channel } = context;
  const wanted = channel.core.conferences.get(request.name)?.pin ?? '';
  if (wanted === '' || request.pin !== '') return request;
  const supplied = channel.get('supplied_pin') ?? '';
  if (samePin(wanted, supplied)) return { ...request, pin: supplied };
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const pin = await ask(context, wanted.length);
    if (pin === null) break;
    if (samePin(wanted, pin)) return { ...request, pin };
    await playList(context, await prompt(context, 'conference/conf-bad-pin.wav', 'That pin is wrong.'), plain);
  }
  return request;
}

/** The keys of one attempt; null when the caller is gone or taken elsewhere. */
async function ask(context: ApplicationContext, length: number): Promise<string | null> {
  const { digits, ended } = await collectKeys(context, {
    file: await prompt(context, 'conference/conf-pin.wav', 'Please enter the conference pin number.'),
    max: length,
    terminators: '#',
    timeoutMs: waitMs,
    digitTimeoutMs: waitMs,
  });
  return ended === 'hangup' || ended === 'break' ? null : digits;
}

/** A recording in the folder of sounds, under the name that the real server has it by; else the words, read aloud. */
async function prompt({ channel }: ApplicationContext, file: string, words: string): Promise<string> {
  const { soundsDir, cacheDir } = channel.core.options;
  const recording = resolve(soundsDir, file);
  const there = await access(recording).then(
    () => true,
    () => false,
  );
  if (there) return recording;
  return (await synthesize({ engine: 'flite', voice: 'slt', text: words, cacheDir })) ?? beep;
}
