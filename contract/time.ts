/**
 * Timestamps. Inside the platform a moment is always the text `YYYY-MM-DD HH:MM:SS.ffffff` in UTC (platform-api,
 * general convention 3), which sorts as text. A moment that has not come is `null` inside; how it is rendered outside
 * differs by resource: null for flows, calls and contacts, the empty string for extensions, `NEVER` elsewhere.
 */
export type Timestamp = string;

/** What `tm_*` fields of most resources show for "has not happened". */
export const NEVER: Timestamp = '9999-01-01 00:00:00.000000';

let last = 0n;

/** Now, in microseconds since the epoch, strictly increasing within the process so that cursors never tie. */
const nowMicros = (): bigint => {
  const wall = BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000));
  last = wall > last ? wall : last + 1n;
  return last;
};

const render = (micros: bigint): Timestamp => {
  const text = new Date(Number(micros / 1000n)).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 23)}${String(micros % 1000n).padStart(3, '0')}`;
};

/** The present moment as a `Timestamp`, strictly increasing within the process. */
export const timestamp = (): Timestamp => render(nowMicros());

/** A JavaScript date (milliseconds) as a `Timestamp`. */
export const fromDate = (date: Date): Timestamp => render(BigInt(date.getTime()) * 1000n);

/** Milliseconds since the epoch of a `Timestamp` (fraction of a millisecond kept as decimals). */
export const toMillis = (text: Timestamp): number =>
  Date.parse(`${text.slice(0, 10)}T${text.slice(11, 23)}Z`) + Number(text.slice(23) || '0') / 1000;

/** RFC 3339 with microseconds, the form of `page_token` and of an event's `timestamp`. */
export const toRfc3339 = (text: Timestamp): string => `${text.slice(0, 10)}T${text.slice(11)}Z`;

const ANY_FORM = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(?:Z|\+00(?::?00)?)?$/;

/** Reads `YYYY-MM-DD HH:MM:SS[.f]` and RFC 3339 in UTC, any fraction; `undefined` when it is neither (accounts 1.5). */
export const parseTimestamp = (text: string): Timestamp | undefined => {
  const match = ANY_FORM.exec(text);
  if (!match || Number.isNaN(Date.parse(`${match[1]}T${match[2]}Z`))) return undefined;
  return `${match[1]} ${match[2]}.${(match[3] ?? '').slice(0, 6).padEnd(6, '0')}`;
};
