import type { Application, ApplicationContext } from '../application.ts';
import { none, splitArguments } from '../application.ts';
import type { Collected, KeyRequest } from '../key-collection.ts';
import { collectKeys } from '../key-collection.ts';
import { plain, playList } from '../player.ts';

/** The argument: `<min> <max> <tries> <timeout> <terminators> <file> <invalid file> [<variable> [<regexp> [<digit timeout>]]]`. */
interface Prompt extends KeyRequest {
  min: number;
  tries: number;
  invalidFile: string;
  variable: string;
  pattern: RegExp | null;
}

const maxPattern = 512;

/** `play_and_get_digits`: plays a prompt and collects keys; the first key ends the prompt. */
export const playAndGetDigits: Application = {
  name: 'play_and_get_digits',
  run: async context => {
    const prompt = parse(context.data);
    const { channel } = context;
    if (!prompt) return '-ERR invalid arguments';
    channel.forget(prompt.variable, `${prompt.variable}_invalid`, 'read_terminator_used', 'read_result');
    for (let attempt = 0; attempt < prompt.tries; attempt += 1) {
      const collected = await collectKeys(context, prompt);
      if (collected.ended === 'hangup') return fail(context, 'hangup');
      if (accepted(prompt, collected.digits)) return succeed(context, prompt, collected);
      if (collected.ended === 'break') return fail(context, 'failure');
      if (collected.digits !== '') channel.set(`${prompt.variable}_invalid`, collected.digits);
      const end = await playList(context, prompt.invalidFile, plain);
      if (end === 'hangup') return fail(context, 'hangup');
    }
    return fail(context, 'failure');
  },
};

function parse(data: string): Prompt | null {
  const [
    min,
    max,
    tries,
    timeout,
    terminators = '',
    file = '',
    invalidFile = '',
    variable = 'digits',
    pattern,
    digitTimeout,
  ] = splitArguments(data);
  const numbers = [min, max, tries, timeout].map(Number);
  if (numbers.some(number => !Number.isInteger(number) || number < 0) || file === '') return null;
  const [least = 0, most = 0, attempts = 1, timeoutMs = 0] = numbers;
  const between = Number(digitTimeout ?? timeoutMs);
  return {
    min: least,
    max: Math.min(Math.max(1, most, least), 512),
    tries: Math.min(Math.max(1, attempts), 100),
    timeoutMs: bounded(timeoutMs),
    digitTimeoutMs: bounded(Number.isFinite(between) && between > 0 ? between : timeoutMs),
    terminators: terminators === 'none' ? '' : terminators,
    file,
    invalidFile,
    variable: variable.slice(0, 128),
    pattern: compile(pattern),
  };
}

function bounded(ms: number): number {
  return Math.min(Math.max(0, ms), 3_600_000);
}

function compile(pattern: string | undefined): RegExp | null {
  if (pattern === undefined || pattern === '' || pattern.length > maxPattern) return null;
  try {
    return new RegExp(pattern);
  } catch {
    return /$^/; // an expression that does not compile accepts nothing, as in the real server
  }
}

function accepted(prompt: Prompt, digits: string): boolean {
  if (digits.length < prompt.min || (digits === '' && prompt.min > 0)) return false;
  if (digits === '') return prompt.min === 0 && prompt.pattern === null;
  return prompt.pattern === null || prompt.pattern.test(digits);
}

function succeed({ channel }: ApplicationContext, prompt: Prompt, collected: Collected): string {
  channel.set(prompt.variable, collected.digits);
  channel.set('read_result', collected.ended === 'timeout' ? 'timeout' : 'success');
  return none;
}

function fail({ channel }: ApplicationContext, result: string): string {
  channel.set('read_result', result);
  return none;
}
