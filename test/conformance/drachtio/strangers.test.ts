import { strict as assert } from 'node:assert';
import { MOST_OF_THE_SLOW, MOST_STRANGERS } from '../../../engine/drachtio/crowd.ts';
import { leaveUnanswered, type SipRequest } from '../../../media-app/sip/srf.ts';
import { eventually } from '../../support/eventually.ts';
import { Stranger } from '../../support/stranger.ts';
import { engineOnly } from '../../support/engine-only.ts';
import { Rig, SHORT, type Request, type Response } from './rig.ts';

const LIES = 'Authorization: Digest username="a", nonce="n1", response="b"';

/** What drachtio-srf keeps for a server. */
interface Held {
  pendingNetworkInvites: Map<string, unknown>;
}

describe('drachtio: strangers', () => {
  let rig: Rig;
  let asked: { request: Request; response: Response }[];
  const strangers: Stranger[] = [];

  const start = async (): Promise<void> => {
    asked = [];
    rig = await Rig.start({ timers: SHORT });
    const keep = (request: Request, response: Response) => asked.push({ request, response });
    await rig.app(client => {
      client.invite(keep);
      client.register(keep);
      client.options((_request, response) => response.send(200));
    });
  };
  const stranger = async (address: string): Promise<Stranger> => {
    const one = await Stranger.start(address, { host: '127.0.0.1', port: rig.server.port });
    strangers.push(one);
    return one;
  };
  /** Waits until the application has been asked so often in all. */
  const untilAsked = (count: number) => eventually('requests', () => asked.length, length => length === count); // prettier-ignore
  const answer = (status: number, headers = {}) => {
    for (const { response } of asked) response.send(status, { headers });
  };
  /** Asks, is challenged, and proves who it is. */
  const register = async (phone: Stranger): Promise<void> => {
    for (const [at, status] of [401, 200].entries()) {
      const answered = phone.ask({ uri: rig.uri(), lines: at === 0 ? [] : [LIES] });
      await untilAsked(1);
      answer(status, status === 401 ? { 'WWW-Authenticate': 'Digest realm="r", nonce="n1"' } : {});
      assert.equal((await answered)?.status, status);
      asked = [];
    }
  };

  afterEach(async () => {
    for (const one of strangers.splice(0)) one.close();
    await rig.close();
  });

  const NO_STATE = 'drachtio-server repeats a refusal for 32 s, and lets everybody in';

  engineOnly(NO_STATE, 'one who is refused and never sends ACK hears one answer for each INVITE', async () => {
    await start();
    const one = await stranger('127.0.6.1');
    const invite = one.write({ method: 'INVITE', uri: rig.uri() });
    one.throw(invite);
    await untilAsked(1);
    answer(404);
    await eventually('an answer', () => one.heard.length, count => count === 1); // prettier-ignore
    one.throw(invite);
    await eventually('the same again', () => one.heard.length, count => count === 2); // prettier-ignore
    await rig.comesToHold({ transactions: 0, dialogs: 0 });
    assert.deepEqual(one.heard.map(text => text.slice(0, 11)), ['SIP/2.0 404', 'SIP/2.0 404']); // prettier-ignore
    assert.equal(asked.length, 1);
  });

  engineOnly(
    NO_STATE,
    'while the application lags behind, a crowd of strangers is turned away and known phones are not',
    async () => {
      await start();
      const phone = await stranger('127.0.6.2');
      await register(phone);
      // Nobody looks at what an OPTIONS says of its sender: it makes nobody known, though its nonce is a real one of another's.
      const crowd = await stranger('127.0.6.3');
      assert.equal((await crowd.ask({ method: 'OPTIONS', uri: rig.uri(), lines: [LIES] }))?.status, 200);
      const FLOOD = MOST_STRANGERS + 50;
      for (let n = 0; n < FLOOD; n++) crowd.throw(crowd.write({ uri: rig.uri(), lines: [LIES] }));
      const away = () => rig.server.stats().turned_away;
      await eventually('all of them', () => away() + asked.length, count => count === FLOOD); // prettier-ignore
      assert(away() >= 50);
      const let_in = asked.length;
      const [call, silence] = [phone.ask({ method: 'INVITE', uri: rig.uri() }), crowd.ask({ uri: rig.uri() }, 50)];
      await untilAsked(let_in + 1);
      assert.equal(asked.at(-1)?.request.source_address, phone.address);
      answer(403);
      assert.equal((await call)?.status, 403);
      assert.equal(await silence, undefined);
      const again = crowd.ask({ uri: rig.uri() });
      await untilAsked(let_in + 2);
      answer(403);
      assert.equal((await again)?.status, 403);
    },
  );

  engineOnly(NO_STATE, 'a crowd of twenty is enough when the application takes longer than half a second', async () => {
    await start();
    const crowd = await stranger('127.0.6.6');
    for (let n = 0; n < MOST_OF_THE_SLOW; n++) crowd.throw(crowd.write({ uri: rig.uri() }));
    await untilAsked(MOST_OF_THE_SLOW);
    const more = setInterval(() => crowd.throw(crowd.write({ uri: rig.uri() })), 20);
    await eventually('one turned away', () => rig.server.stats().turned_away, count => count > 0); // prettier-ignore
    clearInterval(more);
    assert(asked.length < MOST_STRANGERS);
  });

  engineOnly(NO_STATE, 'a stranger on a connection is told 503 when it is turned away', async () => {
    await start();
    const crowd = await stranger('127.0.6.4');
    for (let n = 0; n < MOST_STRANGERS; n++) crowd.throw(crowd.write({ uri: rig.uri() }));
    await untilAsked(MOST_STRANGERS);
    const phone = await rig.tcpPhone();
    phone.request('REGISTER', rig.uri());
    assert.equal((await phone.expect(/ 503 /)).get('Retry-After'), '5');
  });

  it('an INVITE that media-app leaves unanswered is not kept', async () => {
    await start();
    const one = await stranger('127.0.6.5');
    one.throw(one.write({ method: 'INVITE', uri: rig.uri() }));
    await untilAsked(1);
    const { request } = asked[0] as { request: Request };
    const { agent } = request as unknown as { agent: { mapServer: Map<unknown, Held> } };
    const kept = () => [...agent.mapServer.values()].map(held => held.pendingNetworkInvites.size);
    assert.deepEqual(kept(), [1]);
    leaveUnanswered(request as unknown as SipRequest);
    assert.deepEqual(kept(), [0]);
  });
});
