import { randomUUID } from 'node:crypto';
import type { Hop, Source, Transport } from '../sip/hop.ts';
import { formatHostPort } from '../sip/grammar.ts';
import { headerOf, newBranch, newRequest, serialize, type SipMessage, type SipRequest } from '../sip/message.ts';
import type { App } from './app.ts';
import type { Core } from './records.ts';

/** UTC time of day with microseconds, `HH:MM:SS.uuuuuu`. */
export function timeOfDay(): string {
  const now = performance.timeOrigin + performance.now();
  const micros = String(Math.floor((now % 1) * 1000)).padStart(3, '0');
  return `${new Date(now).toISOString().slice(11, 23)}${micros}`;
}

/** A meta field must not break the meta line. */
const field = (text: string): string => (/[|\r\n]/.test(text) ? text.replace(/[|\r\n]/g, '_') : text);

function hand(app: App, origin: string, ids: string, message: SipMessage): void {
  app.send(`sip|${origin}|${timeOfDay()}|${ids}|\r\n${serialize(message).toString()}`);
}

/** The real server names the protocol under a WebSocket; Via and Contact name the WebSocket. */
export const protocolOf = ({ transport }: { transport: Transport }): string =>
  transport === 'ws' ? 'tcp' : transport === 'wss' ? 'tls' : transport;

const originOf = (source: Source): string =>
  `network|${source.size}|${protocolOf(source)}|${source.address}|${source.port}`;

/** A request outside any dialog: the meta line ends with the address it was received on. */
export function announceNew(app: App, id: string, message: SipMessage, source: Source): void {
  hand(app, originOf(source), `${id}||${source.localAddress}|${source.localPort}`, message);
}

/**
 * A REGISTER of the server's own, which takes away what was registered over a connection that is gone. It has size 0 and no
 * address, which nothing from the network can have; its Via names the connection. No answer is waited for.
 */
export function announceLost(app: App, register: SipRequest, uris: string[], peer: Hop): void {
  const request = newRequest('REGISTER', register.uri, {
    Via: `SIP/2.0/${peer.transport.toUpperCase()} ${formatHostPort(peer.host, peer.port)};branch=${newBranch()}`,
    'Max-Forwards': '0',
    From: headerOf(register, 'from'),
    To: headerOf(register, 'to'),
    'Call-ID': headerOf(register, 'call-id'),
    CSeq: headerOf(register, 'cseq'),
    Contact: uris.map(uri => `<${uri}>;expires=0`),
  });
  hand(app, `network|0|${protocolOf(peer)}||0`, `${randomUUID()}||`, request);
}

/** Anything else from the network. */
export function announce(app: App, id: string, dialogId: string, message: SipMessage, source: Source): void {
  hand(app, originOf(source), `${id}|${field(dialogId)}`, message);
}

/** A response the server made itself because nobody answered: size 0, no address. */
export function announceOwn(app: App, id: string, dialogId: string, message: SipMessage, hop: Hop): void {
  hand(app, `network|0|${protocolOf(hop)}||0`, `${id}|${field(dialogId)}`, message);
}

/** What a target of a proxied request said; more may follow. Without a source it was made by the server. */
export function announceProgress(app: App, answered: string, response: SipMessage, source: Source | undefined): void {
  const origin = source ? originOf(source) : 'network|0|||0';
  app.ok(answered, `${origin}|${timeOfDay()}|||continue\r\n${serialize(response).toString()}`);
}

/** The notice of a BYE the server has sent on its own. */
export function announceBye(core: Core, app: App, dialogId: string, message: SipMessage, hop: Hop): void {
  hand(app, `application|${ownOrigin(core, message, hop)}`, `unsolicited|${field(dialogId)}`, message);
}

/** Size, transport and address of something sent: our own address over UDP, the peer's over a stream. */
function ownOrigin(core: Core, message: SipMessage, hop: Hop, size = serialize(message).length): string {
  const local = hop.transport === 'udp' ? core.stack.localFor(hop) : undefined;
  return `${size}|${protocolOf(hop)}|${local?.host ?? hop.host}|${local?.port ?? hop.port}`;
}

/** OK to a request of the application, with the request as it went out. */
export function echoRequest(
  core: Core,
  app: App,
  answered: string,
  id: string,
  sent: SipMessage,
  hop: Hop,
  held = false,
): void {
  const origin = ownOrigin(core, sent, hop, held ? 0 : undefined);
  app.ok(answered, `application|${origin}|${timeOfDay()}|${id}|Msg sent:|\r\n${serialize(sent).toString()}`);
}

/** OK to a response of the application, with the response as it went out. */
export function echoResponse(
  app: App,
  answered: string,
  id: string,
  dialogId: string,
  sent: SipMessage,
  source: Source,
): void {
  const text = serialize(sent);
  const origin = `${text.length}|${protocolOf(source)}|${source.address}|${source.port}`;
  app.ok(answered, `application|${origin}|${timeOfDay()}|${id}|${field(dialogId)}||Msg sent:|\r\n${text.toString()}`);
}
