import type { Address, Anonymous } from '#contract/address';
import { escapeUser, parseSipUri, quoted } from '../sip/uri.ts';

/** The stored target of a caller who came without a name (accounts-and-plumbing 25.5). */
export const ANONYMOUS = 'anonymous';

/**
 * Whether a callee must not learn who calls (voice-and-flows 9.3, accounts-and-plumbing 25.5). What was asked for counts
 * for telephone numbers only; otherwise a caller who came withheld stays withheld.
 * @param privacy whether the call that leads to this one came withheld
 */
export const isWithheld = (destination: Address['type'], asked: Anonymous, privacy: boolean): boolean => {
  if (destination === 'tel' && asked === 'yes') return true;
  if (destination === 'tel' && asked === 'no') return false;
  return privacy;
};

/**
 * The From header a callee sees: the source's name and number, under a domain where calling back makes sense. Wherever
 * `localhost` stands in it, drachtio-server puts an address of its own, towards a phone on a connection even an empty one and
 * nobody is rung; hosts know no case (RFC 3261 section 19.1.4), but its search does.
 */
const fromHeader = (source: Address, domain: string): string => {
  const uri = source.type === 'sip' ? parseSipUri(source.target) : undefined;
  const user = uri?.user || source.target;
  const name = source.target_name || source.name || user;
  return `${quoted(name)} <sip:${escapeUser(user)}@${uri?.host ?? domain}>`.replaceAll('localhost', 'Localhost');
};

/** A caller withheld, as RFC 3323 section 4.1.1.3 writes it; `id` keeps every network behind us from telling. */
const WITHHELD = { from: '"Anonymous" <sip:anonymous@anonymous.invalid>', Privacy: 'id' };

/**
 * The headers of an INVITE that say who calls. The Contact is the SIP server's own: it knows over which transport the far end
 * comes back.
 */
export const callerHeaders = (source: Address, domain: string, withheld: boolean): Record<string, string> =>
  withheld || source.target === ANONYMOUS ? { ...WITHHELD } : { from: fromHeader(source, domain) };

/** True when an INVITE asks that its caller be withheld (RFC 3323 section 4.2), or names nobody. */
export const asksForPrivacy = (from: string, privacy: string): boolean => {
  const asked = privacy.toLowerCase().split(/[\s;,]+/);
  if (['id', 'header', 'user'].some(value => asked.includes(value))) return true;
  const caller = parseSipUri(from);
  return !caller || caller.host === 'anonymous.invalid' || caller.user.toLowerCase() === ANONYMOUS;
};
