import { strict as assert } from 'node:assert';
import type { EventMessage } from '#contract/events';
import { EMPTY_ID, newId } from '#contract/ids';
import { eventually } from '../support/eventually.ts';
import { Office } from '../support/office.ts';
import { sharedStack } from '../support/stack.ts';

interface DirectResource {
  id: string;
  direct_hash: string;
}

/** Resources with a direct hash that no call reaches, or none in this version: what they are, as the API takes them. */
const PERSON = newId();
const words = { name: 'Direct', detail: '' };
const ai = {
  ...words,
  ...{ engine_model: 'openai.gpt-5', parameter: {}, engine_key: 'key', init_prompt: '' },
  ...{ tts_type: '', tts_voice_id: '', stt_type: '' },
};
const queue = {
  ...words,
  ...{ routing_method: 'random', tag_ids: [], wait_flow_id: '', wait_timeout: 0, service_timeout: 0 },
};
const CLOSED: [
  path: string,
  body: (aiId: string) => Record<string, unknown>,
  status: number,
  sentence: RegExp | undefined,
][] = [
  ['/ais', () => ai, 501, /direct hash of ai .* takes ai_talk, which is not available/],
  ['/queues', () => queue, 501, /direct hash of queue .* takes queue_join, which is not available/],
  [
    '/teams',
    ai_id => ({ ...words, start_member_id: PERSON, members: [{ id: PERSON, name: 'Ada', ai_id }] }),
    501,
    /direct hash of ai_team .* takes ai_talk, which is not available/,
  ],
  ['/webchat_widgets', () => ({ name: 'Page', session_flow_id: '' }), 404, undefined],
];

describe('what is called by its direct hash (accounts-and-plumbing 20.2)', function () {
  this.timeout(60_000);
  let office: Office;

  before(async () => {
    office = new Office(await sharedStack());
  });
  /** The customer is told of a call that was refused, and why. */
  const refusal = (heard: EventMessage[], sentence: RegExp) =>
    eventually(
      `the refusal ${sentence}`,
      () => heard.filter(one => one.event_type === 'invite_refused'),
      told => told.some(one => sentence.test(String(one.data['sentence']))),
    );

  after(async () => {
    await office.close();
    await office.nothingLeft();
  });

  it('an agent is rung at the agent’s own addresses, for a stranger by the hash and for a phone of the house as agent:<id>', async () => {
    const { stack } = office;
    const theirs = await office.phone('1002', { incoming: { autoAnswer: true }, tone: 700 });
    const { status, body: agent } = await stack.api<DirectResource>('POST', '/agents', {
      ...{ ...words, username: `${newId()}@example.com`, password: 'long enough 1', ring_method: 'ringall' },
      ...{ permission: 16, tag_ids: [], addresses: [{ type: 'sip', target: theirs.address }] },
    });
    assert.equal(status, 200, JSON.stringify(agent));
    const stranger = await office.phone('1001', { username: 'stranger', domain: 'somewhere.example' });
    const desk = await office.phone('1001');
    const domain = stack.welcome.extensions[0]?.domain_name ?? '';
    for (const [phone, target] of [
      [stranger, `sip:${agent.direct_hash}@sip.trunkline.localhost`],
      [desk, `sip:agent%3A${agent.id}@${domain}`],
    ] as const) {
      const call = await phone.dial(target);
      await call.hears(700);
      const taken = (await office.calls(2)).find(one => one.direction === 'incoming');
      assert.deepEqual([taken?.destination.type, taken?.destination.target], ['agent', agent.id]);
      await call.hangup();
      await office.ended(taken?.id ?? '');
    }
    assert.equal((await stack.api('DELETE', `/agents/${agent.id}`)).status, 200);
    const heard = await office.listen();
    for (const [phone, target] of [
      [stranger, `sip:${agent.direct_hash}@sip.trunkline.localhost`],
      [desk, `sip:agent%3A${agent.id}@${domain}`],
    ] as const)
      assert.equal((await (await phone.dial(target)).ended()).status, 404, target);
    await refusal(heard, new RegExp(`called agent:${agent.id}: an agent of the account would be let in`));
  });

  it('an extension of another account, a line and a SIP address are nothing a phone reaches by dialling them', async () => {
    const desk = await office.phone('1001');
    const domain = office.stack.welcome.extensions[0]?.domain_name ?? '';
    for (const user of [`extension%3A${newId()}`, 'line%3A7', 'sip%3Aann', `agent%3A${newId()}`, 'agent%3A1001'])
      assert.equal((await (await desk.dial(`sip:${user}@${domain}`)).ended()).status, 404, user);
  });

  it('an AI, a team and a queue refuse before they answer and charge, and say what is missing; a web page is no party', async () => {
    const { stack } = office;
    const heard = await office.listen();
    const stranger = await office.phone('1001', { username: 'stranger', domain: 'somewhere.example' });
    const [before] = await office.calls(1);
    const made: string[] = [];
    for (const [path, body, status, sentence] of CLOSED) {
      const { body: one } = await stack.api<DirectResource>('POST', path, body(made[0]?.split('/')[2] ?? ''));
      assert.match(one.direct_hash, /^direct\./, JSON.stringify(one));
      made.push(`${path}/${one.id}`);
      assert.equal(
        (await (await stranger.dial(`sip:${one.direct_hash}@sip.trunkline.localhost`)).ended()).status,
        status,
      );
      if (sentence) await refusal(heard, sentence);
    }
    assert.deepEqual((await office.calls(1))[0]?.id, before?.id, 'no record is left');
    for (const path of made.reverse()) assert.equal((await stack.api('DELETE', path)).status, 200, path);
  });

  it('a flow is dialled by anybody, who hears it; a new one takes its place at once, and a deleted flow has none', async () => {
    const { stack } = office;
    const actions = [{ type: 'answer' }, { type: 'play', option: { stream_urls: ['tone_stream://%(60000,0,900)'] } }];
    const { body: flow } = await stack.api<DirectResource>('POST', '/flows', { name: 'Door', actions });
    const stranger = await office.phone('1001', { username: 'stranger', domain: 'somewhere.example' });
    const dial = (hash: string) => stranger.dial(`sip:${hash}@sip.trunkline.localhost`);
    const first = await dial(flow.direct_hash);
    await first.hearsOnly([900]);
    const [call] = await office.calls(1);
    assert.deepEqual([call?.flow_id, call?.direction], [flow.id, 'incoming']);
    assert.equal(call?.destination.target, `sip:${flow.direct_hash}@sip.trunkline.localhost`);
    assert.notEqual(call?.activeflow_id, EMPTY_ID);
    await first.hangup();
    const { body: again } = await stack.api<DirectResource>('POST', `/flows/${flow.id}/direct-hash-regenerate`);
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
