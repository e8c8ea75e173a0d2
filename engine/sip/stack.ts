import { EventEmitter } from 'node:events';
import type { BanList } from './ban-list.ts';
import { formatHostPort } from './grammar.ts';
import { hopOfRequest, hopOfSource, literalOf, type Hop, type Source, type Transport } from './hop.ts';
import { TransportLayer, type LayerOptions, type SipListener } from './layer.ts';
import { silentLog, type SipLog } from './log.ts';
import {
  cseqOf,
  header,
  headerOf,
  isRequest,
  newBranch,
  responseTo,
  serialize,
  type SipMessage,
  type SipRequest,
  type SipResponse,
} from './message.ts';
import type { Parsed } from './parser.ts';
import { Resolver } from './resolver.ts';
import { SentRequest, type Road, type Way } from './sent-request.ts';
import { defaultTimers, type SipTimers } from './timers.ts';
import { Afterlife } from './transactions/afterlife.ts';
import type { ClientTransaction } from './transactions/client.ts';
import { InviteClientTransaction } from './transactions/invite-client.ts';
import { InviteServerTransaction } from './transactions/invite-server.ts';
import { ackKey, serverKey, tagged } from './transactions/keys.ts';
import { NonInviteClientTransaction } from './transactions/non-invite-client.ts';
import { NonInviteServerTransaction } from './transactions/non-invite-server.ts';
import type { ServerTransaction } from './transactions/server.ts';
import type { Wire } from './transactions/wire.ts';
import { stampVia, topVia } from './via.ts';

export interface SipStackOptions extends LayerOptions {
  listeners: SipListener[];
  timers?: Partial<SipTimers>;
  log?: SipLog;
  /** Whose requests are dropped. */
  bans?: BanList;
  /** DNS servers to ask for the names of others; those of the system without any. */
  nameServers?: string[];
}

interface StackEvents {
  request: [ServerTransaction];
  ack: [SipRequest, Source];
  stray: [SipResponse];
  closed: [Hop];
}

/** RFC 3261 18.1.1, where the path MTU is unknown. */
const LARGEST_DATAGRAM = 1300;
/** In which a connection has to stand before a datagram is sent in its place. */
const CONNECT_MS = 1000;
/** Of a request whose URI leads to no transport of ours. */
const NOWHERE: Hop = { transport: 'udp', host: '', port: 0 };
const REMEMBER_MS = 300_000;
const MOST_REMEMBERED = 10_000;

/** More open transactions than this mean an attack; new requests are then answered 503 without state. */
const MOST_TRANSACTIONS = 100_000;

/**
 * Transactions over every transport (RFC 3261 17 and 18); knows nothing of dialogs. Emits 'request' for each new request,
 * 'ack' for every ACK that belongs to no failed INVITE, 'stray' for responses to nothing of ours, and 'closed' when a
 * connection is gone. CANCEL is answered here and shows up as 'cancel' on the INVITE's transaction.
 */
export class SipStack extends EventEmitter<StackEvents> {
  readonly timers: SipTimers;
  readonly #layer: TransportLayer;
  readonly #log: SipLog;
  readonly #bans: BanList | undefined;
  readonly #clients = new Map<string, ClientTransaction>();
  readonly #servers = new Map<string, ServerTransaction>();
  /** Those of the others that are over, as long as something may be repeated. */
  readonly #past = new Afterlife();
  /** INVITEs answered 2xx, by the dialog and CSeq number their ACK will name. */
  readonly #accepted = new Map<string, InviteServerTransaction>();
  /** Peers that do not take TCP, and until when that is believed. */
  readonly #noTcp = new Map<string, number>();
  readonly #sent = new Set<SentRequest>();
  readonly #resolver: Resolver;
  readonly #wire: Wire;
  readonly #road: Road;

