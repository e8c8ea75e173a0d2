import { createCipheriv } from 'node:crypto';

/** Length of the authentication tag of RTP by suite, in bytes (RFC 4568 section 6.2); that of RTCP is always ten. */
export const suites = { AES_CM_128_HMAC_SHA1_80: 10, AES_CM_128_HMAC_SHA1_32: 4 } as const;

/** Encryption and authentication of a stream: AES-128 in counter mode, HMAC-SHA1 cut to 80 or 32 bits. */
export type Suite = keyof typeof suites;

/** Lengths of master key and salt in bytes. */
export const keyBytes = 16;
export const saltBytes = 14;

/** What both ends of one direction have agreed on. */
export interface MasterKey {
  suite: Suite;
  key: Buffer;
  salt: Buffer;
}

/** The keys of one kind of packet. */
export interface SessionKeys {
  encryption: Buffer;
  authentication: Buffer;
  salt: Buffer;
}

/** Labels of RFC 3711 section 4.3.2: encryption, authentication, salt. */
const labels = { rtp: [0, 1, 2], rtcp: [3, 4, 5] } as const;

/** Derives the keys that packets are encrypted with, with a key derivation rate of zero (RFC 3711 section 4.3.1). */
export function sessionKeys({ key, salt }: MasterKey, kind: 'rtp' | 'rtcp'): SessionKeys {
  const [encryption, authentication, salting] = labels[kind];
  return {
    encryption: derive(key, salt, encryption, keyBytes),
    authentication: derive(key, salt, authentication, 20),
    salt: derive(key, salt, salting, saltBytes),
  };
}

function derive(key: Buffer, salt: Buffer, label: number, length: number): Buffer {
  const counter = Buffer.alloc(16);
  salt.copy(counter);
  counter.writeUInt8(counter.readUInt8(7) ^ label, 7);
  return createCipheriv('aes-128-ctr', key, counter).update(Buffer.alloc(length));
}
