import { randomBytes } from 'node:crypto';
import { guess, type StrangeRequest, type Stranger } from '../../test/support/stranger.ts';

/** Whom an attack is aimed at, and what the attacker has found out. */
export interface Target {
  domain: string;
  /** The domain of the victim's phones. */
  realm: string;
  server: { host: string; port: number };
  /** An extension whose password the attacker does not know. */
  victim: string;
  /** An account of the same customer that is the attacker's own. */
  own: { username: string; password: string };
  /** `Authorization` values that phones of the house sent, with what they were made for. */
  sniffed: { method: string; uri: string; authorization: string }[];
  /** User part of a direct hash that leads to a phone: a door that is open to everybody. */
  direct: string;
}

/** One kind of attack. */
export interface Wave {
  name: string;
  /** How many of a hundred turns are its. */
  share: number;
  /** Anybody may do it: a success is no breach. */
  open?: boolean;
  /** Sends what one turn sends, and waits for answers at most `PATIENCE_MS` each. */
  turn: (one: Stranger, count: number, target: Target) => unknown;
}

const PATIENCE_MS = 800;

const pick = <T>(list: readonly T[], count: number): T => list[count % list.length] as T;

const TOOLS = ['friendly-scanner', 'sipvicious', 'VaxSIPUserAgent/3.1', 'pplsip', 'Z 5.6.4', 'Grandstream GXP2170'];
const METHODS = ['OPTIONS', 'REGISTER', 'INVITE', 'SUBSCRIBE', 'MESSAGE', 'PUBLISH', 'INFO', 'BYE', 'CANCEL'];
const PASSWORDS = ['1234', '', 'password', '1001', 'admin', '0000', "' OR ''='", 'a'.repeat(300)];
/** Numbers that earn somebody money, as dialling plans elsewhere spell them; +1212 is a country the victim may call. */
const PREMIUM = [
  '+12125559',
  '+88213',
  '001212555',
  '9001212555',
  '0111212555',
  '+1%32',
  'tel:+12125559',
  '+1 212 555',
];
/** What ends a line and begins another, in the spellings that decoders fall for. */
const BREAKS = ['%0d%0a', '\r', '\n', '\\r\\n', '%0D%0A%20', '\u2028', '%250d%250a', '\0'];

const sdp = (line = ''): string =>
  `v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-${line}\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 40000 RTP/AVP 0\r\n`;

const invite = (uri: string, from: string, lines: string[] = []): StrangeRequest & { method: string } => ({
  ...{ method: 'INVITE', uri, from, lines: ['Content-Type: application/sdp', ...lines], body: sdp() },
});

const scan: Wave['turn'] = (one, count, { realm, domain }) => {
  const uri = pick([`sip:${100 + (count % 9000)}@${realm}`, `sip:${domain}`, `sip:nm@${domain}`], count);
  return one.ask({ method: pick(METHODS, count), uri, lines: [`User-Agent: ${pick(TOOLS, count)}`] }, PATIENCE_MS);
};

const bruteForce: Wave['turn'] = (one, count, { realm, victim }) => {
  const username = pick([victim, `${1000 + (count % 500)}`, 'admin', `${victim}' --`], count);
  const request = { method: 'REGISTER', uri: `sip:${realm}`, from: `<sip:${encodeURIComponent(username)}@${realm}>` };
  return one.attempt(request, { username, password: pick(PASSWORDS, count) }, PATIENCE_MS);
};

const tollFraud: Wave['turn'] = (one, count, { realm, domain, victim, server }) => {
  const doors = [`${realm}`, `sip.${domain}`, `pstn.${domain}`, `office.trunk.${domain}`, `${server.host}:${server.port}`, domain]; // prettier-ignore
  const number = `${pick(PREMIUM, count)}${1000 + (count % 9000)}`;
  const asserted = [`P-Asserted-Identity: <sip:${victim}@${realm}>`, `Remote-Party-ID: <sip:${victim}@${realm}>`];
  const request = invite(`sip:${number}@${pick(doors, count >> 1)}`, `"${victim}" <sip:${victim}@${realm}>`, asserted);
  return count % 3 === 0
    ? one.attempt(request, { username: victim, password: pick(PASSWORDS, count) }, PATIENCE_MS)
    : one.ask(request, PATIENCE_MS);
};

