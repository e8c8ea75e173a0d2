import { strict as assert } from 'node:assert';
import { EventEmitter, once } from 'node:events';
import type { Hop, Source } from '../../../../engine/sip/hop.ts';
import { headerOf, newRequest, responseTo, type SipRequest } from '../../../../engine/sip/message.ts';
import { InviteClientTransaction } from '../../../../engine/sip/transactions/invite-client.ts';
import { InviteServerTransaction } from '../../../../engine/sip/transactions/invite-server.ts';
import { NonInviteClientTransaction } from '../../../../engine/sip/transactions/non-invite-client.ts';
import { NonInviteServerTransaction } from '../../../../engine/sip/transactions/non-invite-server.ts';
import type { Wire } from '../../../../engine/sip/transactions/wire.ts';

const hop = (transport: 'udp' | 'tcp' = 'udp'): Hop => ({ transport, host: '127.0.0.1', port: 5060 });
const source = (transport: 'udp' | 'tcp' = 'udp'): Source => ({
  ...{ transport, address: '127.0.0.1', port: 5060, localAddress: '127.0.0.1', localPort: 5061, size: 1 },
});
const request = (method: string): SipRequest =>
  newRequest(method, 'sip:b@127.0.0.1', {
    ...{ Via: 'SIP/2.0/UDP h;branch=z9hG4bK1', From: '<sip:a@b>;tag=1', To: '<sip:b@b>', 'Call-ID': 'c' },
    CSeq: `1 ${method}`,
  });

/** A wire that remembers what went over it; 64*T1 is 128 ms. */
class RecordedWire extends EventEmitter implements Wire {
  readonly timers = { T1: 2, T2: 8, T4: 10 };
  readonly sent: string[] = [];
  readonly send = (message: Buffer): void => {
    this.sent.push(/^(?:SIP\/2\.0 )?(\w+)/.exec(message.toString())?.[1] ?? '');
    this.emit('sent');
  };
  readonly probe = (): void => undefined;

  async until(count: number): Promise<string[]> {
    while (this.sent.length < count) await once(this, 'sent', { signal: AbortSignal.timeout(2000) });
    return this.sent;
  }
}

describe('sip transactions of ours', () => {
  let wire: RecordedWire;
  beforeEach(() => {
    wire = new RecordedWire();
  });
  const invite = (transport: 'udp' | 'tcp' = 'udp'): InviteClientTransaction =>
    new InviteClientTransaction(request('INVITE'), 'z9hG4bK1', hop(transport), wire);
  const answer = (to: SipRequest, status: number, tag = 't'): ReturnType<typeof responseTo> =>
    responseTo(to, status, undefined, { To: `<sip:b@b>;tag=${tag}` });

  it('an INVITE is repeated over UDP until a provisional response, and times out without one', async () => {
    const transaction = invite();
    transaction.start();
    await wire.until(3);
    transaction.receive(responseTo(transaction.request, 180), source());
    const count = wire.sent.length;
    await new Promise(resolve => setTimeout(resolve, 150));
    assert.equal(wire.sent.length, count);
    transaction.end();
    const silent = invite();
    silent.start();
    await once(silent, 'timeout');
  });

  it('an INVITE over TCP is sent once', async () => {
    const transaction = invite('tcp');
    transaction.start();
    await once(transaction, 'timeout');
    assert.deepEqual(wire.sent, ['INVITE']);
  });

  it('a failure is acknowledged each time it comes and reported once', () => {
    const transaction = invite();
    let reported = 0;
    transaction.on('response', () => reported++);
    transaction.start();
    for (let i = 0; i < 3; i++) transaction.receive(answer(transaction.request, 486), source());
    assert.deepEqual(wire.sent, ['INVITE', 'ACK', 'ACK', 'ACK']);
    assert.equal(reported, 1);
    transaction.end();
  });

  it('every 2xx is reported, repeats and other forks too, and none acknowledged', () => {
    const transaction = invite();
    const tags: unknown[] = [];
    transaction.on('response', response => tags.push(headerOf(response, 'to')?.split('=')[1]));
    transaction.start();
    for (const tag of ['x', 'x', 'y']) transaction.receive(answer(transaction.request, 200, tag), source());
    transaction.receive(answer(transaction.request, 486), source());
    assert.deepEqual(tags, ['x', 'x', 'y']);
    assert.deepEqual(wire.sent, ['INVITE']);
    transaction.end();
  });

  it('a CANCEL waits for a provisional response, is repeated until answered, and is pointless after the final', async () => {
    const transaction = invite();
    transaction.start();
    assert.equal(transaction.cancel({ Reason: 'SIP;cause=200' })?.held, true);
    assert.equal(wire.sent.includes('CANCEL'), false);
    transaction.receive(responseTo(transaction.request, 100), source());
    await wire.until(wire.sent.length + 2);
    transaction.cancelAnswered();
    assert(wire.sent.filter(one => one === 'CANCEL').length >= 2);
    transaction.receive(answer(transaction.request, 487), source());
    assert.equal(transaction.cancel(), undefined);
    transaction.end();
  });

  it('a cancelled INVITE that never ends times out', async () => {
    const transaction = invite();
    transaction.start();
    transaction.receive(responseTo(transaction.request, 180), source());
    transaction.cancel();
    await once(transaction, 'timeout');
  });

  it('another request is repeated until its final response and reports that once', async () => {
    const transaction = new NonInviteClientTransaction(request('OPTIONS'), 'z9hG4bK1', hop(), wire);
    let reported = 0;
    transaction.on('response', () => reported++);
    transaction.start();
    await wire.until(3);
    const ended = once(transaction, 'ended');
    transaction.receive(responseTo(transaction.request, 200), source());
    transaction.receive(responseTo(transaction.request, 200), source());
    await ended;
    assert.equal(reported, 1);
  });
});

