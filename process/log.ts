import { writeSync } from 'node:fs';
import { pino, type DestinationStream, type Logger } from 'pino';

/** A structured log: one JSON line on standard output per entry. Every line about a call carries `call_id`. */
export type Log = Logger;

/**
 * Standard output, for which no process waits at its end when nobody reads it any more: pino would try to write the
 * last lines for ever, and a process whose supervisor was killed would never end.
 */
const standardOutput = (): DestinationStream => {
  const stream = pino.destination({ fd: 1, sync: false });
  process.prependListener('exit', () => {
    try {
      writeSync(1, '\n');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EPIPE') stream.flushSync = () => undefined;
    }
  });
  return stream;
};

/** The log of the process that plays `part`; lines below `level` (a pino level) are not written. */
export const createLog = (part: 'control-api' | 'media-app', level: string): Log =>
  pino({ level, base: { part }, timestamp: pino.stdTimeFunctions.isoTime }, standardOutput());
