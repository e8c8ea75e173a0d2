import { strict as assert } from 'node:assert';
import { engineOnly } from '../../support/engine-only.ts';
import { withLine, type Line } from './line.ts';
import { SDP, type Heard, type UdpPeer } from './peer.ts';
import { next, type Request, type Response } from './rig.ts';

const RELIABLE = { headers: { Require: '100rel' }, body: SDP };
const SUPPORTED = { Supported: '100rel, timer' };

describe('drachtio: provisional responses that cannot get lost (RFC 3262)', () => {
  let line: Line;
  let phone: UdpPeer;
  withLine((...given) => ([line, phone] = given));
  afterEach(() => {
    line.handle = (request, response) => line.answer(request, response);
  });

  const prack = (invite: Heard, response: Heard, seq: number, rack?: string): Heard => {
    const own = rack ?? `${response.get('RSeq')} ${invite.get('CSeq')}`;
    return phone.inDialog('PRACK', invite, response, seq, { RAck: own });
  };

  it('a reliable 183 is repeated until its PRACK, which the application sees; then the call is answered', async () => {
    const answered = next(line.app, 'answered');
    const pracked = new Promise<Request>(resolve => {
      line.handle = (request, response) =>
        response.send(183, RELIABLE, undefined, request_ => {
          resolve(request_ as Request);
          line.answer(request, response);
        });
    });
    const invite = phone.request('INVITE', line.rig.uri(), SUPPORTED, SDP);
    const progress = await phone.expect(/ 183 /);
    assert.match(progress.get('RSeq'), /^\d+$/);
    assert.equal(progress.get('Require'), '100rel');
    assert.match(progress.get('Contact'), /^<sip:127/);
    assert.equal((await phone.expect(/ 183 /)).text, progress.text);
    prack(invite, progress, 2);
    assert.equal((await phone.expect(/ 200 /)).get('CSeq'), '2 PRACK');
    assert.equal((await pracked).get('RAck'), `${progress.get('RSeq')} 1 INVITE`);
    const ok = await phone.expect(/ 200 /);
    assert.equal(ok.get('CSeq'), '1 INVITE');
    phone.inDialog('ACK', invite, ok, 1);
    await answered;
    phone.inDialog('BYE', invite, ok, 3);
    await phone.expect(/ 200 /);
  });

  engineOnly(
    'drachtio-server answers without the PRACK',
    'a 200 waits for the PRACK, a second reliable response too, and is numbered one higher',
    async () => {
      line.handle = (request, response) => {
        response.send(183, RELIABLE);
        response.send(180, { headers: { Require: '100rel' } });
        line.answer(request, response);
      };
      const invite = phone.request('INVITE', line.rig.uri(), SUPPORTED, SDP);
      const first = await phone.expect(/ 183 /);
      assert.equal(phone.heard.filter(one => / (180|200) /.test(one.start)).length, 0);
      prack(invite, first, 2);
      const second = await phone.expect(/ 180 /);
      assert.equal(Number(second.get('RSeq')), Number(first.get('RSeq')) + 1);
      assert.equal((await phone.expect(/ 200 /)).get('CSeq'), '2 PRACK');
      prack(invite, second, 3);
      const both = [await phone.expect(/ 200 /), await phone.expect(/ 200 /)];
      const ok = both.find(one => one.get('CSeq') === '1 INVITE');
      assert(ok);
      phone.inDialog('ACK', invite, ok, 1);
      phone.inDialog('BYE', invite, ok, 4);
      await phone.expect(/ 200 /);
    },
  );

  engineOnly(
    'drachtio-server 0.9 ends on it',
    'a caller who never confirms gets 504, and the application hears that he is gone',
    async () => {
      const cancelled = new Promise<Request>(resolve => {
        line.handle = (request, response) => {
          request.once('cancel', resolve);
          response.send(183, RELIABLE);
        };
      });
      const invite = phone.request('INVITE', line.rig.uri(), SUPPORTED, SDP);
      const gone = await phone.expect(/ 504 /);
      phone.companion('ACK', invite, gone.get('To'));
      assert.match((await cancelled).get('Reason'), /PRACK timeout/);
      line.rig.holds({ dialogs: 0 });
    },
  );

  engineOnly('drachtio-server says nothing to it', 'a PRACK that fits no response gets 481', async () => {
    line.handle = (_request, response) => response.send(183, RELIABLE);
    const invite = phone.request('INVITE', line.rig.uri(), SUPPORTED, SDP);
    const progress = await phone.expect(/ 183 /);
    for (const rack of ['1 1 INVITE', `${progress.get('RSeq')} 2 INVITE`, `${progress.get('RSeq')} 1 BYE`, '']) {
      prack(invite, progress, 2, rack);
      await phone.expect(/ 481 /);
    }
    phone.companion('CANCEL', invite);
    phone.companion('ACK', invite, (await phone.expect(/ 487 /)).get('To'));
  });

  engineOnly('drachtio-server 0.9 ends on it', 'a busy answer does not wait for the PRACK', async () => {
    line.handle = (_request, response) => {
      response.send(183, RELIABLE);
      response.send(486);
    };
    const invite = phone.request('INVITE', line.rig.uri(), SUPPORTED, SDP);
    phone.companion('ACK', invite, (await phone.expect(/ 486 /)).get('To'));
  });

  it('a caller who cannot has the reliable response refused to the application; one who insists gets only such', async () => {
    const refused = new Promise<unknown>(resolve => {
      line.handle = (_request, response) => response.send(183, RELIABLE, error => resolve(error));
    });
    const first = phone.request('INVITE', line.rig.uri(), {}, SDP);
    await refused;
    phone.companion('CANCEL', first);
    phone.companion('ACK', first, (await phone.expect(/ 487 /)).get('To'));
    assert.equal(phone.heard.filter(one => one.start.includes(' 183 ')).length, 0);
    line.handle = (_request, response) => response.send(180);
    const second = phone.request('INVITE', line.rig.uri(), { Require: '100rel' }, SDP);
    const ringing = await phone.expect(/ 180 /);
    assert.match(ringing.get('RSeq'), /^\d+$/);
    assert.equal(ringing.get('Require'), '100rel');
    phone.companion('CANCEL', second);
    phone.companion('ACK', second, (await phone.expect(/ 487 /)).get('To'));
  });

  it('an UPDATE after the reliable answer is heard before the call is picked up; before it, it comes too early', async () => {
    const updated = new Promise<Request>(resolve => {
      line.handle = (request, response) => {
        request.once('update', (update: Request, reply: Response) => {
          reply.send(200, { body: SDP });
          resolve(update);
        });
        response.send(183, RELIABLE);
      };
    });
    const invite = phone.request('INVITE', line.rig.uri(), SUPPORTED, SDP);
    const progress = await phone.expect(/ 183 /);
    prack(invite, progress, 2);
    await phone.expect(/ 200 /);
    phone.inDialog('UPDATE', invite, progress, 3, {}, SDP);
    await updated;
    assert.equal((await phone.expect(/ 200 /)).get('CSeq'), '3 UPDATE');
    phone.companion('CANCEL', invite);
    phone.companion('ACK', invite, (await phone.expect(/ 487 /)).get('To'));
    line.handle = (_request, response) => response.send(183, { body: SDP });
    const plain = phone.request('INVITE', line.rig.uri(), SUPPORTED, SDP);
    phone.inDialog('UPDATE', plain, await phone.expect(/ 183 /), 2, {}, SDP);
    assert.match((await phone.expect(/ 500 /)).get('Retry-After'), /^\d+$/);
    phone.companion('CANCEL', plain);
    phone.companion('ACK', plain, (await phone.expect(/ 487 /)).get('To'));
  });

  const reliable = (rseq: number): Record<string, string> => ({ Require: '100rel', RSeq: String(rseq) });

  engineOnly(
    'drachtio-server confirms a second one only after the first, or not',
    'a callee has each of his reliable responses confirmed once, in order, though he repeats them',
    async () => {
      const rings: number[] = [];
      const progress = { cbProvisional: (response: Response) => void rings.push(response.status) };
      const call = line.app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, { localSdp: SDP }, progress);
      const invite = await phone.expect(/^INVITE/);
      const seq = parseInt(invite.get('CSeq'));
      phone.answer(invite, '183 Session Progress', reliable(77), SDP);
      phone.answer(invite, '183 Session Progress', reliable(77), SDP);
      phone.answer(invite, '180 Ringing', reliable(79));
      const first = await phone.expect(/^PRACK/);
      assert.equal(first.get('RAck'), `77 ${seq} INVITE`);
      assert.equal(parseInt(first.get('CSeq')), seq + 1);
      phone.answer(first, '200 OK');
      phone.answer(invite, '180 Ringing', reliable(78));
      // A PRACK is repeated like any request until its answer arrives, here after 10 ms.
      let second = await phone.expect(/^PRACK/);
      while (second.text === first.text) second = await phone.expect(/^PRACK/);
      assert.equal(second.get('RAck'), `78 ${seq} INVITE`);
      phone.answer(second, '200 OK');
      phone.answer(invite, '200 OK', {}, SDP);
      const standing = await call;
      assert.equal(parseInt((await phone.expect(/^ACK/)).get('CSeq')), seq);
      assert.deepEqual(rings, [183, 180]);
      const known = [first.text, second.text];
      assert.deepEqual(
        phone.heard.filter(one => one.start.startsWith('PRACK') && !known.includes(one.text)),
        [],
      );
      await line.hangUp(phone, standing);
    },
  );

  engineOnly(
    'drachtio-server confirms one of them',
    'two phones that ring for one call are confirmed each by its own PRACK',
    async () => {
      const call = line.app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, { localSdp: SDP });
      const invite = await phone.expect(/^INVITE/);
      const fork = (tag: string, rseq: number): void =>
        phone.answer(invite, '180 Ringing', {
          ...reliable(rseq),
          ...{ To: `${invite.get('To')};tag=${tag}`, Contact: `<sip:${tag}@127.0.0.1:${phone.port}>` },
        });
      fork('one', 100);
      fork('two', 200);
      const pracks = [await phone.expect(/^PRACK/), await phone.expect(/^PRACK/)];
      const tags = pracks.map(one => [parseInt(one.get('RAck')), one.start.split(/[:@]/)[1], one.get('To').slice(-7)]);
      assert.deepEqual(tags, [
        [100, 'one', 'tag=one'],
        [200, 'two', 'tag=two'],
      ]);
      for (const one of pracks) phone.answer(one, '200 OK');
      phone.answer(invite, '200 OK', { To: `${invite.get('To')};tag=one` }, SDP);
      const standing = await call;
      assert.match((await phone.expect(/^ACK/)).get('To'), /tag=one$/);
      await line.hangUp(phone, standing);
    },
  );
});
