import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Turns } from '../media/sources/turns.ts';
import { makeRoom } from './make-room.ts';

/** What is to be said and how. */
export interface Utterance {
  /** `flite` or `espeak`; another installed engine is taken when this one is missing. */
  engine: string;
  voice: string;
  text: string;
  cacheDir: string;
}

const maxText = 5000;
const deadlineMs = 15_000;
const turns = new Turns(8);
const missing = new Set<string>();
let serial = 0;

/**
 * Makes speech of a text with flite or espeak-ng as a child process and gives the WAV file; null when neither is
 * installed or there is nothing to say. The same text is made once, eight texts at a time.
 */
export async function synthesize(utterance: Utterance): Promise<string | null> {
  const text = utterance.text
    .replace(/[\0-\x1f]+/g, ' ')
    .trim()
    .slice(0, maxText);
  if (text === '') return null;
  const key = createHash('sha256')
    .update(JSON.stringify([utterance.engine, utterance.voice, text]))
    .digest('hex')
    .slice(0, 32);
  const target = join(utterance.cacheDir, `${key}.speech.wav`);
  if (await exists(target)) return target;
  await mkdir(utterance.cacheDir, { recursive: true });
  for (const command of commandsFor(utterance, text, `${target}~${process.pid}-${++serial}.wav`)) {
    if (missing.has(command.program) || !(await turns.take(() => succeeds(command)))) continue;
    await rename(command.target, target);
    await makeRoom(utterance.cacheDir);
    return target;
  }
  return null;
}

interface Command {
  program: string;
  args: string[];
  target: string;
}

function commandsFor({ engine, voice }: Utterance, text: string, target: string): Command[] {
  const named = /^[\w-]{1,32}$/.test(voice);
  const flite = { program: 'flite', args: ['-voice', named ? voice : 'slt', '-t', text, '-o', target], target };
  const espeak = {
    program: 'espeak-ng',
    args: ['-v', named && voice.length <= 5 ? voice : 'en', '-w', target, '--', text],
    target,
  };
  return engine === 'flite' ? [flite, espeak] : [espeak, flite];
}

/** Whether it was said; what was begun and not finished is removed. */
async function succeeds(command: Command): Promise<boolean> {
  const done = await runs(command);
  if (!done) await rm(command.target, { force: true });
  return done;
}

function runs({ program, args }: Command): Promise<boolean> {
  return new Promise(resolve => {
    execFile(program, args, { timeout: deadlineMs }, error => {
      if (error?.code === 'ENOENT') missing.add(program);
      resolve(error === null);
    });
  });
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
