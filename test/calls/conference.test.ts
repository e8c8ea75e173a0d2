import { strict as assert } from 'node:assert';
import type { Conference } from '#contract/conference';
import type { Conferencecall } from '#contract/conferencecall';
import { eventually, Office } from '../support/office.ts';
import type { PhoneCall } from '../support/phone-call.ts';
import { sharedStack } from '../support/stack.ts';

describe('a conference', function () {
  this.timeout(60_000);
  let office: Office;

  before(async () => {
    office = new Office(await sharedStack());
  });
  afterEach(async () => {
    await office.close();
    await office.nothingLeft();
    office = new Office(office.stack);
  });

  const open = async (given: Record<string, unknown> = {}): Promise<Conference> => {
    const { status, body } = await office.stack.api<Conference>('POST', '/conferences', {
      type: 'conference',
      ...given,
    });
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };
  const close = async (id: string): Promise<Conference> => {
    const { status, body } = await office.stack.api<Conference>('DELETE', `/conferences/${id}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };
  const seen = async (id: string): Promise<Conference> =>
    (await office.stack.api<Conference>('GET', `/conferences/${id}`)).body;
  const participants = async (query: string): Promise<Conferencecall[]> => {
    const { status, body } = await office.stack.api<{ result: Conferencecall[] }>('GET', `/conferencecalls?${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body.result;
  };
  const joined = (id: string, count: number): Promise<Conferencecall[]> =>
    eventually(
      `${count} participants`,
      () => participants(`conference_id=${id}&status=joined`),
      list => list.length === count,
    );
  /** A phone calls the conference by its own address. */
  const callsIn = async (hz: number, id: string): Promise<PhoneCall> => {
    const phone = await office.phone('1001', { tone: hz });
    const call = await phone.dial(`sip:${id}@conference.trunkline.localhost`);
    await call.answered();
    return call;
  };

  it('three phones hear exactly the other two, whoever leaves is heard no more', async () => {
    const { id, status } = await open();
    assert.equal(status, 'starting');
    const a = await callsIn(500, id);
    const b = await callsIn(900, id);
    const c = await callsIn(1300, id);
    await Promise.all([a.hearsOnly([900, 1300]), b.hearsOnly([500, 1300]), c.hearsOnly([500, 900])]);
    const present = await joined(id, 3);
    assert.deepEqual([...(await seen(id)).conferencecall_ids].sort(), present.map(one => one.id).sort());
    await b.hangup();
    await Promise.all([a.hearsOnly([1300]), c.hearsOnly([500])]);
    await joined(id, 2);
    const deleted = await close(id);
    assert.equal(deleted.status, 'terminating');
    await Promise.all([a.ended(), c.ended()]);
  });
});
