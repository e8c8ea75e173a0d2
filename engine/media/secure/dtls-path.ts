import type { RemoteInfo } from 'node:dgram';
import { DtlsSession } from './dtls-session.ts';
import type { DtlsProtection, IceCredentials } from './protection.ts';
import type { MasterKey } from './srtp-keys.ts';
import { answerCheck, readCheck } from './stun.ts';

/** An address that packets come from or go to. */
interface Place {
  address: string;
  port: number;
}

/** What a path does to the leg it belongs to. */
export interface PathEvents {
  send(packet: Buffer, to: Place): void;
  /** The party wants its packets here from now on. */
  path(to: Place): void;
  keys(send: MasterKey, receive: MasterKey): void;
  /** No keys come of the handshake, and why; told once. */
  failed(reason: string): void;
}

/** A party checks a few addresses of its own; more are not remembered. */
const maxPlaces = 16;
/** No DTLS packet is taken from an address that has not passed a check, so strangers cannot disturb a handshake. */
const named = ({ address, port }: Place): string => `${address}:${port}`;

/**
 * The media path of a browser: answers its connectivity checks as an ICE lite agent (RFC 8445 section 2.5), which only has
 * addresses that everybody reaches, and agrees on keys by DTLS over the path that the browser has chosen.
 */
export class DtlsPath {
  readonly #protection: DtlsProtection;
  #ice: IceCredentials;
  readonly #events: PathEvents;
  readonly #session: DtlsSession;
  readonly #checked = new Set<string>();
  #chosen: Place | null = null;
  #failed = false;

  constructor(protection: DtlsProtection, events: PathEvents) {
    this.#protection = protection;
    this.#ice = protection.ice;
    this.#events = events;
    this.#session = new DtlsSession(protection, protection.certificate, {
      send: packet => this.#chosen && events.send(packet, this.#chosen),
      keys: (send, receive) => events.keys(send, receive),
      failed: reason => this.#fail(reason),
    });
  }

  /** Whether the keys that were agreed on here hold for this description: they outlive a restart of the checks (RFC 8842 section 5.1). */
  serves({ role, fingerprint }: DtlsProtection): boolean {
    return this.#protection.fingerprint.value === fingerprint.value && this.#protection.role === role;
  }

  /** Credentials of the checks from now on. With new ones the party looks for another path; media stay on this one until it has. */
  restart(ice: IceCredentials): void {
    if (ice.fragment === this.#ice.fragment) return;
    this.#ice = ice;
    this.#checked.clear();
  }

  /** Takes a packet that is a check or part of the handshake (RFC 7983); false for media. */
  take(bytes: Buffer, from: RemoteInfo): boolean {
    const first = bytes[0] ?? 0;
    if (first < 4) this.#check(bytes, from);
    else if (first >= 20 && first < 64) {
      if (this.#checked.has(named(from))) this.#session.receive(bytes);
    } else return false;
    return true;
  }

  /** Ends the handshake. */
  close(): void {
    this.#session.close();
  }

  #check(bytes: Buffer, from: RemoteInfo): void {
    const check = readCheck(bytes, this.#ice);
    const answer = check && answerCheck(check, from, this.#ice.password);
    if (!answer) return;
    if (this.#checked.size < maxPlaces) this.#checked.add(named(from));
    this.#events.send(answer, from);
    if (!this.#chosen || check.nominates) this.#choose(from);
    this.#session.begin();
  }

  /** Broken records may come by the thousand: only the first reason is told. */
  #fail(reason: string): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#events.failed(reason);
  }

  #choose({ address, port }: RemoteInfo): void {
    this.#chosen = { address, port };
    this.#events.path(this.#chosen);
  }
}
