const stars = (text: string): string => '*'.repeat(text.length);

/** Header lines that carry credentials, with their continuations (RFC 3261 section 7.3.1). */
const CREDENTIALS = /^((?:proxy-)?authorization[ \t]*:[ \t]*)([^\r\n]*(?:\r\n[ \t][^\r\n]*)*)/gim;
const DIGEST_ANSWER = /(\bresponse[ \t]*=[ \t]*"?)([^",\s]+)/gi;
/** The keys of encrypted media (RFC 4568 section 9.2). */
const MEDIA_KEY = /^(a=crypto:[^\r\n]*?inline:)([^\r\n|]+)/gim;

const maskCredentials = (value: string): string =>
  /^digest\s/i.test(value)
    ? value.replace(DIGEST_ANSWER, (_, name: string, answer: string) => name + stars(answer))
    : stars(value.replace(/[\r\n]/g, ' '));

/** A SIP message without what would let its reader log in or decrypt; its length stays, so that it still parses. */
export const maskSecrets = (text: string): string =>
  text
    .replace(CREDENTIALS, (_, name: string, value: string) => name + maskCredentials(value))
    .replace(MEDIA_KEY, (_, name: string, key: string) => name + stars(key))
    .replaceAll('\0', '\u{fffd}');
