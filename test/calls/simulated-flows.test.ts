import { strict as assert } from 'node:assert';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import type { ActionInput } from '#contract/action';
import type { Activeflow } from '#contract/activeflow';
import type { Simulation } from '#flow/simulator/result';
import { eventually, Office } from '../support/office.ts';
import { sharedStack } from '../support/stack.ts';

/** Flows drawn at random, and how many of them run at once. A flow takes a real call about half a second. */
const FLOWS = 36;
const AT_ONCE = 6;

const names = ['a', 'b', 'c', 'd', 'e'];
const idOf = (name: string): string => `bbbbbbbb-0000-4000-8000-00000000000${name}`;
const target = fc.constantFrom(...names).map(idOf);
const anyTarget = fc.oneof({ weight: 9, arbitrary: target }, { weight: 1, arbitrary: fc.constant(idOf('f')) });

/** What runs in the blink of an eye on a real call. */
const TYPES = [
  'answer',
  'branch',
  'condition_call_digits',
  'condition_call_status',
  'condition_variable',
  'digits_receive',
  'digits_send',
  'echo',
  'fetch',
  'fetch_flow',
  'goto',
  'hangup',
  'message_send',
  'play',
  'sleep',
  'stop',
  'variable_set',
  'variable_set',
  'variable_set',
  'webhook_send',
];

const flows = (uri: string): fc.Arbitrary<ActionInput[]> => {
  const option = fc.record({
    target_id: anyTarget,
    false_target_id: anyTarget,
    default_target_id: anyTarget,
    target_ids: fc.dictionary(fc.constantFrom('', '1', '11'), target),
    loop_count: fc.integer({ min: 0, max: 3 }),
    duration: fc.integer({ min: 1, max: 30 }),
    key: fc.constantFrom('k', 'm', 'svc.call.digits'),
    value: fc.constantFrom('', '${k}1', '1'),
    variable: fc.constantFrom('${k}', 'k', 'm'),
    condition: fc.constantFrom('==', '!=', '>='),
    value_type: fc.constantFrom('string', 'length'),
    status: fc.constantFrom('progressing', 'ringing'),
    stream_urls: fc.constantFrom([], ['tone_stream://%(20,0,700)']),
    digits: fc.constantFrom('', '1'),
    uri: fc.constantFrom(uri, ''),
    event_url: fc.constantFrom(uri, ''),
    sync: fc.boolean(),
  });
  const id = fc.constantFrom(...names).map(idOf);
  const next_id = fc.oneof({ weight: 6, arbitrary: fc.constant('') }, { weight: 1, arbitrary: target });
  return fc.array(fc.record({ id, next_id, type: fc.constantFrom(...TYPES), option }), { minLength: 1, maxLength: 8 });
};

/** Ids that are made at run time differ from run to run. */
const short = ({ type, id }: { type: string; id: string }): string =>
  `${type} ${names.map(idOf).includes(id) ? id.slice(-1) : 'fetched'}`;

describe('a simulated flow and the same flow on a call', function () {
  this.timeout(120_000);
  let office: Office;
  let server: Server;
  let uri: string;

  before(async () => {
    office = new Office(await sharedStack());
    server = createServer((_request, response) => response.end('[{"type":"answer"}]')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  after(async () => {
    await office.close();
    await office.nothingLeft();
    server.closeAllConnections();
    server.close();
  });

  const simulated = async (actions: ActionInput[]): Promise<string[]> => {
    const http = Array.from({ length: 100 }, () => ({ body: '[{"type":"answer"}]', after_ms: 5 }));
    const script = { call: { direction: 'outgoing' }, http };
    const { status, body } = await office.stack.api<Simulation>('POST', '/activeflows/simulate', { actions, script });
    assert.equal(status, 200, JSON.stringify(body));
    return body.trace.map(step => short(step.action));
  };

  const onCall = async (actions: ActionInput[]): Promise<string[]> => {
    const { id, activeflow_id } = await office.ring('1001', actions);
    await office.ended(id, 60_000);
    const { executed_actions, current_action } = await eventually(
      `the end of the flow of call ${id}`,
      async () => (await office.stack.api<Activeflow>('GET', `/activeflows/${activeflow_id}`)).body,
      flow => flow.status === 'ended',
    );
    return [...executed_actions, current_action].filter(({ type }) => type !== '').map(short);
  };

  const agree = async (actions: ActionInput[]): Promise<void> => {
    const [real, pretended] = [await onCall(actions), await simulated(actions)];
    assert.deepEqual(pretended, real, JSON.stringify(actions));
  };

  it(`take the same actions in the same order, ${FLOWS} times at random`, async () => {
    await office.registered('1001', { incoming: { autoAnswer: true } });
    const drawn = fc.sample(flows(uri), FLOWS);
    const worker = async (): Promise<void> => {
      for (let flow = drawn.shift(); flow; flow = drawn.shift()) await agree(flow);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  });
});
