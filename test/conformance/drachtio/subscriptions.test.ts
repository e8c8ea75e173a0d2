import { strict as assert } from 'node:assert';
import { engineOnly } from '../../support/engine-only.ts';
import { Line } from './line.ts';
import { type Heard, type UdpPeer } from './peer.ts';
import { next, SHORT, type Call, type Request, type Response } from './rig.ts';

/** 64*T1 is 64 ms: how long a subscription outlives its time. */
const QUICK = { ...SHORT, T1: 1 };
const EVENT = { Event: 'presence' };

describe('drachtio: subscriptions (RFC 6665)', () => {
  let line: Line;
  let phone: UdpPeer;
  let accept: (request: Request, response: Response) => void;
  before(async () => {
    line = await Line.open({ timers: QUICK }, client => client.use('subscribe', (req, res) => accept(req, res)));
  });
  after(() => line.close());
  beforeEach(async () => {
    phone = await line.rig.phone();
    accept = (request, response) => {
      void line.app
        .createUAS(request, response, { headers: { Expires: request.get('Expires') } })
        .then(call => line.app.emit('answered', call));
    };
  });

  async function subscribed(expires: string): Promise<{ subscribe: Heard; accepted: Heard; call: Call }> {
    const answered = next(line.app, 'answered');
    const subscribe = phone.request('SUBSCRIBE', line.rig.uri(), { ...EVENT, Expires: expires });
    const accepted = await phone.expect(/ 202 /);
    const [call] = (await answered) as [Call];
    return { subscribe, accepted, call };
  }

  it('a subscriber is notified, renews, and leaves with Expires 0', async () => {
    const { subscribe, accepted, call } = await subscribed('60');
    const state = { 'Subscription-State': 'active;expires=60', ...EVENT };
    const told = call.request({ method: 'NOTIFY', headers: state });
    const notify = await phone.expect(/^NOTIFY/);
    assert.equal(notify.get('To'), subscribe.get('From'));
    phone.answer(notify, '200 OK');
    assert.equal((await told).status, 200);
    call.once('subscribe', (_request: Request, response: Response) => response.send(200, { headers: { Expires: 60 } }));
    phone.inDialog('SUBSCRIBE', subscribe, accepted, 2, { ...EVENT, Expires: '60' });
    assert.equal((await phone.expect(/ 200 /)).get('Expires'), '60');
    line.rig.holds({ dialogs: 1 });
    const left = next(call, 'unsubscribe');
    phone.inDialog('SUBSCRIBE', subscribe, accepted, 3, { ...EVENT, Expires: '0' });
    await phone.expect(/ 202 /);
    await left;
    await line.rig.comesToHold({ dialogs: 0 });
  });

  engineOnly(
    'drachtio-server watches no subscription: that is left to the application',
    'a subscription that nobody renews is over by itself',
    async () => {
      const { subscribe, accepted } = await subscribed('0.01');
      await line.rig.comesToHold({ dialogs: 0 });
      phone.inDialog('SUBSCRIBE', subscribe, accepted, 2, { ...EVENT, Expires: '60' });
      accept = (_request, response) => response.send(481);
      await phone.expect(/ 481 /);
    },
  );

  it('a subscriber who knows the subscription no more ends it', async () => {
    const { call } = await subscribed('60');
    const told = call.request({ method: 'NOTIFY', headers: { 'Subscription-State': 'active', ...EVENT } });
    phone.answer(await phone.expect(/^NOTIFY/), '481 Subscription Does Not Exist');
    assert.equal((await told).status, 481);
    line.rig.holds({ dialogs: 0 });
  });

  engineOnly(
    'drachtio-server takes it for a request outside dialogs, and the application does not know it',
    'a NOTIFY that overtakes the answer to SUBSCRIBE is heard after it, and the last one ends the subscription',
    async () => {
      const headers = { ...EVENT, Expires: '60' };
      const options = { method: 'SUBSCRIBE', headers };
      const pending = line.app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, options);
      const subscribe = await phone.expect(/^SUBSCRIBE/);
      Line.back(phone, 'NOTIFY', subscribe, 1, { 'Subscription-State': 'active', ...EVENT });
      phone.answer(subscribe, '202 Accepted', { Expires: '60', Contact: phone.contact() });
      const call = await pending;
      call.on('notify', (_request: Request, response: Response) =>
        response.send(200, { headers: { 'X-Heard': 'yes' } }),
      );
      await phone.expect(/ 200 /); // outside a dialog the application would answer 404
      Line.back(phone, 'NOTIFY', subscribe, 2, { 'Subscription-State': 'terminated;reason=timeout', ...EVENT });
      assert.equal((await phone.expect(/ 200 /)).get('X-Heard'), 'yes');
      line.rig.holds({ dialogs: 0 });
    },
  );
});