  constructor(options: SipStackOptions) {
    super();
    this.timers = { ...defaultTimers, ...options.timers };
    this.#log = options.log ?? silentLog;
    this.#bans = options.bans;
    if (options.bans) options.bans.onBan = () => this.#forgetBanned();
    const closed = (peer: Hop): void => void this.emit('closed', peer);
    const hear = { receive: this.#received.bind(this), closed, patienceMs: 64 * this.timers.T1 };
    this.#layer = new TransportLayer(options.listeners, hear, options);
    this.#wire = {
      timers: this.timers,
      send: (message, hop, failed) => this.#layer.send(message, hop, failed),
      probe: (hop, refused) => this.#layer.probe(hop, refused),
    };
    const reaches = (transport: Transport, address?: string): boolean => this.#layer.reaches(transport, address);
    this.#resolver = new Resolver({ servers: options.nameServers, reaches, log: this.#log });
    this.#road = {
      ...{ timers: this.timers, connected: hop => this.#layer.connected(hop), begin: this.#begin.bind(this) },
      ...{ aim: this.#aim.bind(this), waysTo: this.#waysTo.bind(this), failed: this.#failed.bind(this) },
      answered: ({ hop }) => this.#resolver.trust(hop),
    };
  }

  /** The listeners with their actual ports, after start. (`listeners` is taken: EventEmitter has a method of that name.) */
  get addresses(): SipListener[] {
    return this.#layer.listeners;
  }

  /** Rejects with a sentence when a port is in use; nothing stays bound then. */
  start(): Promise<void> {
    return this.#layer.start();
  }

  /** Ends all transactions without a word and closes every port. */
  async stop(): Promise<void> {
    for (const one of [...this.#sent, ...this.#servers.values()]) one.end();
    this.#past.clear();
    await this.#layer.stop();
  }

  /** How many are open; those that only wait for repeats are transactions, too. */
  stats(): { transactions: number; connections: number } {
    const transactions = this.#clients.size + this.#servers.size + this.#past.size;
    return { transactions, connections: this.#layer.connections() };
  }

  /** Our address as a peer at that hop should see it; undefined without a listener of its transport. */
  localFor(hop: Hop): SipListener | undefined {
    return this.#layer.localFor(hop);
  }

  /** Whether a hop leads back to one of our own listeners. */
  isSelf(hop: Hop): boolean {
    return this.#layer.isSelf(hop);
  }

  /** What comes from there is not to be lost in a flood from elsewhere. */
  openLine(source: Source): void {
    this.#layer.openLine(hopOfSource(source));
  }

  /** Whether a stream to exactly this address is open; always true for UDP. */
  connected(hop: Hop): boolean {
    return this.#layer.connected(hop);
  }

  /**
   * Sends a request: to `nextHop`, else the topmost Route, else the request URI; where that is a name, to one of its servers
   * after the other. Adds Via and Max-Forwards. From, To, Call-ID and CSeq are the caller's. Failures come as events, later.
   */
  request(request: SipRequest, options: { nextHop?: Hop; transport?: Transport } = {}): SentRequest {
    const hop = options.nextHop ?? hopOfRequest(request, options.transport) ?? NOWHERE;
    const sent = new SentRequest(request, hop, this.#road);
    this.#sent.add(sent);
    sent.once('ended', () => this.#sent.delete(sent));
    return sent;
  }

  #begin(request: SipRequest, hop: Hop): ClientTransaction {
    const branch = newBranch();
    const copy = { ...request };
    this.#stamp(copy, hop, branch);
    const Kind = request.method === 'INVITE' ? InviteClientTransaction : NonInviteClientTransaction;
    const transaction = new Kind(copy, branch, hop, this.#wire);
    const key = `${branch} ${request.method}`;
    this.#clients.set(key, transaction);
    transaction.once('ended', () => this.#clients.delete(key));
    return transaction;
  }

  #aim(transaction: ClientTransaction, hop: Hop): void {
    transaction.aim(hop);
    this.#stamp(transaction.request, hop, transaction.branch);
  }

  #waysTo(hop: Hop, request: SipRequest): Way[] | Promise<Way[]> {
    if (hop === NOWHERE) return [];
    const roomier = (found: Hop[]): Way[] => found.flatMap(one => this.#roomier(request, one));
    if (literalOf(hop.host) !== undefined) return roomier([hop]);
    return this.#resolver.waysTo(hop, headerOf(request, 'call-id') ?? '').then(roomier);
  }

  /** TCP first for what may not fit one datagram, unless that peer is known to refuse it (RFC 3261 18.1.1). */
  #roomier(request: SipRequest, hop: Hop): Way[] {
    const tcp: Hop = { ...hop, transport: 'tcp' };
    const fits = hop.transport !== 'udp' || serialize(request).length <= LARGEST_DATAGRAM;
    const refused = (this.#noTcp.get(`${hop.host}:${hop.port}`) ?? 0) > Date.now();
    return fits || refused || !this.#layer.localFor(tcp) ? [{ hop }] : [{ hop: tcp, connectMs: CONNECT_MS }, { hop }];
  }

  #failed({ hop, connectMs }: Way, seconds?: number): void {
    if (connectMs === undefined) return this.#resolver.avoid(hop, seconds);
    if (this.#noTcp.size >= MOST_REMEMBERED) this.#noTcp.clear();
    this.#noTcp.set(`${hop.host}:${hop.port}`, Date.now() + REMEMBER_MS);
  }

  /** Sends without state: ACK to a 2xx and the like. Adds Via (if absent) and Max-Forwards. */
  send(message: SipMessage, hop: Hop): void {
    if (literalOf(hop.host) !== undefined) return this.#transmit(message, hop);
    this.#resolver.waysTo(hop, headerOf(message, 'call-id') ?? '').then(
      ([first = hop]) => this.#transmit(message, first),
      (error: unknown) => this.#notSent(hop, error),
    );
  }

  #transmit(message: SipMessage, hop: Hop): void {
    if (isRequest(message) && headerOf(message, 'via') === undefined) this.#stamp(message, hop, newBranch());
    this.#layer.send(serialize(message), hop, error => this.#notSent(hop, error));
  }

  #notSent(hop: Hop, error: unknown): void {
    this.#log.debug({ err: error, hop }, 'stateless message not sent');
  }

  /** Sends somebody else's request on without state: an ACK that came by (RFC 3261 16.6). */
  forward(request: SipRequest, hop: Hop): void {
    this.#stamp(request, hop, newBranch());
    this.send(request, hop);
  }

  #stamp(request: SipRequest, hop: Hop, branch: string): void {
    const local = this.#layer.localFor(hop) ?? { host: 'invalid', port: 0 };
    const rport = hop.transport === 'udp' ? ';rport' : '';
    const sentBy = formatHostPort(local.host, local.port);
    const via = header('Via', `SIP/2.0/${hop.transport.toUpperCase()} ${sentBy}${rport};branch=${branch}`);
    const hasLimit = headerOf(request, 'max-forwards') !== undefined;
    const limit = hasLimit ? [] : [header('Max-Forwards', '70')];
    // A Via of our own is replaced, those of whom we forward for stay below it (RFC 3261 16.6 step 8).
    const others = request.headers.filter(one => one.key !== 'via' || !one.value.endsWith(`;branch=${branch}`));
    request.headers = [via, ...limit, ...others];
  }

  #received(parsed: Parsed, source: Source): void {
    // Answers of a banned source to requests of ours are welcome.
    if (!(parsed.ok && !isRequest(parsed.message)) && this.#bans?.drops(source.address)) return;
    if (parsed.ok) {
      if (isRequest(parsed.message)) this.#gotRequest(parsed.message, source);
      else this.#gotResponse(parsed.message, source);
      return;
    }
    this.#log.debug({ error: parsed.error, from: source.address }, 'malformed message');
    this.#bans?.countMalformed(source.address);
    const broken = parsed.message;
    if (broken && isRequest(broken) && broken.method !== 'ACK' && headerOf(broken, 'via') !== undefined)
      this.#refuse(broken, source, parsed.status);
  }

  /** What a banned source asked before it was is neither answered nor remembered, but for calls that have begun. */
  #forgetBanned(): void {
    for (const one of [...this.#servers.values()]) if (!one.served && this.#bans?.has(one.source.address)) one.end();
  }

  /** A stateless answer (RFC 3261 8.2.7). */
  #refuse(request: SipRequest, source: Source, status: number): void {
    stampVia(request, source.address, source.port);
    const answer = serialize(responseTo(request, status, undefined, tagged(request)));
    this.#layer.send(answer, hopOfSource(source), () => undefined);
  }

  #gotResponse(response: SipResponse, source: Source): void {
    const branch = topVia(response)?.params.get('branch') ?? '';
    const method = cseqOf(response)?.method ?? '';
    const invite = method === 'CANCEL' ? this.#clients.get(`${branch} INVITE`) : undefined;
    if (invite instanceof InviteClientTransaction) return response.status < 200 ? undefined : invite.cancelAnswered();
    const transaction = this.#clients.get(`${branch} ${method}`);
    if (transaction) transaction.receive(response, source);
    else this.emit('stray', response);
  }

  #gotRequest(request: SipRequest, source: Source): void {
    stampVia(request, source.address, source.port);
    if (request.method === 'ACK') return this.#gotAck(request, source);
    const key = serverKey(request);
    const known = this.#servers.get(key);
    if (known) return known.retransmitted();
    if (this.#past.has(key)) return this.#answerAgain(key);
    if (request.method === 'CANCEL') return this.#gotCancel(request, source, key);
    if (this.#servers.size >= MOST_TRANSACTIONS) return this.#refuse(request, source, 503);
    this.emit('request', this.#serve(request, source, key));
  }

  #answerAgain(key: string): void {
    const again = this.#past.answer(key);
    if (again) this.#layer.send(again.data, again.hop, () => undefined);
  }

  #serve(request: SipRequest, source: Source, key: string): ServerTransaction {
    const invite = request.method === 'INVITE' ? new InviteServerTransaction(request, source, this.#wire) : undefined;
    const transaction = invite ?? new NonInviteServerTransaction(request, source, this.#wire);
    invite?.once('accepted', response => this.#expectAck(ackKey(response), invite));
    this.#keep(transaction, key);
    transaction.start();
    return transaction;
  }

  #keep(transaction: ServerTransaction, key: string): void {
    this.#servers.set(key, transaction);
    transaction.once('ended', remains => {
      this.#servers.delete(key);
      if (remains) this.#past.keep(key, remains);
    });
  }

  /** A 2xx goes out: which ACK will belong to it. */
  #expectAck(key: string, transaction: InviteServerTransaction): void {
    this.#accepted.set(key, transaction);
    transaction.once('ended', () => this.#accepted.delete(key));
  }

  /** The ACK of a failure ends in the transaction; the ACK of a 2xx has a branch of its own (RFC 3261 17.1.1.3). */
  #gotAck(request: SipRequest, source: Source): void {
    const key = serverKey(request, 'INVITE');
    const same = this.#servers.get(key);
    const accepted = this.#accepted.get(ackKey(request));
    if (accepted) accepted.acknowledged(request, source);
    else if (same instanceof InviteServerTransaction) return same.acknowledged(request, source);
    else if (this.#past.has(key)) return;
    this.emit('ack', request, source);
  }

  /** RFC 3261 9.2. After a 2xx the transaction is gone in that RFC's terms, so 481; after a failure 200 and nothing else. */
  #gotCancel(request: SipRequest, source: Source, key: string): void {
    const invite = this.#servers.get(serverKey(request, 'INVITE'));
    const transaction = new NonInviteServerTransaction(request, source, this.#wire);
    this.#keep(transaction, key);
    if (!(invite instanceof InviteServerTransaction)) return transaction.respond(responseTo(request, 481));
    // Its answer bears the tag that the INVITE's answers bear (RFC 3261 9.2).
    transaction.localTag = invite.localTag;
    transaction.respond(responseTo(request, invite.accepted ? 481 : 200));
    if (invite.answered) return;
    invite.emit('cancel', request, source);
    if (!invite.answersCancel) invite.respond(responseTo(invite.request, 487));
  }
}
