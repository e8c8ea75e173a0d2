import type { Certificate } from './certificate.ts';
import type { MasterKey } from './srtp-keys.ts';

/** A certificate's digest as a session description names it (RFC 8122): `sha-256`, `AB:CD:…`. */
export interface Fingerprint {
  algorithm: string;
  value: string;
}

/** User fragment and password of one side's connectivity checks (RFC 8445 section 5.3). */
export interface IceCredentials {
  fragment: string;
  password: string;
}

/** SRTP with keys that the descriptions carry (RFC 4568). */
export interface SdesProtection {
  kind: 'sdes';
  send: MasterKey;
  receive: MasterKey;
}

/** SRTP with keys that both ends agree on over the media path (RFC 5764), which connectivity checks have opened. */
export interface DtlsProtection {
  kind: 'dtls';
  /** Ours: the client begins the handshake. */
  role: 'client' | 'server';
  /** Whose certificate must be at the other end. */
  fingerprint: Fingerprint;
  /** Our credentials, which the other end's checks must know. */
  ice: IceCredentials;
  /** What we show in the handshake. */
  certificate: Certificate;
}

/** How the packets of a leg are protected. */
export type Protection = SdesProtection | DtlsProtection;
