import type { EslHeaders } from '../esl/encode.ts';
import { sampleRate } from '../media/clock.ts';
import { FileNotFoundError, openSource } from '../media/sources/open-source.ts';
import type { ApplicationContext } from './application.ts';
import type { WaitEnd } from './executions.ts';
import { fetchSound } from './sound-cache.ts';

type OpenSource = Awaited<ReturnType<typeof openSource>>;

/** How playing ended: `timeout` is the limit of `playback_timeout_sec`, `digit` a key that ends it. */
export type PlayEnd = WaitEnd | 'not-found' | 'timeout' | 'digit';

/** How something is played. */
export interface PlayOptions {
  /** Raise PLAYBACK_START and PLAYBACK_STOP; `speak` does not. */
  announced: boolean;
  /** Ends a play at this time (`performance.now()` scale); null without limit. */
  deadline: number | null;
  /** Tells for each key whether it ends the play; null ignores keys. */
  endsAt: ((digit: string) => boolean) | null;
}

/** Options of a play that nothing but its own end or a break can end. */
export const plain: PlayOptions = { announced: true, deadline: null, endsAt: null };

const resultNames = [
  'playback_last_offset_pos',
  'playback_seconds',
  'playback_ms',
  'playback_samples',
  'playback_terminator_used',
];

/**
 * Plays what a file argument names: one element, `file_string://a!b`, or a list by `playback_delimiter`. The next
 * element is opened while the present one plays, so that there is no gap. The figures of the last element stay in the
 * channel's `playback_*` variables.
 */
export async function playList(context: ApplicationContext, argument: string, options: PlayOptions): Promise<PlayEnd> {
  const { channel, level } = context;
  channel.forget(...resultNames);
  const elements = splitList(argument, channel.get('playback_delimiter'));
  let end: PlayEnd = 'not-found';
  let next = prepare(context, elements[0] ?? '');
  for (const [index, element] of elements.entries()) {
    const current = await next;
    if (level.hungUp) return 'hangup';
    const following = elements[index + 1];
    if (following !== undefined) next = prepare(context, following);
    const one = current ? await playOne(context, element, current, options) : 'not-found';
    end = one === 'not-found' && end !== 'not-found' ? end : one;
    if (one === 'hangup' || one === 'timeout' || one === 'digit' || (one === 'break' && level.breakAll)) return one;
  }
  return end;
}

/** The elements of a file argument, without its `{option=value}` prefix. */
export function splitList(argument: string, delimiter: string | undefined): string[] {
  const text = argument.trim().replace(/^\{[^}]*\}/, '');
  if (text.startsWith('file_string://')) return nonEmpty(text.slice('file_string://'.length).split('!'));
  return delimiter ? nonEmpty(text.split(delimiter)) : nonEmpty([text]);
}

function nonEmpty(texts: string[]): string[] {
  return texts
    .map(text => text.trim())
    .filter(text => text !== '')
    .slice(0, 1000);
}

/** Opens one element; null when there is no such sound, which is told as `FILE NOT FOUND`. */
async function prepare({ channel }: ApplicationContext, element: string): Promise<OpenSource | null> {
  const { soundsDir, cacheDir, log } = channel.core.options;
  const { spec, seek } = splitSeek(element);
  const { rate, codecRate } = channel.leg;
  try {
    const path = /^https?:\/\//i.test(spec) ? await fetchSound(spec, cacheDir) : spec;
    return await openSource(path, { soundsDir, rate, seek: Math.round((seek * rate) / codecRate) });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (!(error instanceof FileNotFoundError))
      log.warn({ uuid: channel.uuid, file: element, reason }, 'sound cannot be played');
    return null; // every reason is the same to the client: the element is skipped
  }
}

function splitSeek(element: string): { spec: string; seek: number } {
  const spec = element.replace(/^\{[^}]*\}/, '');
  const match = /^(.*)@@(\d{1,12})$/.exec(spec);
  return match ? { spec: match[1] ?? '', seek: Number(match[2]) } : { spec, seek: 0 };
}

async function playOne(
  context: ApplicationContext,
  element: string,
  source: OpenSource,
  options: PlayOptions,
): Promise<PlayEnd> {
  const { channel } = context;
  const headers = fileHeaders(element);
  if (options.announced) channel.raise('PLAYBACK_START', headers);
  const end = await hear(context, source, options);
  setFigures(context, source, splitSeek(element).seek);
  if (options.announced)
    channel.raise('PLAYBACK_STOP', { ...headers, 'Playback-Status': end === 'break' ? 'break' : 'done' });
  return end;
}

/** Plays one source, watching the clock and the keys. */
async function hear(
  { channel, level }: ApplicationContext,
  source: OpenSource,
  options: PlayOptions,
): Promise<PlayEnd> {
  let reason: 'timeout' | 'digit' | null = null;
  let timer: NodeJS.Timeout | null = null;
  const onDigit = level.onDigit;
  const end = await level.play(source, stop => {
    const stopFor = (why: 'timeout' | 'digit'): void => {
      reason = why;
      stop();
    };
    if (options.deadline !== null)
      timer = setTimeout(() => stopFor('timeout'), Math.max(0, options.deadline - performance.now()));
    const { endsAt } = options;
    if (endsAt) level.onDigit = digit => endsAt(digit) && stopFor('digit');
  });
  if (timer) clearTimeout(timer);
  level.onDigit = onDigit;
  if (channel.hangupCause !== null) return 'hangup';
  return end === 'done' ? (reason ?? 'done') : end;
}

function fileHeaders(element: string): EslHeaders {
  const type: EslHeaders = element.startsWith('tone_stream://') ? { 'Playback-File-Type': 'tone_stream' } : {};
  return { ...type, 'Playback-File-Path': splitSeek(element).spec };
}

/** Tells how much was played after the first `seek` samples; all samples are counted at the rate of the codec, as the real server does. */
function setFigures({ channel }: ApplicationContext, { position = 0, rate }: OpenSource, seek: number): void {
  const { codecRate } = channel.leg;
  const end = Math.round((position * codecRate) / (rate ?? sampleRate));
  const samples = end - seek;
  const ms = Math.round((samples * 1000) / codecRate);
  channel.set('playback_last_offset_pos', String(end));
  channel.set('playback_seconds', String(Math.floor(ms / 1000)));
  channel.set('playback_ms', String(ms));
  channel.set('playback_samples', String(samples));
}

/** The keys that `playback_terminators` names: `none`, `any`, or the keys themselves; `*` when it is unset. */
export function terminators(value: string | undefined): (digit: string) => boolean {
  const keys = value ?? '*';
  if (keys === 'none') return () => false;
  return keys === 'any' ? () => true : digit => keys.includes(digit);
}
