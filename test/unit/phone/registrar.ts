import { createHash } from 'node:crypto';
import { parseParams } from '../../../scripts/phone/sip-address.ts';
import type { Remote } from '../../../scripts/phone/sip-address.ts';
import { header, headerList, respondTo } from '../../../scripts/phone/sip-message.ts';
import type { SipRequest } from '../../../scripts/phone/sip-message.ts';
import type { Protocol } from '../../../scripts/phone/sip-transport.ts';
import { Wire } from '../../../scripts/phone/sip-wire.ts';

/** A registrar of a page: challenges with MD5, accepts one password, remembers Contacts. Something to register a phone with. */
export class Registrar {
  readonly contacts = new Map<string, number>();
  readonly seen: SipRequest[] = [];
  nonce = 'first';
  password = 'secret';
  #wire: Wire;

  static async start(protocol: Protocol): Promise<Registrar> {
    return new Registrar(await Wire.open({ protocol, host: '127.0.0.1', port: 0 }));
  }

  constructor(wire: Wire) {
    this.#wire = wire;
    wire.onRequest = (request, from) => this.#receive(request, from);
  }

  get address(): Remote {
    return this.#wire.local;
  }

  close(): Promise<void> {
    return this.#wire.close();
  }

  #receive(request: SipRequest, from: Remote): void {
    this.seen.push(request);
    const to = this.#wire.returnPath(request, from);
    const answer = (status: number, name?: string, value = '') =>
      this.#wire.send(respondTo(request, status, 'registrar', name ? [{ name, value }] : []), to);
    const given = parseParams(
      `;${(header(request, 'authorization') ?? '').replace(/^Digest /, '').replace(/, /g, ';')}`,
    );
    const challenge = `Digest realm="test", nonce="${this.nonce}", qop="auth", algorithm=MD5`;
    if (!given.has('response')) return answer(401, 'www-authenticate', challenge);
    if (given.get('nonce') !== this.nonce) return answer(401, 'www-authenticate', `${challenge}, stale=true`);
    if (given.get('response') !== this.#expected(given)) return answer(403);
    const contact = headerList(request, 'contact')[0] ?? '';
    const expires = Math.min(Number(header(request, 'expires')), 120);
    if (expires === 0) this.contacts.delete(contact);
    else this.contacts.set(contact, expires);
    answer(200, 'contact', expires === 0 ? '' : `${contact};expires=${expires}`);
  }

  #expected(given: Map<string, string>): string {
    const hash = (...parts: (string | undefined)[]) => createHash('md5').update(parts.join(':')).digest('hex');
    const ha1 = hash(given.get('username'), 'test', this.password);
    return hash(ha1, this.nonce, given.get('nc'), given.get('cnonce'), 'auth', hash('REGISTER', given.get('uri')));
  }
}
