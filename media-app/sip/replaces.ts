/** A dialog as a Replaces header names it (RFC 3891 section 6.1). `to_tag` is the tag of whoever gets the header. */
export interface DialogName {
  call_id: string;
  to_tag: string;
  from_tag: string;
  /** Only while the dialog is not answered. */
  early_only: boolean;
}

/** Both tags of a call that rings, where phones are told of it by its id (`event-packages.ts`). */
export const PICK_UP_TAG = 'pick-up';

/** The id of a call that rings, where a Replaces names it as phones are told of it. */
export const ringingCallOf = ({ call_id, to_tag, from_tag }: DialogName): string | undefined =>
  to_tag === PICK_UP_TAG && from_tag === PICK_UP_TAG ? call_id : undefined;

/** Reads a Replaces header; `undefined` when it is none. Exactly one Call-ID and both tags must be there. */
export const parseReplaces = (text: string): DialogName | undefined => {
  const [call_id = '', ...parameters] = text.split(';').map(part => part.trim());
  const valueOf = (name: string) => {
    const values = parameters.filter(one => one.toLowerCase().startsWith(`${name}=`));
    return values.length === 1 ? values[0]?.slice(name.length + 1) : undefined;
  };
  const [to_tag, from_tag] = [valueOf('to-tag'), valueOf('from-tag')];
  if (!call_id || /[\s,]/.test(text.trim()) || !to_tag || !from_tag) return undefined;
  return { call_id, to_tag, from_tag, early_only: parameters.some(one => one.toLowerCase() === 'early-only') };
};

const tagOf = (address: string): string | undefined => /;\s*tag=([^;\s]+)/i.exec(address)?.[1];

/** The dialog of a provisional response as whoever sent it would name it; `undefined` while it has no tag of its own. */
export const earlyDialogOf = (response: { get(name: string): string | undefined }): DialogName | undefined => {
  const [to_tag, from_tag] = [tagOf(response.get('from') ?? ''), tagOf(response.get('to') ?? '')];
  const call_id = response.get('call-id');
  return call_id && to_tag && from_tag ? { call_id, to_tag, from_tag, early_only: true } : undefined;
};

/** Whom a REFER names, and the dialog that is to be replaced there (RFC 3515 section 2.1, RFC 5589 section 7). */
export interface ReferTarget {
  uri: string;
  replaces: DialogName | undefined;
}

/** Reads a Refer-To header; `undefined` when it is not exactly one SIP URI for an INVITE (RFC 3515 section 2.4.1). */
export const parseReferTo = (header: string): ReferTarget | undefined => {
  const inBrackets = /^[^<>,]*<([^<>]+)>\s*(;[^<>,]*)?$/.exec(header.trim())?.[1];
  const text = inBrackets ?? (/^[^\s<>,;?]+$/.test(header.trim()) ? header.trim() : undefined);
  const match = /^(sips?:[^?\s]+)(?:\?(\S*))?$/i.exec(text ?? '');
  if (!match?.[1]) return undefined;
  const method = /;method=([^;?]*)/i.exec(match[1])?.[1];
  if (method && method.toUpperCase() !== 'INVITE') return undefined;
  const wanted = (match[2] ?? '').split('&').filter(one => /^replaces=/i.test(one));
  if (wanted.length === 0) return { uri: match[1], replaces: undefined };
  const replaces =
    wanted.length === 1 ? parseReplaces(unescaped(wanted[0]?.slice('replaces='.length) ?? '')) : undefined;
  return replaces && { uri: match[1], replaces };
};

const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return ''; // bad escapes name nothing
  }
};
