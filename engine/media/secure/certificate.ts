import { RTCDtlsTransport } from 'werift';
import type { Fingerprint } from './protection.ts';

/** The certificate that the media server shows in every handshake; made anew with each start (RFC 8826 section 5.5). */
export interface Certificate {
  certificatePem: string;
  keyPem: string;
  signatureHash: { hash: 4; signature: 1 | 3 };
  fingerprint: Fingerprint;
}

/** Makes a self-signed ECDSA certificate. */
export async function makeCertificate(): Promise<Certificate> {
  const made = await RTCDtlsTransport.SetupCertificate();
  const [fingerprint] = made.getFingerprints();
  if (!fingerprint) throw new Error('the DTLS certificate has no fingerprint');
  const { algorithm, value } = fingerprint;
  return {
    certificatePem: made.certPem,
    keyPem: made.privateKey,
    signatureHash: made.signatureHash,
    fingerprint: { algorithm, value },
  };
}