describe('sip transactions of others', () => {
  let wire: RecordedWire;
  beforeEach(() => {
    wire = new RecordedWire();
  });
  const invited = (transport: 'udp' | 'tcp' = 'udp'): InviteServerTransaction => {
    const transaction = new InviteServerTransaction(request('INVITE'), source(transport), wire);
    transaction.start();
    return transaction;
  };

  it('Trying is said when the user says nothing for 200 ms', async () => {
    const transaction = invited();
    assert.deepEqual(await wire.until(1), ['100']);
    transaction.end();
  });

  it('a repeated INVITE gets the latest response again', () => {
    const transaction = invited();
    transaction.respond(responseTo(transaction.request, 180));
    transaction.retransmitted();
    assert.deepEqual(wire.sent, ['180', '180']);
    transaction.end();
  });

  it('all responses carry one To tag', () => {
    const transaction = invited();
    const responses = [responseTo(transaction.request, 180), responseTo(transaction.request, 486)];
    for (const response of responses) transaction.respond(response);
    const [first, second] = responses.map(response => headerOf(response, 'to'));
    assert.equal(first, second);
    assert.equal(first, `<sip:b@b>;tag=${transaction.localTag}`);
    transaction.end();
  });

  it('a failure of a call that rang is repeated until the ACK, which nobody else hears', async () => {
    const transaction = invited();
    let heard = 0;
    transaction.on('ack', () => heard++);
    for (const status of [180, 486]) transaction.respond(responseTo(transaction.request, status));
    await wire.until(8); // more than whom nobody served is told
    const ended = once(transaction, 'ended');
    transaction.acknowledged(request('ACK'), source());
    await ended;
    assert.equal(heard, 0);
  });

  for (const status of [401, 403, 404, 486])
    it(`${status} to an INVITE that nobody began to serve is said once and soon forgotten; a repeated one hears it again`, async () => {
      const transaction = invited();
      const ended = once(transaction, 'ended', { signal: AbortSignal.timeout(100) }); // 64*T1 is 128 ms
      transaction.respond(responseTo(transaction.request, status));
      transaction.retransmitted();
      await ended;
      assert.deepEqual(wire.sent, [`${status}`, `${status}`]);
    });

  it('a challenge of another request is soon forgotten', async () => {
    const other = new NonInviteServerTransaction(request('REGISTER'), source(), wire);
    other.start();
    const over = once(other, 'ended') as Promise<[{ ms: number; answer: Buffer }]>;
    other.respond(responseTo(other.request, 401));
    const [left] = await over;
    assert.equal(left.ms, wire.timers.T4); // not the 64*T1 of other answers
    assert.match(left.answer.toString(), /^SIP\/2\.0 401 /);
  });

  for (const status of [407, 404])
    it(`${status} behind Trying is repeated a few times, because nobody asks again`, async () => {
      const transaction = invited();
      const ended = once(transaction, 'ended');
      for (const said of [100, status]) transaction.respond(responseTo(transaction.request, said));
      await ended;
      assert(wire.sent.length >= 3 && wire.sent.length <= 5, wire.sent.join());
    });

  it('a 2xx is repeated over UDP until the ACK, which is heard once', async () => {
    const transaction = invited();
    let heard = 0;
    transaction.on('ack', () => heard++);
    transaction.respond(responseTo(transaction.request, 200));
    await wire.until(3);
    for (let i = 0; i < 2; i++) transaction.acknowledged(request('ACK'), source());
    assert.equal(heard, 1);
    transaction.end();
  });

  it('a 2xx over TCP is sent once, and a missing ACK is reported', async () => {
    const transaction = invited('tcp');
    transaction.respond(responseTo(transaction.request, 200));
    await once(transaction, 'timeout');
    assert.deepEqual(wire.sent, ['200']);
  });

  it('a second final response is dropped', () => {
    const transaction = new NonInviteServerTransaction(request('OPTIONS'), source(), wire);
    transaction.start();
    transaction.respond(responseTo(transaction.request, 200));
    transaction.respond(responseTo(transaction.request, 500));
    transaction.retransmitted();
    assert.deepEqual(wire.sent, ['200', '200']);
    transaction.end();
  });
});
