import { pino, type Logger } from 'pino';

/** A structured log: one JSON line on standard output per entry. Every line about a call carries `call_id`. */
export type Log = Logger;

export const createLog = (level: string): Log =>
  pino({ level, base: { part: 'media-app' }, timestamp: pino.stdTimeFunctions.isoTime });
