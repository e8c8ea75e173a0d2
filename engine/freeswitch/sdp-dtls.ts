import { randomBytes } from 'node:crypto';
import type { Fingerprint, IceCredentials } from '../media/secure/protection.ts';

/** Who begins the handshake, as a description says it (RFC 4145, RFC 5763). */
export type Setup = 'actpass' | 'active' | 'passive';

/** What a description says about DTLS and connectivity checks; session-wide values hold for every line. */
export interface DtlsAttributes {
  fingerprint?: Fingerprint;
  setup?: Setup;
  fragment?: string;
  password?: string;
}

/** What our descriptions say of our own end. */
export interface LocalDtls {
  fingerprint: Fingerprint;
  setup: Setup;
  ice: IceCredentials;
  /** The stream that we send, by which a browser knows it (RFC 5576). */
  ssrc: number;
}

const fingerprintPattern = /^fingerprint:(sha-(?:1|256|384|512)) ((?:[0-9A-F]{2}:){19,63}[0-9A-F]{2})$/i;

/** Reads an attribute into `into`, if it is one of these. */
export function readDtls(attribute: string, into: DtlsAttributes): void {
  const fingerprint = fingerprintPattern.exec(attribute);
  if (fingerprint?.[1] && fingerprint[2]) into.fingerprint ??= { algorithm: fingerprint[1], value: fingerprint[2] };
  const setup = /^setup:(actpass|active|passive)$/.exec(attribute)?.[1];
  if (setup) into.setup = setup as Setup;
  into.fragment ??= /^ice-ufrag:([A-Za-z0-9+/]{4,256})$/.exec(attribute)?.[1];
  into.password ??= /^ice-pwd:([A-Za-z0-9+/]{22,256})$/.exec(attribute)?.[1];
}

/** The lines that a secured audio line ends with. We have one address, which everybody reaches. */
export function dtlsLines({ fingerprint, setup, ice, ssrc }: LocalDtls, address: string, port: number): string[] {
  return [
    `a=fingerprint:${fingerprint.algorithm} ${fingerprint.value}`,
    `a=setup:${setup}`,
    `a=ice-ufrag:${ice.fragment}`,
    `a=ice-pwd:${ice.password}`,
    `a=candidate:1 1 udp 2130706431 ${address} ${port} typ host`,
    'a=end-of-candidates',
    'a=msid:trunkline audio',
    `a=ssrc:${ssrc} cname:${ssrc.toString(16).padStart(8, '0')}`,
  ];
}

/** Credentials for the connectivity checks of one leg. */
export function newCredentials(): IceCredentials {
  return { fragment: randomBytes(6).toString('base64'), password: randomBytes(18).toString('base64') };
}
