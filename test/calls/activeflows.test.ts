import { strict as assert } from 'node:assert';
import { FINISH_ACTION_ID, START_ACTION_ID } from '#contract/action';
import type { Activeflow } from '#contract/activeflow';
import { EMPTY_ID, newId } from '#contract/ids';
import { eventually } from '../support/eventually.ts';
import { Office } from '../support/office.ts';
import { sharedStack } from '../support/stack.ts';

type Body = Activeflow & { error?: { reason: string } };

const BLOCK_ID = 'aaaaaaaa-0000-4000-8000-000000000001';
const block = { type: 'block', id: BLOCK_ID };
const set = { type: 'variable_set', option: { key: 'k', value: 'v' } };
const nap = { type: 'sleep', option: { duration: 60_000 } };

describe('activeflows (voice-and-flows 4.9 to 4.11, 7)', function () {
  this.timeout(30_000);
  let office: Office;
  before(async () => {
    office = new Office(await sharedStack());
  });
  after(() => office.close());

  const ask = (method: string, path: string, body?: object) => office.stack.api<Body>(method, path, body);
  const run = async (given: object): Promise<Activeflow> => {
    const { status, body } = await ask('POST', '/activeflows', given);
    assert.equal(status, 201, JSON.stringify(body));
    return body;
  };
  const until = (id: string, what: string, check: (flow: Activeflow) => boolean) =>
    eventually(what, async () => (await ask('GET', `/activeflows/${id}`)).body, check);
  const blocked = (id: string) => until(id, 'the block', flow => flow.current_action.id === BLOCK_ID);
  const ended = (id: string) => until(id, 'the end', flow => flow.status === 'ended');
  const typesOf = ({ executed_actions }: Activeflow) => executed_actions.map(({ type }) => type);
  const newFlow = async (actions: unknown[], on_complete_flow_id?: string): Promise<string> =>
    (await ask('POST', '/flows', { name: 'f', actions, ...(on_complete_flow_id ? { on_complete_flow_id } : {}) })).body
      .id;

  it('are answered as they stand before their first action, and run by themselves', async () => {
    const made = await run({ actions: [nap, set] });
    assert.deepEqual([made.status, made.current_action.id, made.executed_actions], ['running', START_ACTION_ID, []]);
    assert.deepEqual([made.reference_type, made.reference_id], ['api', EMPTY_ID]);
    const over = await ended(made.id);
    assert.deepEqual(typesOf(over), ['', 'sleep', 'variable_set']);
    assert.equal(over.current_action.id, FINISH_ACTION_ID);
  });

  it('wait at a block until they are continued by its id, and by no other', async () => {
    const { id } = await run({ actions: [set, block, set] });
    await blocked(id);
    const wrong = await ask('POST', `/activeflows/${id}/continue`, { current_action_id: newId() });
    assert.deepEqual([wrong.status, wrong.body.error?.reason], [409, 'FLOW_STATE_INVALID']);
    const right = await ask('POST', `/activeflows/${id}/continue`, { current_action_id: BLOCK_ID });
    assert.deepEqual([right.status, right.body.current_action.id], [200, BLOCK_ID]);
    assert.deepEqual(typesOf(await ended(id)), ['', 'variable_set', 'block', 'variable_set']);
  });

  it('of a call wait at a block too: the call stays up until it is continued', async () => {
    const phone = await office.registered('1001', { incoming: { autoAnswer: true } });
    const { activeflow_id } = await office.ring('1001', [block]);
    const call = await phone.waitForCall();
    await blocked(activeflow_id);
    assert.equal(call.state, 'answered');
    await ask('POST', `/activeflows/${activeflow_id}/continue`, { current_action_id: BLOCK_ID });
    await call.ended();
    await office.nothingLeft();
  });

  it('of two that continue it in the same moment one is refused', async () => {
    const { id } = await run({ actions: [block, { ...block, id: newId() }] });
    await blocked(id);
    const answers = await Promise.all(
      [1, 2].map(() => ask('POST', `/activeflows/${id}/continue`, { current_action_id: BLOCK_ID })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
    await ask('POST', `/activeflows/${id}/stop`);
  });

  it('are stopped once, however often one asks', async () => {
    const { id } = await run({ actions: [block] });
    await blocked(id);
    for (let time = 0; time < 3; time += 1) {
      const { status, body } = await ask('POST', `/activeflows/${id}/stop`);
      assert.deepEqual([status, body.status, body.current_action.id], [200, 'ended', BLOCK_ID]);
    }
  });

  it('are stopped when they are deleted, and gone then', async () => {
    const { id } = await run({ actions: [block] });
    await blocked(id);
    const { status, body } = await ask('DELETE', `/activeflows/${id}`);
    assert.deepEqual([status, body.status], [200, 'ended']);
    assert.equal((await ask('GET', `/activeflows/${id}`)).body.error?.reason, 'ACTIVEFLOW_NOT_FOUND');
  });

  const taken = newId();
  const refused: [string, string, string, object | undefined, number, string][] = [
    ['no flow and no actions', 'POST', '/activeflows', {}, 400, 'INVALID_ARGUMENT'],
    ['a flow nobody has', 'POST', '/activeflows', { flow_id: newId() }, 404, 'FLOW_NOT_FOUND'],
    ['an id that is taken', 'POST', '/activeflows', { id: taken, actions: [set] }, 409, 'ALREADY_EXISTS'],
    ['an action of no type', 'POST', '/activeflows', { actions: [{ type: 'x' }] }, 400, 'INVALID_ACTION_TYPE'],
    [
      'a webhook that is no address',
      'POST',
      '/activeflows',
      { actions: [set], webhook_uri: 'ftp://a' },
      400,
      'INVALID_WEBHOOK_URI',
    ],
    [
      'an unknown webhook method',
      'POST',
      '/activeflows',
      { actions: [set], webhook_method: 'GRAB' },
      400,
      'INVALID_WEBHOOK_METHOD',
    ],
    ['a variable that is no text', 'POST', '/activeflows', { actions: [set], variables: { k: 1 } }, 400, ''],
    ['to read what is not there', 'GET', `/activeflows/${newId()}`, undefined, 404, 'ACTIVEFLOW_NOT_FOUND'],
    ['to stop what is not there', 'POST', `/activeflows/${newId()}/stop`, undefined, 404, 'ACTIVEFLOW_NOT_FOUND'],
    [
      'to continue what is not there',
      'POST',
      `/activeflows/${newId()}/continue`,
      { current_action_id: BLOCK_ID },
      404,
      'ACTIVEFLOW_NOT_FOUND',
    ],
    [
      'to continue what has ended',
      'POST',
      `/activeflows/${taken}/continue`,
      { current_action_id: BLOCK_ID },
      409,
      'FLOW_STATE_INVALID',
    ],
    ['to continue without saying where', 'POST', `/activeflows/${taken}/continue`, {}, 400, ''],
    ['an id that is no UUID', 'GET', '/activeflows/here', undefined, 400, 'INVALID_ID'],
  ];
  it('refuse what cannot be done, by its reason', async () => {
    await run({ id: taken, actions: [set] });
    await ended(taken);
    for (const [title, method, path, body, status, reason] of refused) {
      const answer = await ask(method, path, body);
      assert.equal(answer.status, status, title);
      if (reason) assert.equal(answer.body.error?.reason, reason, title);
    }
  });

  it('run the flow when both flow and actions are given', async () => {
    const flow_id = await newFlow([set]);
    const made = await run({ flow_id, actions: [block] });
    assert.equal(made.flow_id, flow_id);
    assert.deepEqual(typesOf(await ended(made.id)), ['', 'variable_set']);
  });

  const followersOf = async (parent: string): Promise<Activeflow[]> => {
    const { body } = await office.stack.api<{ result: Activeflow[] }>('GET', '/activeflows?page_size=20');
    return body.result.filter(one => one.reference_activeflow_id === parent);
  };
  const followerOf = async (parent: string): Promise<Activeflow> => {
    const [follower] = await eventually(
      `the flow after ${parent}`,
      () => followersOf(parent),
      found => found.length === 1,
    );
    assert(follower);
    return follower;
  };

  it('are followed by their on-complete flow, which may follow itself four times and no fifth', async () => {
    const actions = [{ type: 'condition_variable', option: { condition: '==', value_type: 'string', value_string: 'v', variable: 'k', false_target_id: BLOCK_ID } }, { type: 'stop' }, block]; // prettier-ignore
    const flow_id = await newFlow(actions);
    await ask('PUT', `/flows/${flow_id}`, { name: 'f', actions, on_complete_flow_id: flow_id });
    let last = await run({ flow_id, variables: { k: 'v' } });
    for (let hop = 0; hop < 4; hop += 1) {
      assert.equal((await ended(last.id)).current_action.id, FINISH_ACTION_ID, 'the variables went along');
      last = await followerOf(last.id);
      assert.equal(last.flow_id, flow_id);
    }
    await ended(last.id);
    assert.deepEqual(await followersOf(last.id), []);
  });

  it('of a call are followed for the same call, where what needs the call is skipped', async () => {
    const phone = await office.registered('1002', { incoming: { autoAnswer: true } });
    const after = await newFlow([{ type: 'talk', option: { text: 'nobody hears this' } }, set]);
    const first = await newFlow([nap], after);
    const { body } = await office.stack.api<{ calls: { id: string; activeflow_id: string }[] }>('POST', '/calls', {
      source: { type: 'tel', target: office.stack.welcome.number },
      destinations: [{ type: 'extension', target: '1002', target_name: '1002' }],
      flow_id: first,
    });
    const [call] = body.calls;
    assert(call);
    const heard = await phone.waitForCall();
    await heard.answered();
    await heard.hangup();
    const follower = await followerOf(call.activeflow_id);
    const over = await ended(follower.id);
    assert.deepEqual(typesOf(over), ['', 'talk', 'variable_set']);
    assert.deepEqual([over.reference_type, over.reference_id], ['call', call.id]);
    assert.equal(over.executed_actions[1]?.tm_execute, null);
    await office.nothingLeft();
  });
});
