const LEVELS: Record<number, string> = { 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' };

/** Fields every pino line has and nobody wants to read. */
const HIDDEN = new Set([
  'level',
  'time',
  'pid',
  'hostname',
  'msg',
  'name',
  'v',
  'err',
  'error',
  'process',
  'part',
  'stack',
]);

/** The empty UUID says nothing. */
const NOBODY = '00000000-0000-0000-0000-000000000000';

const COLOURS: Record<string, string> = {
  warn: '\x1b[33m',
  error: '\x1b[31m',
  fatal: '\x1b[31m',
  debug: '\x1b[2m',
  trace: '\x1b[2m',
};

const two = (value: number): string => String(value).padStart(2, '0');

const clock = (time: Date): string => `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;

/** What came from the wire may hold terminal commands; a log shows them, it does not obey them. */
const printable = (text: string): string =>
  text.replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g,
    character => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );

const valueText = (value: unknown): string => {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'undefined';
  return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
};

/** A stack is for failures; a warning says what happened in its message. */
const errorText = (value: unknown, level: string): string => {
  if (typeof value === 'string') return ` ${value}`;
  const { message, stack } = (value ?? {}) as { message?: unknown; stack?: unknown };
  if (typeof stack === 'string' && (level === 'error' || level === 'fatal'))
    return `\n    ${stack.split('\n').slice(0, 6).join('\n    ')}`;
  return typeof message === 'string' ? ` ${message}` : ` ${JSON.stringify(value)}`;
};

interface PinoLine {
  [field: string]: unknown;
  level?: unknown;
  time?: unknown;
  msg?: unknown;
}

const parse = (line: string): PinoLine | undefined => {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as PinoLine;
  } catch {
    return undefined; // a plain line that begins with a brace
  }
};

const timeOf = (line: PinoLine): Date => {
  const time = typeof line.time === 'number' || typeof line.time === 'string' ? new Date(line.time) : new Date();
  return Number.isNaN(time.getTime()) ? new Date() : time;
};

/** One readable line: `12:00:01  media-app    info   ringing call_id=…`. */
export const formatLine = (time: Date, name: string, level: string, text: string, colour: boolean): string => {
  const start = `${clock(time)}  ${name.padEnd(12)} ${level.padEnd(5)}  `;
  const paint = colour ? COLOURS[level] : undefined;
  return paint ? `${paint}${start}${text}\x1b[0m` : `${start}${text}`;
};

/** Makes one line of a process readable: pino's JSON is unfolded, anything else is shown as it is. */
export const readableLine = (name: string, line: string, colour = false): string => {
  const parsed = parse(line);
  if (parsed === undefined) return formatLine(new Date(), name, 'info', printable(line), colour);
  const level = LEVELS[Number(parsed.level)] ?? 'info';
  const fields = Object.entries(parsed)
    .filter(([key, value]) => !HIDDEN.has(key) && value !== '' && value !== NOBODY)
    .map(([key, value]) => ` ${key}=${valueText(value)}`);
  const message = typeof parsed.msg === 'string' ? parsed.msg : '';
  const failure = parsed['err'] ?? parsed['error'];
  const text = message + fields.join('') + (failure === undefined ? '' : errorText(failure, level));
  return formatLine(timeOf(parsed), name, level, printable(text), colour);
};
