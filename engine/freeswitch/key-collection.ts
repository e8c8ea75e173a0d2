import type { ApplicationContext } from './application.ts';
import type { PlayEnd } from './player.ts';
import { playList } from './player.ts';

/** Which keys are asked for. */
export interface KeyRequest {
  /** The prompt, as a file argument. */
  file: string;
  /** So many keys are enough. */
  max: number;
  /** Keys that end the input and are no part of it; `any` is every key. */
  terminators: string;
  /** How long the first key is waited for after the prompt, and each further one. */
  timeoutMs: number;
  digitTimeoutMs: number;
}

/** What was pressed, and why it is all. */
export interface Collected {
  digits: string;
  ended: 'max' | 'terminator' | 'timeout' | 'break' | 'hangup';
}

/** One attempt: the prompt, then silence until enough keys, a terminator or a pause that is too long. */
export async function collectKeys(context: ApplicationContext, prompt: KeyRequest): Promise<Collected> {
  const { level, channel } = context;
  const state: { digits: string; ended: Collected['ended'] | null; stop: (() => void) | null } = {
    digits: '',
    ended: null,
    stop: null,
  };
  const key = (digit: string): void => {
    if (state.ended) return;
    if (prompt.terminators.includes(digit) || prompt.terminators === 'any') {
      channel.set('read_terminator_used', digit);
      state.ended = 'terminator';
    } else {
      state.digits += digit;
      if (state.digits.length >= prompt.max) state.ended = 'max';
    }
  };
  level.onDigit = key;
  const end: PlayEnd = await playList(context, prompt.file, {
    announced: true,
    deadline: null,
    endsAt: digit => heard(key, digit),
  });
  if (end === 'hangup') return { digits: state.digits, ended: 'hangup' };
  while (state.ended === null) {
    const before = state.digits.length;
    const waited = await nextKey(level, before === 0 ? prompt.timeoutMs : prompt.digitTimeoutMs, key);
    if (waited !== 'done') state.ended ??= waited;
    else if (state.digits.length === before) state.ended ??= 'timeout';
  }
  level.onDigit = null;
  return { digits: state.digits, ended: state.ended };
}

/** Any key ends the prompt. */
function heard(key: (digit: string) => void, digit: string): boolean {
  key(digit);
  return true;
}

/** Waits for one key or the time to pass. */
async function nextKey(
  level: ApplicationContext['level'],
  ms: number,
  key: (digit: string) => void,
): Promise<'done' | 'break' | 'hangup'> {
  return level.wait(done => {
    const timer = setTimeout(() => done('done'), ms);
    level.onDigit = digit => {
      key(digit);
      done('done');
    };
    return () => {
      clearTimeout(timer);
      level.onDigit = key;
    };
  });
}
