import { strict as assert } from 'node:assert';
import type { SipServerConfig } from '../../../engine/drachtio/server.ts';
import { Replay, type Deviation } from './transcripts/replay.ts';
import { ownServers } from '../../support/own-servers.ts';
import { readTranscripts, type Transcript } from './transcripts/transcript.ts';
import { Rig } from './rig.ts';

const REASON_PHRASE = {
  why: 'RFC 3261 21.5.1 calls it so',
  instead: [[/Internal Server Error/, 'Server Internal Error']] as [RegExp, string][],
};

/** Two seconds stand for ninety. */
const SHORT_SESSION = {
  why: 'it would take too long; an ACK goes to the Contact of the 200; our refresh says Supported, and the least we grant',
  instead: [
    [/^(session-expires: *)90/im, '$12'],
    [/^ACK sip:alice@/, 'ACK sip:bob@'],
  ] as [RegExp, string][],
  ignored: ['supported', 'min-se'],
};

/** Where the engine does otherwise, and why. What both do in other words is in `transcripts/likeness.ts`. */
const DEVIATIONS: Partial<Record<string, Deviation & { why: string }>> = {
  '03': {
    why: 'a scheme that we have no listener for is refused at once, and nobody is served before his login',
    missing: /Msg sent:\|\r\n(OPTIONS|INVITE) sips:|\|unknown\||response\|(40208502|15e22a99)|Error creating leg/,
    more: /invalid from value|requested protocol\/transport not available|not authenticated|^end$/,
  },
  '04': {
    why: 'large frames are taken, and what they bring is offered to TCP first, unless there is none',
    until: 2255,
    instead: [[/tcp\/[^,|]*,/g, '']],
  },
  '05': {
    why: 'who asks for something outside a dialog that belongs into one hears so',
    more: /^SIP\/2\.0 (481|501|503)[^]*^CSeq: \d+ (REFER|PRACK|FOOBAR)/m,
  },
  '06': {
    why: 'so it is, and a REFER is handed over',
    more: /^SIP\/2\.0 (481|501|503)[^]*^CSeq: \d+ (PRACK|FOOBAR)|\r\nREFER /m,
  },
  '09': { why: 'a stranger who is refused before it rang is told once', repeats: false },
  '10': { why: 'a stranger who is refused before it rang is told once', repeats: false },
  '17': { why: 'a caller whom nobody answers for 64 s hears 480', until: 66_000, more: /^SIP\/2\.0 480/ },
  '27': {
    why: 'a URI in From has no transport (RFC 3261 19.1.1)',
    instead: [[/^From: <(sip:[^>]*);transport=tcp>/m, 'From: <$1>']],
  },
  '31': {
    why: 'an ACK goes to the Contact of the 200',
    instead: [[/^(ACK|INVITE|BYE) sip:alice@([^]*CSeq: (?!2 INVITE))/m, '$1 sip:bob@$2']],
  },
  '32': { why: 'a second re-INVITE before the first is answered gets 500 (RFC 3261 14.2)', until: 541 },
  '34': { why: 'a 200 to UPDATE has a Contact (RFC 3311 5.2)', ignored: ['contact'] },
  '35': {
    why: "a REGISTER without Contact asks what is registered (RFC 3261 10.2.3); registrations are the application's affair",
    missing: /^SIP\/2\.0 400/,
    more: /\r\nREGISTER /,
  },
  '39': {
    why: 'the application answers the last NOTIFY',
    missing: /^SIP\/2\.0 500|\|NOK\|/,
    more: /SIP\/2\.0 200 OK[^]*501 NOTIFY/,
  },
  '42': { why: 'ACK and CANCEL have a Max-Forwards (RFC 3261 8.1.1)', ignored: ['max-forwards'] },
  '43': {
    why: 'ACK and CANCEL have a Max-Forwards (RFC 3261 8.1.1), and a caller who gives up hears 487 when the callee has said so',
    ignored: ['max-forwards'],
    until: 463.95,
  },
  '44': {
    why: 'the ACK to a 422 ends in its transaction; a caller who is to refresh is told so (RFC 4028 9)',
    missing: /\|sip\|[^]*\r\nACK [^]*CSeq: 2 ACK/,
    ignored: ['require'],
  },
  '45': SHORT_SESSION,
  '46': SHORT_SESSION,
  '47': {
    why: 'a BYE is welcome although the application has gone',
    missing: /^SIP\/2\.0 481[^]*CSeq: 4 BYE/,
    more: /^SIP\/2\.0 200[^]*CSeq: 4 BYE/,
  },
  '52': { why: 'a 200 to UPDATE has a Contact (RFC 3311 5.2)', ignored: ['contact'] },
  '54': { why: 'the Max-Forwards of a request is its own', ignored: ['max-forwards'] },
  '55': {
    why: 'the second of two phones that took the call hears its own ACK, and BYE (RFC 3261 13.2.2.4)',
    repeats: false,
    more: /^(ACK|BYE) [^]*;tag=forkB/,
  },
  '59': {
    why: 'an ACK goes to the Contact of the 200, and one that comes late is announced as the first of its call',
    instead: [[/^ACK sip:alice@/m, 'ACK sip:bob@']],
    missing: /\|sip\|[^]*\r\nACK /,
    more: /\|sip\|[^]*\r\nACK /,
  },
  '50': {
    why: 'an INVITE without Contact is refused (RFC 3261 8.1.1.8)',
    until: 898,
    more: /^SIP\/2\.0 400/,
  },
  '61': REASON_PHRASE,
  '60': {
    why: 'remove_route takes away the one verb',
    missing: /^SIP\/2\.0 503[^]*CSeq: 1 MESSAGE/,
    more: /\r\nMESSAGE /,
  },
};

