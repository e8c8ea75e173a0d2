/** What a call needs to know of a provider. */
export interface Provider {
  id: string;
  name: string;
  hostname: string;
  tech_prefix: string;
  tech_postfix: string;
  tech_headers: Record<string, string>;
  codecs: string;
  username: string;
  password: string;
  register: boolean;
  allowed_ips: string[];
  max_calls: number;
  max_calls_per_second: number;
}

/** Headers that are ours or the protocol's: a provider's own of these names are not sent (accounts-and-plumbing 22). */
const RESERVED =
  /^(p-.*-identity|privacy|remote-party-id|from|to|contact|via|call-id|cseq|max-forwards|route|record-route|require|proxy-.*|authorization|content-.*|allow.*|supported|session-expires|min-se|diversion|history-info|identity|replaces|x-trunkline-.*|[fmtvicelkojrydbsux])$/i;
const TOKEN = /^[A-Za-z0-9!%*_+`'~.-]{1,64}$/;

/** A provider's own headers, without reserved names and without values that could break out of their line. */
export const techHeaders = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(
      ([name, value]) => TOKEN.test(name) && !RESERVED.test(name) && !/[\r\n\0(),]/.test(value),
    ),
  );

/** The affix of a dialled number as it stands in a URI. */
const affix = (text: string): string => text.replaceAll('#', '%23');

/** Where a number is dialled through a provider (22). */
export const dialledUri = ({ tech_prefix, tech_postfix, hostname }: Provider, number: string): string =>
  `sip:${affix(tech_prefix)}${number}${affix(tech_postfix)}@${hostname};transport=udp`;
