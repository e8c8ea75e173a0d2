import type { Flow } from '#contract/registration';
import type { SipRequest } from './srf.ts';
import { parseSipUri, uriOf } from './uri.ts';

const EXPIRES_DEFAULT_S = 3600;
/** It goes into a request URI with the contact, and drachtio-server takes 1024 characters there. */
const LONGEST_PATH = 512;
const LONGEST_INSTANCE = 256;

/** One device that a REGISTER asks to bind. */
export interface Binding {
  uri: string;
  /** Seconds; 0 takes it away. */
  expires: number;
  /** `+sip.instance` and `reg-id`: which way to which device, where the phone speaks outbound (RFC 5626 section 6). */
  flow?: Flow;
  /** Preference among its contacts, 0 to 1 (RFC 3261 section 20.10). */
  q?: string;
}

/** More than any phone has; three of them are kept. */
const MOST_BINDINGS = 10;
const LONGEST_URI = 512;

/** A REGISTER that makes no sense: answered with 400 and this text. */
export class BadBinding extends Error {
  override readonly name = 'BadBinding';
}

/**
 * The bindings a REGISTER asks for: `*` removes all, no Contact only asks (RFC 3261 section 10.2).
 * @throws BadBinding for a `*` that does not stand alone or removes nothing (10.3 step 6), and for what is no SIP address
 */
export const bindingsOf = (request: SipRequest): Binding[] | '*' => {
  const header = request.get('contact')?.trim() ?? '';
  const general = request.get('expires')?.trim();
  if (header === '*') {
    if (general !== '0') throw new BadBinding('Contact * Needs Expires 0');
    return '*';
  }
  const entries = splitList(header);
  if (entries.length > MOST_BINDINGS) throw new BadBinding('Too Many Contacts');
  return entries.map(text => bindingIn(text, general, supports(request, 'outbound')));
};

const bindingIn = (text: string, general: string | undefined, outbound: boolean): Binding => {
  const uri = uriOf(text);
  // Headers in a URI (`?Route=…`) would become headers of our INVITE (RFC 3261 section 19.1.5).
  if (!/^sips?:[^\s<>"?]+$/i.test(uri) || uri.length > LONGEST_URI || !parseSipUri(uri))
    throw new BadBinding('Contact Is No SIP Address');
  const parameters = text.replace(QUOTED, '').replace(/<[^>]*>/, '');
  const expires = seconds(/;\s*expires\s*=\s*([^;\s]*)/i.exec(parameters)?.[1]) ?? seconds(general);
  const q = /;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*(?:;|$)/i.exec(parameters)?.[1];
  const flow = outbound ? flowOf(text.slice(text.indexOf('>') + 1)) : undefined;
  return { uri, expires: expires ?? EXPIRES_DEFAULT_S, ...(flow ? { flow } : {}), ...(q ? { q } : {}) };
};

/** A display name may hold anything, semicolons too; a quoted instance as well. */
const QUOTED = /"(?:[^"\\]|\\.)*"/g;

/** Seconds as written; what is no number counts as absent (RFC 3261 section 10.2.1.1). */
const seconds = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;

/** A reg-id without an instance means nothing (RFC 5626 section 6). */
const flowOf = (parameters: string): Flow | undefined => {
  const instance = /;\s*\+sip\.instance\s*=\s*"([^"]+)"/i.exec(parameters)?.[1];
  const reg_id = /;\s*reg-id\s*=\s*(\d{1,9})/i.exec(parameters)?.[1];
  if (!instance || instance.length > LONGEST_INSTANCE || !Number(reg_id)) return undefined;
  return { instance, reg_id: Number(reg_id) };
};

/** The way through edge proxies (RFC 3327), the first one next to us; what is no list of SIP addresses is left out. */
export const pathOf = (request: SipRequest): string[] => {
  const header = request.get('path') ?? '';
  if (header.length > LONGEST_PATH) return [];
  const entries = splitList(header);
  return entries.every(entry => /^<sips?:[^<>\s"]+>$/i.test(entry) && parseSipUri(uriOf(entry))) ? entries : [];
};

/** Whether an option tag is among those of Supported (RFC 3261 section 20.37). */
const supports = (request: SipRequest, option: string): boolean =>
  (request.get('supported') ?? '').split(',').some(one => one.trim().toLowerCase() === option);

/** Splits at commas that stand outside quotes and angle brackets. */
const splitList = (header: string): string[] =>
  header.match(/(?:"(?:[^"\\]|\\.)*"|<[^>]*>|[^,<"])+/g)?.map(part => part.trim()) ?? [];