/** Servers that are set up in another way. */
const SERVERS: Partial<Record<string, Partial<SipServerConfig>>> = {
  '04': { tcp: false },
  '45': { minSessionSeconds: 2 },
  '46': { minSessionSeconds: 2 },
};

/** Beyond this a recording waits for timers, and is played 25 times as fast; others five times. */
const LONG_MS = 10_000;
const paceOf = ({ steps }: Transcript): number => ((steps.at(-1)?.at ?? 0) > LONG_MS ? 1 / 25 : 1 / 5);

describe('drachtio: what was recorded of drachtio-server, replayed', () => {
  const transcripts = readTranscripts();
  const played = new Map<string, Promise<string>>();

  /** Each has a loopback address of its own, so that all are played at once with the ports that were recorded. */
  const addressOf = (one: Transcript): string =>
    `127.${1 + (process.pid % 250)}.${1 + (Math.floor(process.pid / 250) % 250)}.${1 + transcripts.indexOf(one)}`;

  async function onEngine(one: Transcript): Promise<string> {
    const number = one.name.slice(0, 2);
    const host = addressOf(one);
    const pace = paceOf(one);
    const timers = { T1: 500 * pace, T2: 4000 * pace, T4: 5000 * pace };
    const admin = { host, port: 0, secret: 'cymru' };
    const rig = await Rig.start({ host, port: 15160, timers, admin, ...SERVERS[number] });
    const { port, adminPort } = rig.server;
    const place = { phones: host, host, port, adminPort, secret: rig.secret, pace };
    return new Replay(one, place, DEVIATIONS[number]).run().finally(() => rig.close());
  }

  /** One after the other, as slowly as they were recorded. */
  async function onRealServer(one: Transcript): Promise<string> {
    const { server, secret } = await Rig.start();
    const { port, adminPort } = server;
    return new Replay(one, { phones: addressOf(one), host: '127.0.0.1', port, adminPort, secret, pace: 1 }).run();
  }

  before(() => {
    if (ownServers()) return;
    for (const one of transcripts) {
      const result = onEngine(one);
      result.catch(() => undefined);
      played.set(one.name, result);
    }
  });

  for (const one of transcripts)
    it(`${one.name.slice(0, 2)}: ${one.shows}`, async function () {
      this.timeout(ownServers() ? 120_000 : 20_000);
      assert.equal(await (played.get(one.name) ?? onRealServer(one)), '');
    });
});
