import type { SipRequest } from './srf.ts';
import { parseSipUri, uriOf } from './uri.ts';

const EXPIRES_DEFAULT_S = 3600;
const LONGEST_PATH = 2048;
const LONGEST_INSTANCE = 256;

/** One device that a REGISTER asks to bind. */
export interface Binding {
  uri: string;
  /** Seconds; 0 takes it away. */
  expires: number;
  /** `+sip.instance` and `reg-id`: which way to which device, where the phone speaks outbound (RFC 5626 section 6). */
  flow?: Flow;
}

export interface Flow {
  instance: string;
  reg_id: number;
}

/** The bindings a REGISTER asks for: `*` removes all, no Contact only asks (RFC 3261 section 10.2). */
export const bindingsOf = (request: SipRequest): Binding[] | '*' => {
  const header = request.get('contact')?.trim() ?? '';
  if (header === '*') return '*';
  const general = request.get('expires');
  const outbound = supports(request, 'outbound');
  return splitList(header).map(text => {
    const parameters = text.replace(/<[^>]*>/, '');
    const expires = /;\s*expires\s*=\s*(\d{1,9})/i.exec(parameters)?.[1];
    const binding = { uri: uriOf(text), expires: Number(expires ?? general ?? EXPIRES_DEFAULT_S) };
    const flow = outbound ? flowOf(text.slice(text.indexOf('>') + 1)) : undefined;
    return flow ? { ...binding, flow } : binding;
  });
};

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
export const supports = (request: SipRequest, option: string): boolean =>
  (request.get('supported') ?? '').split(',').some(one => one.trim().toLowerCase() === option);

/** Splits at commas that stand outside quotes and angle brackets. */
const splitList = (header: string): string[] =>
  header.match(/(?:"(?:[^"\\]|\\.)*"|<[^>]*>|[^,<"])+/g)?.map(part => part.trim()) ?? [];
