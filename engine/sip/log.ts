/** The part of a pino logger the SIP stack uses. */
export interface SipLog {
  debug(fields: object, text: string): void;
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}

const nothing = (): void => undefined;

/** A log for callers that want none. */
export const silentLog: SipLog = { debug: nothing, info: nothing, warn: nothing, error: nothing };
