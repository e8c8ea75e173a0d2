import { strict as assert } from 'node:assert';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Source } from '../../../../engine/sip/hop.ts';
import {
  headerOf,
  newCallId,
  newRequest,
  newTag,
  responseTo,
  type SipRequest,
  type SipResponse,
} from '../../../../engine/sip/message.ts';
import type { SentRequest } from '../../../../engine/sip/sent-request.ts';
import { SipStack } from '../../../../engine/sip/stack.ts';
import { heldMb } from '../../../support/held-memory.ts';

const listeners = (['udp', 'tcp'] as const).map(transport => ({ transport, host: '127.0.0.1', port: 0 }));

const response = (transaction: SentRequest): Promise<[SipResponse, Source]> =>
  new Promise((resolve, reject) => {
    transaction.once('response', (...it) => resolve(it));
    transaction.once('error', reject);
  });

describe('sip stack', () => {
  let ours: SipStack;
  let theirs: SipStack;
  beforeEach(async () => {
    ours = new SipStack({ listeners });
    theirs = new SipStack({ listeners });
    await Promise.all([ours.start(), theirs.start()]);
  });
  afterEach(() => Promise.all([ours.stop(), theirs.stop()]));

  const portOf = (stack: SipStack, transport: string): number =>
    stack.addresses.find(one => one.transport === transport)?.port ?? 0;

  const request = (method: string, transport = 'udp', body = ''): SipRequest =>
    newRequest(
      method,
      `sip:b@127.0.0.1:${portOf(theirs, transport)};transport=${transport}`,
      { From: `<sip:a@x>;tag=${newTag()}`, To: '<sip:b@x>', 'Call-ID': newCallId(), CSeq: `1 ${method}` },
      body,
    );

  for (const transport of ['udp', 'tcp']) {
    it(`a request over ${transport} is answered where it came from, bodies of 20 KB included`, async () => {
      const body = 'é'.repeat(10_000);
      theirs.on('request', transaction =>
        transaction.respond(responseTo(transaction.request, 200, 'Fine', {}, transaction.request.body)),
      );
      const [answer, source] = await response(ours.request(request('MESSAGE', transport, body)));
      assert.equal(answer.body.toString(), body);
      assert.equal(answer.reason, 'Fine');
      assert.equal(source.transport, transport);
    });
  }

  it('a request arrives with the address it came from noted in its Via', async () => {
    const arrived = new Promise<SipRequest>(resolve => theirs.once('request', ({ request: got }) => resolve(got)));
    ours.request(request('OPTIONS')).on('response', () => undefined);
    const got = await arrived;
    assert.match(headerOf(got, 'via') ?? '', new RegExp(`;rport=${portOf(ours, 'udp')}`));
    assert.equal(headerOf(got, 'max-forwards'), '70');
  });

  it('the user of an INVITE hears its CANCEL, and the canceller 487', async () => {
    let cancelled = 0;
    theirs.on('request', transaction => {
      transaction.on('cancel', () => cancelled++);
      transaction.respond(responseTo(transaction.request, 180));
    });
    const transaction = ours.request(request('INVITE'));
    const [ringing] = await response(transaction);
    assert.equal(ringing.status, 180);
    transaction.cancel();
    const [final] = await response(transaction);
    assert.equal(final.status, 487);
    assert.equal(cancelled, 1);
  });

  it('an ACK to a 2xx is matched to its INVITE and stops the repeats', async () => {
    const acknowledged = new Promise<void>(resolve => {
      theirs.on('request', transaction => {
        transaction.on('ack', () => resolve());
        transaction.respond(responseTo(transaction.request, 200));
      });
    });
    const invite = request('INVITE');
    const [ok] = await response(ours.request(invite));
    const dialog = { From: headerOf(ok, 'from'), To: headerOf(ok, 'to'), 'Call-ID': headerOf(ok, 'call-id') };
    const hop = { transport: 'udp' as const, host: '127.0.0.1', port: portOf(theirs, 'udp') };
    ours.send(newRequest('ACK', invite.uri, { ...dialog, CSeq: '1 ACK' }), hop);
    await acknowledged;
  });

  it('of what is over only the last answer is kept, for repeats, and that for 64*T1', async () => {
    const short = { T1: 8, T2: 10, T4: 10 };
    const busy = new SipStack({ listeners: [{ transport: 'udp', host: '127.0.0.1', port: 0 }], timers: short });
    await busy.start();
    const peer = createSocket('udp4').bind(0, '127.0.0.1');
    await once(peer, 'listening');
    const say = (method: string, branch: string): void => {
      const text =
        `${method} sip:b@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:${peer.address().port};rport;branch=z9hG4bK${branch}\r\n` +
        `From: <sip:a@x>;tag=1\r\nTo: <sip:b@x>;tag=2\r\nCall-ID: c\r\nCSeq: 1 ${method}\r\nContent-Length: 0\r\n\r\n`;
      peer.send(text, portOf(busy, 'udp'), '127.0.0.1');
    };
    const heard = async (): Promise<string> => String(((await once(peer, 'message')) as [Buffer])[0]);
    try {
      let [asked, acks, ended] = [0, 0, 0];
      busy.on('request', transaction => {
        asked += 1;
        transaction.once('ended', () => (ended += 1));
        transaction.respond(responseTo(transaction.request, 200, `Fine ${asked}`));
      });
      busy.on('ack', () => (acks += 1));
      for (const [method, branch] of [
        ['BYE', '1'],
        ['INVITE', '2'],
      ] as const) {
        say(method, branch);
        assert.match(await heard(), new RegExp(`^SIP/2.0 200 Fine ${asked}\r\n`));
      }
      assert.equal(ended, 1, 'the INVITE waits for its ACK');
      say('ACK', '3');
      say('BYE', '1');
      while (!(await heard()).startsWith('SIP/2.0 200 Fine 1\r\n'));
      assert.deepEqual([asked, acks, ended, busy.stats().transactions], [2, 1, 2, 2]);
      say('INVITE', '2');
      say('BYE', '1');
      assert.match(await heard(), /^SIP\/2.0 200 Fine 1\r\n/, 'an acknowledged INVITE that is repeated hears nothing');
      while (busy.stats().transactions > 0) await pause(10);
      say('BYE', '1');
      assert.match(await heard(), /^SIP\/2.0 200 Fine 3\r\n/);
    } finally {
      peer.close();
      await busy.stop();
    }
  });

  it('a response to nothing of ours is reported as stray', async () => {
    const stray = new Promise<SipResponse>(resolve => ours.once('stray', resolve));
    const lost = responseTo(request('OPTIONS'), 200, 'OK', { Via: 'SIP/2.0/UDP x;branch=z9hG4bKnone' });
    theirs.send(lost, { transport: 'udp', host: '127.0.0.1', port: portOf(ours, 'udp') });
    assert.equal((await stray).status, 200);
  });

  it('a port in use is named when the stack cannot start, and nothing stays bound', async () => {
    const port = portOf(theirs, 'tcp');
    const wanted = [...listeners.slice(0, 1), { transport: 'tcp' as const, host: '127.0.0.1', port }];
    const third = new SipStack({ listeners: wanted });
    await assert.rejects(third.start(), new RegExp(`cannot listen on tcp 127.0.0.1:${port}`));
    assert.deepEqual(third.addresses, []);
  });

  it('a transport we do not speak is an error event, not an exception', async () => {
    const odd = newRequest('OPTIONS', 'sip:x@h;transport=sctp', {
      From: '<sip:a@b>;tag=1',
      To: '<sip:a@b>',
      CSeq: '1 OPTIONS',
    });
    await assert.rejects(response(ours.request(odd)), /no usable next hop/);
  });

  it('a request that is over leaves nothing of its length, answered or asked', async () => {
    theirs.on('request', transaction => {
      transaction.respond(responseTo(transaction.request, 200));
      transaction.relax(); // as after its ACK
    });
    await response(ours.request(request('MESSAGE', 'udp', 'before')));
    const before = heldMb();
    const sent: SentRequest[] = [];
    const long = (): SipRequest => {
      const padded = request('INVITE', 'udp', 'x'.repeat(20_000));
      for (const name of ['a', 'b', 'c', 'd']) padded.headers.push({ name, key: name, value: 'x'.repeat(8000) });
      return padded;
    };
    for (let n = 0; n < 10; n++) {
      const some = Array.from({ length: 20 }, () => ours.request(long()));
      sent.push(...some);
      await Promise.all(some.map(response));
    }
    assert.deepEqual(sent.filter(one => one.request.headers.length > 0), []); // prettier-ignore
    const grown = heldMb() - before;
    assert(grown < 5, `${grown} MB of 200 messages of 50 KB`);
    assert(ours.stats().transactions >= 200);
  });
});