/** Every part of a request that somebody may write as he likes, with a header of the attacker's in it. */
const INJECTIONS: ((evil: string, target: Target) => StrangeRequest & { method: string })[] = [
  (evil, { realm, victim }) => invite(`sip:${victim}${evil}@${realm}`, `<sip:x@${realm}>`),
  (evil, { realm, victim }) => invite(`sip:${victim}@${realm};x=${evil}`, `<sip:x@${realm}>`),
  (evil, { realm, victim }) => invite(`sip:${victim}@${realm}?Subject=${evil}`, `<sip:x@${realm}>`),
  (evil, { realm, victim }) => invite(`sip:${victim}@${realm}`, `"x${evil}" <sip:${victim}@${realm}>`),
  (evil, { realm, victim }) => ({ ...invite(`sip:${victim}@${realm}`, `<sip:x@${realm}>`), to: `<sip:y${evil}@z>` }),
  (evil, { realm, victim }) => ({ ...invite(`sip:${victim}@${realm}`, `<sip:x@${realm}>`), callId: `c${evil}` }),
  (evil, { realm, victim }) => invite(`sip:${victim}@${realm}`, `<sip:x@${realm}>`, [`Replaces: a${evil};to-tag=b`]),
  (evil, { realm, victim }) => invite(`sip:${victim}@${realm}`, `<sip:x@${realm}>`, [`User-Agent: x${evil}`]),
  (evil, { realm, victim }) => ({ ...invite(`sip:${victim}@${realm}`, `<sip:x@${realm}>`), body: sdp(evil) }),
  (evil, { realm }) => ({ method: 'REGISTER', uri: `sip:${realm}`, lines: [`Contact: <sip:x${evil}@1.2.3.4>`] }),
  (evil, { realm }) => ({ method: 'REGISTER', uri: `sip:${realm}`, lines: [`Path: <sip:x${evil}@1.2.3.4;lr>`] }),
];

const injection: Wave['turn'] = (one, count, target) => {
  const evil = `${pick(BREAKS, Math.floor(count / INJECTIONS.length))}X-Injected: 1`;
  const request = pick(INJECTIONS, count)(evil, target);
  return one.attempt(request, { username: `${target.victim}${evil}`, password: 'x' }, PATIENCE_MS);
};

/** The same through the door that leads to a phone: what a stranger says of himself must not become a line there. */
const openDoor: Wave['turn'] = (one, count, { direct, domain }) => {
  const evil = `${pick(BREAKS, count)}X-Injected: 1`;
  const froms = [`<sip:x${evil}@y>`, `"x${evil}" <sip:x@y>`, `<sip:x@y${evil}>`, `<sip:x@y>;x=${evil}`];
  return one.ask(invite(`sip:${direct}@sip.${domain}`, pick(froms, Math.floor(count / BREAKS.length))), 2000);
};

