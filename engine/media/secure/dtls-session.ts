import { createHash, timingSafeEqual, verify, X509Certificate } from 'node:crypto';
import { DtlsClient, DtlsServer } from 'werift';
import type { Certificate } from './certificate.ts';
import type { DtlsProtection, Fingerprint } from './protection.ts';
import type { MasterKey } from './srtp-keys.ts';
import { keyBytes, saltBytes } from './srtp-keys.ts';

/** SRTP_AES128_CM_HMAC_SHA1_80 (RFC 5764 section 4.1.2), the one that everybody must have. */
const profile = 1;
const suite = 'AES_CM_128_HMAC_SHA1_80';
/**
 * Packets that are taken: a handshake has ten, and some are sent again. Each may cost 5 ms or be kept, and a party may send thousands.
 */
const pace = { atOnce: 24, everyMs: 50, most: 200 };
const serverKeyExchange = 12;
const certificateVerify = 15;
const digests = new Set(['sha-1', 'sha-256', 'sha-384', 'sha-512']);

/** What a session tells its owner. */
export interface DtlsEvents {
  send(packet: Buffer): void;
  keys(send: MasterKey, receive: MasterKey): void;
  failed(reason: string): void;
}

/** One DTLS handshake over the media path, which ends with SRTP keys or not at all (RFC 5763, RFC 5764). */
export class DtlsSession {
  readonly #socket: DtlsServer | DtlsClient;
  readonly #protection: DtlsProtection;
  readonly #events: DtlsEvents;
  readonly #transport;
  #begun = false;
  #taken = 0;
  #allowed = pace.atOnce;
  #allowedAt = performance.now();

  constructor(protection: DtlsProtection, certificate: Certificate, events: DtlsEvents) {
    this.#protection = protection;
    this.#events = events;
    this.#transport = {
      type: 'udp',
      address: { address: '0.0.0.0', family: 'IPv4', port: 0 },
      closed: false,
      onData: (_packet: Buffer, _from: readonly [string, number]): void => undefined, // the library puts its reader here
      send: (packet: Buffer): Promise<void> => {
        if (!this.#transport.closed) events.send(packet);
        return Promise.resolve();
      },
      close: (): Promise<void> => {
        this.#transport.closed = true;
        return Promise.resolve();
      },
    };
    const options = {
      transport: this.#transport,
      cert: certificate.certificatePem,
      key: certificate.keyPem,
      signatureHash: certificate.signatureHash,
      srtpProfiles: [profile] as [1],
      extendedMasterSecret: true,
    };
    const server = protection.role === 'server';
    this.#socket = server ? new DtlsServer({ ...options, certificateRequest: true }) : new DtlsClient(options);
    this.#socket.onConnect.once(() => this.#connected());
    this.#socket.onError.subscribe((error: Error) => events.failed(error.message));
  }

  /** The media path stands: a client says hello. */
  begin(): void {
    if (this.#begun || !(this.#socket instanceof DtlsClient)) return;
    this.#begun = true;
    this.#socket.connect().catch((error: unknown) => this.#events.failed(String(error)));
  }

  /** Takes a packet of the party. */
  receive(packet: Buffer): void {
    if (this.#transport.closed || !this.#mayTake()) return;
    try {
      this.#transport.onData(packet, ['', 0]);
    } catch (error) {
      this.#events.failed(String(error)); // a broken record; the next may be whole
    }
  }

  /** Sends and takes nothing any more. */
  close(): void {
    this.#transport.closed = true;
    this.#socket.dtls.flight = Infinity; // what waits to be sent again for a minute is given up
  }

  #mayTake(): boolean {
    const now = performance.now();
    this.#allowed = Math.min(pace.atOnce, this.#allowed + (now - this.#allowedAt) / pace.everyMs);
    this.#allowedAt = now;
    if (this.#allowed < 1 || this.#taken >= pace.most) return false;
    this.#allowed -= 1;
    this.#taken += 1;
    return true;
  }

  #connected(): void {
    const certificate = this.#socket.remoteCertificate;
    if (!certificate || !isNamed(certificate, this.#protection.fingerprint))
      return this.#refuse('the certificate is not the one that the description names');
    if (!this.#provesKey(certificate)) return this.#refuse('the certificate is not that of the other end');
    if (this.#socket.srtp.srtpProfile !== profile) return this.#refuse('the other end has no SRTP profile of ours');
    const keys = this.#socket.extractSessionKeys(keyBytes, saltBytes) as Record<string, Buffer>;
    const key = (name: 'local' | 'remote'): MasterKey => ({
      suite,
      key: Buffer.from(keys[`${name}Key`] ?? []),
      salt: Buffer.from(keys[`${name}Salt`] ?? []),
    });
    this.#events.keys(key('local'), key('remote'));
  }

  #refuse(reason: string): void {
    this.close();
    this.#events.failed(reason);
  }

  /**
   * Whether the other end has signed this handshake with the key of its certificate, which the library does not look at:
   * a client by CertificateVerify, a server by ServerKeyExchange (RFC 5246 sections 7.4.8 and 7.4.3).
   */
  #provesKey(certificate: Buffer): boolean {
    const { publicKey } = new X509Certificate(certificate);
    const messages = this.#socket.dtls.sortedHandshakeCache;
    const signing = this.#protection.role === 'server' ? certificateVerify : serverKeyExchange;
    const at = messages.findIndex(one => one.msg_type === signing);
    const body = messages[at]?.fragment;
    if (!body) return false;
    if (signing === certificateVerify) {
      const signed = Buffer.concat(messages.slice(0, at).map(one => one.serialize()));
      return verify('sha256', signed, publicKey, signatureAt(body, 0));
    }
    const { localRandom, remoteRandom } = this.#socket.cipher;
    const parameters = body.subarray(0, 4 + body.readUInt8(3));
    const signed = Buffer.concat([localRandom.serialize(), remoteRandom.serialize(), parameters]);
    return verify('sha256', signed, publicKey, signatureAt(body, parameters.length));
  }
}

/** The signature of a DigitallySigned structure: algorithm in two bytes, length in two (RFC 5246 section 4.7). */
function signatureAt(body: Buffer, at: number): Buffer {
  return body.subarray(at + 4, at + 4 + body.readUInt16BE(at + 2));
}

function isNamed(certificate: Buffer, { algorithm, value }: Fingerprint): boolean {
  const name = algorithm.toLowerCase();
  if (!digests.has(name)) return false;
  const actual = createHash(name.replace('-', '')).update(certificate).digest();
  const wanted = Buffer.from(value.replaceAll(':', ''), 'hex');
  return actual.length === wanted.length && timingSafeEqual(actual, wanted);
}
