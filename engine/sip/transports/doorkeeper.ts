import type { Server, Socket } from 'node:net';
import { sourceOf } from '../addresses.ts';
import { Handshakes } from './handshakes.ts';

/** What all connections together may cost: with more, the oldest of whoever has most that nobody knows is closed. */
const MOST_CONNECTIONS = 10_000;
/** Connections that have not brought a message yet: with more, the oldest of whoever has most is closed. */
const MOST_STRANGERS = 2000;
/** Bytes of messages that are not whole, and of what waits for peers that do not read. */
const MOST_BYTES = 64 * 2 ** 20;
const MOST_BYTES_A_SOURCE = 8 * 2 ** 20;
/** Of one source, unless the settings say otherwise: a large office behind one address, or a proxy of browsers. */
const MOST_A_SOURCE = 1000;

/** A connection that somebody opened to us. */
interface Guest {
  socket: Socket;
  place: string;
  source: Source;
  patience: NodeJS.Timeout | undefined;
  /** Bytes of a message that waits for its rest. */
  unread: number;
  /** Bytes that wait for the peer to read. */
  unsent: number;
}

/** What one address, or one network of IPv6, has open. */
interface Source {
  name: string;
  guests: Set<Guest>;
  /** Those that have said nothing yet, the oldest first. */
  strangers: Set<Guest>;
  /** Those that have not proved who they are, with the strangers, the oldest first. */
  unknown: Set<Guest>;
  bytes: number;
}

/**
 * Lets connections in, those of all transports together. Whoever connects has a time to bring his first message, TLS and
 * WebSocket handshakes included; sources and everybody together may only have so many connections, half messages and handshakes.
 */
export class Doorkeeper {
  readonly #patienceMs: number;
  readonly #mostOfOne: number;
  readonly #most: number;
  readonly #sources = new Map<string, Source>();
  readonly #guests = new Map<string, Guest>();
  readonly #handshakes: Handshakes;
  #strangers = 0;
  #bytes = 0;

  /**
   * @param mostOfOne connections of one source; 0 for any number
   * @param most of all together
   */
  constructor(patienceMs: number, mostOfOne = MOST_A_SOURCE, most = MOST_CONNECTIONS) {
    this.#patienceMs = patienceMs;
    this.#mostOfOne = mostOfOne === 0 ? most : mostOfOne;
    this.#most = most;
    this.#handshakes = new Handshakes(mostOfOne !== 0);
  }

  /**
   * From now on looks at whoever connects to this server, which hears only of those who may.
   * @param secure whether connections begin with a TLS handshake
   */
  watch(server: Server, secure = false): void {
    const inside = server.listeners('connection') as ((socket: Socket) => void)[];
    server.removeAllListeners('connection').on('connection', (socket: Socket) => {
      if (this.#admits(socket, secure)) for (const hear of inside) hear.call(server, socket);
      else socket.destroy();
    });
  }

  /** A whole message has come over a connection: no stranger any more. */
  met(socket: Socket): void {
    const guest = this.#guests.get(nameOf(socket));
    if (guest) this.#forgive(guest);
  }

  /** Whoever is behind a connection has proved who he is, or was called by us and answered: it makes room for nobody. */
  trust(socket: Socket): void {
    const guest = this.#guests.get(nameOf(socket));
    guest?.source.unknown.delete(guest);
  }

  /** Notes how much of a message waits for its rest. False when that is too much, and the connection has to be closed. */
  holds(socket: Socket, bytes: number): boolean {
    return this.#keeps(socket, 'unread', bytes);
  }

  /** The same of what was written and not sent, because the peer does not read. */
  owes(socket: Socket, bytes: number): boolean {
    return this.#keeps(socket, 'unsent', bytes);
  }

  #keeps(socket: Socket, what: 'unread' | 'unsent', bytes: number): boolean {
    const guest = this.#guests.get(nameOf(socket));
    if (!guest) return true;
    this.#count(guest, what, bytes);
    return bytes === 0 || (this.#bytes <= MOST_BYTES && guest.source.bytes <= MOST_BYTES_A_SOURCE);
  }

  /** Closes what is open. */
  stop(): void {
    for (const { socket } of this.#guests.values()) socket.destroy();
  }

  #admits(socket: Socket, secure: boolean): boolean {
    const name = sourceOf(socket.remoteAddress ?? '');
    const source = this.#sources.get(name) ?? newSource(name);
    if (source.guests.size >= this.#mostOfOne) return false;
    if (secure && !this.#handshakes.begin(name, source.guests.size > source.unknown.size)) return false;
    if (this.#guests.size >= this.#most && !this.#makeRoom('unknown')) return false;
    if (this.#strangers >= MOST_STRANGERS) this.#makeRoom('strangers');
    this.#receive(socket, source);
    return true;
  }

  #receive(socket: Socket, source: Source): void {
    const patience = setTimeout(() => socket.destroy(), this.#patienceMs);
    const guest: Guest = { socket, place: nameOf(socket), source, patience, unread: 0, unsent: 0 };
    this.#sources.set(source.name, source);
    this.#guests.set(guest.place, guest);
    source.guests.add(guest);
    source.strangers.add(guest);
    source.unknown.add(guest);
    this.#strangers++;
    socket.once('close', () => this.#leave(guest));
  }

  /**
   * Who comes last is let in at the cost of whoever takes most, so that a flood from a few places harms itself. False when there is
   * nobody to go.
   */
  #makeRoom(among: 'strangers' | 'unknown'): boolean {
    let most: Source | undefined;
    for (const one of this.#sources.values()) if (one[among].size > (most?.[among].size ?? 0)) most = one;
    const [oldest] = most?.[among] ?? [];
    if (!oldest) return false;
    this.#leave(oldest);
    oldest.socket.destroy();
    return true;
  }

  #forgive(guest: Guest): void {
    clearTimeout(guest.patience);
    guest.patience = undefined;
    if (guest.source.strangers.delete(guest)) this.#strangers--;
  }

  #count(guest: Guest, what: 'unread' | 'unsent', bytes: number): void {
    this.#bytes += bytes - guest[what];
    guest.source.bytes += bytes - guest[what];
    guest[what] = bytes;
  }

  /** Once as it is closed, and for good when it is. */
  #leave(guest: Guest): void {
    const { source, place } = guest;
    this.#forgive(guest);
    this.#count(guest, 'unread', 0);
    this.#count(guest, 'unsent', 0);
    if (this.#guests.get(place) === guest) this.#guests.delete(place);
    source.guests.delete(guest);
    source.unknown.delete(guest);
    if (source.guests.size === 0 && this.#sources.get(source.name) === source) this.#sources.delete(source.name);
  }
}

const newSource = (name: string): Source => ({
  ...{ name, guests: new Set(), strangers: new Set(), unknown: new Set() },
  bytes: 0,
});

/** The same for a TLS socket and the plain one under it. */
const nameOf = ({ localPort, remoteAddress, remotePort }: Socket): string =>
  `${localPort} ${remoteAddress} ${remotePort}`;