const replay: Wave['turn'] = (one, count, { sniffed, realm, victim }) => {
  const { method, uri, authorization } = pick(sniffed, count);
  const spoilt = [authorization, authorization.replace(/nc=\w+/, 'nc=00000002'), authorization.replace(/uri="[^"]*"/, `uri="sip:${realm}"`)]; // prettier-ignore
  const other = [method, 'REGISTER', 'INVITE'];
  const asked = [uri, `sip:${realm}`, `sip:+12125559123@${realm}`];
  const from = `<sip:${victim}@${realm}>`;
  const lines = [`Authorization: ${pick(spoilt, count >> 1)}`];
  return one.ask({ method: pick(other, count >> 2), uri: pick(asked, count >> 2), from, lines }, PATIENCE_MS);
};

/** Somebody with an account of his own puts his phone in another's place. */
const hijack: Wave['turn'] = (one, count, { realm, victim, own }) => {
  const mine = `<sip:${own.username}@${realm}>`;
  const theirs = `<sip:${victim}@${realm}>`;
  const who = [
    { from: mine, to: theirs },
    { from: theirs, to: theirs },
    { from: `<sip:${own.username}@elsewhere.reg.trunkline.localhost>`, to: mine },
  ];
  return one.attempt({ method: 'REGISTER', uri: `sip:${realm}`, ...pick(who, count) }, own, PATIENCE_MS);
};

const long = (bytes: number): string => 'a'.repeat(bytes);

/** What is no SIP, or more of it than anybody needs. */
const RUBBISH: ((one: Stranger, target: Target) => string | Buffer)[] = [
  () => randomBytes(700),
  (one, { realm }) => one.write({ method: 'INVITE', uri: `sip:${realm}` }).slice(0, 90),
  (one, { realm }) => one.write({ uri: `sip:${realm}`, lines: [`X: ${long(60_000)}`] }),
  (one, { realm }) => one.write({ uri: `sip:${realm}`, lines: Array.from({ length: 3000 }, () => 'X: y') }),
  (one, { realm }) => one.write({ uri: `sip:${long(40_000)}@${realm}` }),
  (one, { realm }) => one.write({ uri: `sip:${realm}` }).replace(/Content-Length: 0/, 'Content-Length: -1'),
  (one, { realm }) => one.write({ uri: `sip:${realm}` }).replace(/Content-Length: 0/, 'Content-Length: 99999999999'),
  (one, { realm }) => one.write({ uri: `sip:${realm}` }).replace(/CSeq: .*/, 'CSeq: 4294967296 BYE'),
  (one, { realm }) => one.write({ uri: `sip:${realm}` }).replace(/^Via: .*\r\n/m, ''),
  (one, { realm }) => one.write({ uri: `sip:${realm}` }).replace('SIP/2.0', 'SIP/9.9'),
  (one, { realm }) => one.write({ uri: `sip:\0${realm}\0` }),
  (one, { realm }) => one.write({ uri: `sip:${realm}`, lines: [`Via: ${'SIP/2.0/UDP a,'.repeat(2000)}`] }),
  (one, { realm }) => one.write({ uri: `sip:${realm}`, lines: [`Authorization: Digest ${'a="b",'.repeat(6000)}`] }),
  (one, { realm }) => one.write({ uri: `sip:${realm}`, lines: [`Route: ${'<sip:127.0.0.1;lr>,'.repeat(50)}`] }),
  () => 'SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bKx\r\nCSeq: 1 INVITE\r\n\r\n',
];

const rubbish: Wave['turn'] = (one, count, target) => one.throw(pick(RUBBISH, count)(one, target));

/** The same right answer to one challenge, twice at once: one of them is a replay. */
const twice: Wave['turn'] = async (one, _count, { realm, own, victim }) => {
  const request = { method: 'INVITE', uri: `sip:${victim}@${realm}`, from: `<sip:${own.username}@${realm}>` };
  const first = await one.ask(request, PATIENCE_MS);
  const line = guess(first?.text ?? '', { ...own, ...request, method: 'REGISTER' }); // made for another method
  await Promise.all([1, 2].map(() => one.ask({ ...request, lines: [line] }, PATIENCE_MS)));
};

export const WAVES: readonly Wave[] = [
  { name: 'scanning', share: 25, turn: scan },
  { name: 'guessing passwords', share: 18, turn: bruteForce },
  { name: 'toll fraud', share: 19, turn: tollFraud },
  { name: 'header injection', share: 12, turn: injection },
  { name: 'through the open door', share: 1, turn: openDoor, open: true },
  { name: 'replayed digests', share: 7, turn: replay },
  { name: 'digests of another method', share: 2, turn: twice },
  { name: 'REGISTER for others', share: 6, turn: hijack },
  { name: 'malformed and oversized', share: 10, turn: rubbish },
];
