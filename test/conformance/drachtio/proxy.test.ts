import { strict as assert } from 'node:assert';
import { mock } from 'node:test';
import { engineOnly, onEngine } from '../../support/engine-only.ts';
import { Line } from './line.ts';
import { SDP, type Heard, type UdpPeer } from './peer.ts';
import { type Proxied } from './rig.ts';

const QUICK = { T1: 20, T2: 160, T4: 200 };

describe('drachtio: proxied requests (RFC 3261 16)', () => {
  let line: Line;
  let caller: UdpPeer;
  let [first, second]: UdpPeer[] = [];
  let outcome: Promise<Proxied>;

  before(async () => {
    line = await Line.open({ timers: QUICK }, client =>
      client.use('message', request => void (outcome = line.app.proxyRequest(request, at(phone(first))))),
    );
  });
  after(() => line.close());
  beforeEach(async () => {
    [caller, first, second] = [await line.rig.phone(), await line.rig.phone(), await line.rig.phone()];
  });

  const phone = (one: UdpPeer | undefined): UdpPeer => one ?? assert.fail('no phone');
  const at = (one: UdpPeer): string => `sip:bob@127.0.0.1:${one.port}`;

  /** A call that the application hands on to both phones. */
  function ring(options: object, headers: Record<string, string> = {}, to = [phone(first), phone(second)]): Heard {
    line.handle = request => {
      outcome = line.app.proxyRequest(request, to.map(at), options);
      outcome.catch(() => undefined); // looked at by the test that expects it
    };
    return caller.request('INVITE', line.rig.uri(), headers, SDP);
  }

  const statuses = (result: Proxied): number[] => result.responses.flatMap(one => one.msgs.map(msg => msg.status));

  it('the next target is rung when the first is busy, and the call passes by us until its BYE', async () => {
    const invite = ring({ remainInDialog: true, headers: { 'X-P': '1' } });
    const [one, two] = [phone(first), phone(second)];
    const tried = await one.expect(/^INVITE/);
    assert.equal(tried.start, `INVITE ${at(one)} SIP/2.0`);
    assert.deepEqual([tried.get('Max-Forwards'), tried.get('X-P'), tried.body], ['69', '1', SDP]);
    assert.equal(tried.all('Via').length, 2);
    assert.equal(tried.get('Record-Route'), `<sip:127.0.0.1:${line.rig.server.port};lr>`);
    one.answer(tried, '486 Busy Here');
    await one.expect(/^ACK/);
    const rung = await two.expect(/^INVITE/);
    two.answer(rung, '180 Ringing');
    two.answer(rung, '200 OK', {}, SDP);
    const ringing = await caller.expect(/ 180 /);
    assert.equal(ringing.all('Via').length, 1);
    const ok = await caller.expect(/ 200 /);
    assert.match(ok.get('To'), new RegExp(`tag=peer${two.port}$`));
    const route = { Route: ok.get('Record-Route') };
    caller.inDialog('ACK', invite, ok, 1, route);
    const ack = await two.expect(/^ACK/);
    assert.equal(ack.get('Route'), '');
    caller.inDialog('BYE', invite, ok, 2, route);
    const bye = await two.expect(/^BYE/);
    assert.equal(bye.all('Via').length, 2);
    two.answer(bye, '200 OK');
    assert.equal((await caller.expect(/ 200 /)).get('CSeq'), '2 BYE');
    const result = await outcome;
    assert.deepEqual([result.connected, ...statuses(result)], [true, 486, 200]);
    line.rig.holds({ dialogs: 0 });
  });

  it('the callee hangs up through us, too', async () => {
    const one = phone(first);
    const invite = ring({ remainInDialog: true }, {}, [one]);
    const rung = await one.expect(/^INVITE/);
    one.answer(rung, '200 OK', {}, SDP);
    const ok = await caller.expect(/ 200 /);
    caller.inDialog('ACK', invite, ok, 1, { Route: ok.get('Record-Route') });
    await one.expect(/^ACK/);
    const dialog = { From: ok.get('To'), To: ok.get('From'), 'Call-ID': ok.get('Call-ID'), CSeq: '1 BYE' };
    one.request('BYE', caller.contact().slice(1, -1), { ...dialog, Route: rung.get('Record-Route') });
    caller.answer(await caller.expect(/^BYE/), '200 OK');
    await one.expect(/ 200 /);
  });

  it('of two that ring at once the first answer wins, and the other is cancelled', async () => {
    const invite = ring({ forking: 'simultaneous' });
    const [one, two] = [phone(first), phone(second)];
    const [rung, winner] = [await one.expect(/^INVITE/), await two.expect(/^INVITE/)];
    one.answer(rung, '180 Ringing');
    await caller.expect(/ 180 /);
    two.answer(winner, '200 OK', {}, SDP);
    const ok = await caller.expect(/ 200 /);
    caller.request('ACK', at(two), {
      ...{ From: invite.get('From'), To: ok.get('To'), 'Call-ID': invite.get('Call-ID'), CSeq: '1 ACK' },
    });
    const cancel = await one.expect(/^CANCEL/);
    assert.equal(cancel.all('Via').length, 1);
    one.answer(cancel, '200 OK');
    one.answer(rung, '487 Request Terminated');
    await one.expect(/^ACK/);
    assert.deepEqual(statuses(await outcome), [200]);
  });

  /** Both phones refuse, one after the other, and the caller hears `expected`. */
  async function refuse(answers: readonly string[], expected: number): Promise<void> {
    const invite = ring({});
    for (const [i, status] of answers.entries()) {
      const target = phone([first, second][i]);
      target.answer(await target.expect(/^INVITE/), status);
      await target.expect(/^ACK/);
    }
    const refused = await caller.expect(new RegExp(` ${expected} `));
    caller.companion('ACK', invite, refused.get('To'));
    const heard = answers.map(status => parseInt(status));
    assert.deepEqual(statuses(await outcome), heard);
  }

  it('when all fail the caller hears the best failure: of the lowest class the latest', async () => {
    await refuse(['404 Not Found', '486 Busy Here'], 486);
    await refuse(['503 Service Unavailable', '404 Not Found'], 404);
    await refuse(['486 Busy Here', '503 Service Unavailable'], 486);
  });

  engineOnly(
    'drachtio-server 0.9 takes a 603 for the end of the search and sends the caller nothing',
    'after a 603 nobody else is asked, and the caller hears it',
    async () => {
      await refuse(['603 Decline'], 603);
      assert.equal(phone(second).heard.length, 0);
    },
  );

  it('a target that says nothing in time is left for the next one, and cancelled when it rings after all', async () => {
    const invite = ring({ provisionalTimeout: '60ms' });
    const [one, two] = [phone(first), phone(second)];
    const silent = await one.expect(/^INVITE/);
    const rung = await two.expect(/^INVITE/);
    two.answer(rung, '486 Busy Here');
    caller.companion('ACK', invite, (await caller.expect(/ 486 /)).get('To'));
    const heard = statuses(await outcome);
    assert.equal(heard.at(-1), 486);
    await onEngine('drachtio-server forgets the silent one: no CANCEL when it rings after all', async () => {
      assert.deepEqual(heard, [408, 486]);
      one.answer(silent, '180 Ringing');
      await one.expect(/^CANCEL/);
    });
  });

  engineOnly('drachtio-server lets it ring', 'a target that rings too long is cancelled for the next one', async () => {
    const invite = ring({ finalTimeout: '80ms' });
    const [one, two] = [phone(first), phone(second)];
    one.answer(await one.expect(/^INVITE/), '180 Ringing');
    one.answer(await one.expect(/^CANCEL/), '200 OK');
    two.answer(await two.expect(/^INVITE/), '486 Busy Here');
    caller.companion('ACK', invite, (await caller.expect(/ 486 /)).get('To'));
    assert.deepEqual(statuses(await outcome), [408, 486]);
  });

  it('a redirect is followed where the application says so, else handed to the caller', async () => {
    const [one, two] = [phone(first), phone(second)];
    const moved = { Contact: `<${at(two)}>` };
    const invite = ring({ followRedirects: true }, {}, [one]);
    one.answer(await one.expect(/^INVITE/), '302 Moved Temporarily', moved);
    two.answer(await two.expect(/^INVITE/), '486 Busy Here');
    caller.companion('ACK', invite, (await caller.expect(/ 486 /)).get('To'));
    const again = ring({}, {}, [one]);
    one.answer(await one.expect(/^INVITE/), '302 Moved Temporarily', moved);
    const redirect = await caller.expect(/ 302 /);
    assert.equal(redirect.get('Contact'), moved.Contact);
    caller.companion('ACK', again, redirect.get('To'));
  });

  it('a caller who gives up has every phone cancelled and hears its 487', async () => {
    const invite = ring({ forking: 'simultaneous' });
    const rung: [UdpPeer, Heard][] = [];
    for (const one of [phone(first), phone(second)]) rung.push([one, await one.expect(/^INVITE/)]);
    for (const [one, tried] of rung) one.answer(tried, '180 Ringing');
    await caller.expect(/ 180 /);
    caller.companion('CANCEL', invite);
    for (const [one, tried] of rung) {
      one.answer(await one.expect(/^CANCEL/), '200 OK');
      one.answer(tried, '487 Request Terminated');
      await one.expect(/^ACK/);
    }
    assert.equal((await caller.expect(/ 200 /)).get('CSeq'), '1 CANCEL');
    caller.companion('ACK', invite, (await caller.expect(/ 487 /)).get('To'));
    const heard = statuses(await outcome);
    await onEngine('drachtio-server may tell the application before the last of them', () =>
      assert.deepEqual(heard, [487, 487]),
    );
  });

  it('a request without hops left gets 483; a MESSAGE is handed on as well', async () => {
    const one = phone(first);
    const invite = ring({}, { 'Max-Forwards': '0' }, [one]);
    caller.companion('ACK', invite, (await caller.expect(/ 483 /)).get('To'));
    await assert.rejects(outcome);
    caller.request('MESSAGE', line.rig.uri(), { 'Content-Type': 'text/plain' }, 'hello');
    const message = await one.expect(/^MESSAGE/);
    assert.equal(message.body, 'hello');
    one.answer(message, '202 Accepted');
    await caller.expect(/ 202 /);
    assert.deepEqual(statuses(await outcome), [202]);
  });

  engineOnly(
    'drachtio-server sends it round',
    'a request that comes back as it was gets 482, and a 6xx ends the search',
    async () => {
      const [one, two] = [phone(first), phone(second)];
      const invite = ring({}, {}, [one, two]);
      const tried = await one.expect(/^INVITE/);
      const [via = '', ...vias] = tried.all('Via');
      const back = tried.text
        .replace(`Via: ${via}`, `Via: ${one.via()}\r\nVia: ${via}`)
        .replace(at(one), line.rig.uri());
      assert.equal(vias.length, 1);
      one.send(back);
      const loop = await one.expect(/ 482 /);
      one.send(
        back
          .replace(/^INVITE/, 'ACK')
          .replace(/CSeq: .*/, 'CSeq: 1 ACK')
          .replace(/^To: .*$/m, `To: ${loop.get('To')}`),
      );
      one.answer(tried, '603 Decline');
      caller.companion('ACK', invite, (await caller.expect(/ 603 /)).get('To'));
      assert.equal(two.heard.length, 0);
    },
  );

  engineOnly(
    'its clock is its own',
    'a phone that says again that it rings has three more minutes (timer C)',
    async () => {
      const one = phone(first);
      mock.timers.enable({ apis: ['setTimeout'] });
      const invite = ring({}, {}, [one]);
      const tried = await one.expect(/^INVITE/);
      try {
        for (let minutes = 0; minutes < 9; minutes += 3) {
          one.answer(tried, '180 Ringing');
          await caller.expect(/ 180 /);
          mock.timers.tick(180_000);
        }
        one.answer(tried, '183 Session Progress');
        await caller.expect(/ 183 /);
        assert.equal(one.heard.length, 0);
        mock.timers.tick(185_000);
        one.answer(await one.expect(/^CANCEL/), '200 OK');
      } finally {
        mock.timers.reset();
      }
      one.answer(tried, '487 Request Terminated');
      caller.companion('ACK', invite, (await caller.expect(/ 408 /)).get('To'));
      assert.deepEqual(statuses(await outcome), [408]);
    },
  );

  engineOnly(
    'drachtio-server hands on what a Route asks',
    'a request that claims a dialog of ours to reach others is not handed on',
    async () => {
      const one = phone(first);
      const route = { Route: `<sip:127.0.0.1:${line.rig.server.port};lr>`, To: `<${at(one)}>;tag=made-up` };
      caller.request('BYE', at(one), { ...route, CSeq: '2 BYE' });
      await caller.expect(/ 481 /);
      assert.equal(one.heard.length, 0);
    },
  );
});
