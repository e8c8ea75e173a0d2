import { strict as assert } from 'node:assert';
import { EMPTY_ID } from '#contract/ids';
import { eventually } from '../support/eventually.ts';
import { Office } from '../support/office.ts';
import { sharedStack } from '../support/stack.ts';

interface DirectFlow {
  id: string;
  direct_hash: string;
}

describe('the direct hash of a flow', function () {
  this.timeout(60_000);
  let office: Office;

  before(async () => {
    office = new Office(await sharedStack());
  });
  after(async () => {
    await office.close();
    await office.nothingLeft();
  });

  it('is dialled by anybody, who hears the flow; a new one takes its place at once, and a deleted flow has none', async () => {
    const { stack } = office;
    const actions = [{ type: 'answer' }, { type: 'play', option: { stream_urls: ['tone_stream://%(60000,0,900)'] } }];
    const { body: flow } = await stack.api<DirectFlow>('POST', '/flows', { name: 'Door', actions });
    const stranger = await office.phone('1001', { username: 'stranger', domain: 'somewhere.example' });
    const dial = (hash: string) => stranger.dial(`sip:${hash}@sip.trunkline.localhost`);
    const first = await dial(flow.direct_hash);
    await first.hearsOnly([900]);
    const [call] = await office.calls(1);
    assert.deepEqual([call?.flow_id, call?.direction], [flow.id, 'incoming']);
    assert.equal(call?.destination.target, `sip:${flow.direct_hash}@sip.trunkline.localhost`);
    assert.notEqual(call?.activeflow_id, EMPTY_ID);
    await first.hangup();
    const { body: again } = await stack.api<DirectFlow>('POST', `/flows/${flow.id}/direct-hash-regenerate`);
    assert.match(again.direct_hash, /^direct\.[0-9a-f]{12}$/);
    assert.equal((await (await dial(flow.direct_hash)).ended()).status, 404);
    const second = await dial(again.direct_hash);
    await second.hearsOnly([900]);
    await second.hangup();
    const directs = async (): Promise<string[]> =>
      (
        await stack.api<{ result: { resource_id: string; hash: string }[] }>('GET', '/directs?page_size=100')
      ).body.result
        .filter(direct => direct.resource_id === flow.id)
        .map(direct => direct.hash);
    assert.deepEqual(await directs(), [again.direct_hash]);
    assert.equal((await stack.api('DELETE', `/flows/${flow.id}`)).status, 200);
    assert.equal((await (await dial(again.direct_hash)).ended()).status, 404);
    assert.deepEqual(await directs(), []);
    await eventually(
      'the end of both calls',
      () => office.calls(2),
      calls => calls.every(one => one.status === 'hangup'),
    );
  });
});
