import { strict as assert } from 'node:assert';
import { ACTION_TYPES, type ActionInput } from '#contract/action';
import type { FlowTemplate } from '#contract/flow';
import { EMPTY_ID } from '#contract/ids';
import { simulationSchema, type Simulation } from '#flow/simulator/result';
import { scriptSchema } from '#flow/simulator/script';
import { simulate } from '#flow/simulator/simulate';
import { validateActions } from '#flow/validate';
import { action, CUSTOMER, id } from './world.ts';

interface Setting {
  script?: Record<string, unknown>;
  variables?: Record<string, string>;
  reference?: 'call' | 'api';
  /** Other flows by id; `complete` names the one that follows. */
  flows?: Record<string, ActionInput[]>;
  complete?: string;
}

const NOW = new Date('2026-11-21T10:30:00Z');

const templateOf = (flowId: string, actions: ActionInput[], complete = EMPTY_ID): FlowTemplate => ({
  id: flowId,
  customer_id: CUSTOMER,
  actions: validateActions(actions),
  on_complete_flow_id: complete,
});

const run = async (actions: ActionInput[], given: Setting = {}): Promise<Simulation> => {
  const result = await simulate({
    template: templateOf(id('flow'), actions, given.complete),
    reference_type: given.reference ?? 'call',
    variables: given.variables ?? {},
    script: scriptSchema.parse(given.script ?? {}),
    now: NOW,
    flow: async flowId => {
      const found = given.flows?.[flowId];
      return found && templateOf(flowId, found, given.complete);
    },
  });
  simulationSchema.parse(result);
  return result;
};

/** A trace in short: `at type outcome`. */
const story = ({ trace }: Simulation): string[] =>
  trace.map(({ at_ms, action: { type }, outcome }) => `${at_ms} ${type} ${outcome}`);
const ending = ({ ended }: Simulation): string => `${ended.at_ms} ${ended.reason}`;
const eventsAbout = ({ events }: Simulation, about: string): string[] =>
  events.filter(event => event.about === about).map(({ at_ms, type }) => `${at_ms} ${type}`);

const bob = { type: 'extension', target: '1001' };
const carol = { type: 'extension', target: '1002' };
const talk = (name: string, text = 'x'.repeat(20)) => action(name, 'talk', { text });
const hook = { uri: 'https://example.test/', sync: true };

const menu = [
  action('a', 'answer'),
  action('menu', 'talk', { text: 'x'.repeat(20), digits_handle: 'next' }),
  action('keys', 'digits_receive', { duration: 3000, length: 1 }),
  action('b', 'branch', { target_ids: { 1: id('one') }, default_target_id: id('menu') }),
  action('one', 'talk', { text: 'x'.repeat(10) }),
  action('end', 'hangup'),
];

const traces: [title: string, actions: ActionInput[], given: Setting, story: string[], end: string][] = [
  ['an empty flow ends at once', [], {}, [], '0 finished'],
  [
    'speech takes as long as its text',
    [talk('t'), action('b', 'beep'), action('p', 'play', { stream_urls: ['http://a', 'http://b'] })],
    {},
    ['0 talk next', '1300 beep next', '1550 play next'],
    '11550 finished',
  ],
  [
    'the script may change how long everything takes',
    [talk('t'), action('b', 'beep'), action('p', 'play', { stream_urls: ['http://a'] })],
    { script: { speech_ms_per_character: 10, beep_ms: 1000, play_ms: 3 } },
    ['0 talk next', '300 beep next', '1300 play next'],
    '1303 finished',
  ],
  [
    'tags of SSML are not spoken',
    [talk('t', `<speak>${'x'.repeat(10)}<break time="1s"/></speak>`)],
    {},
    ['0 talk next'],
    '650 finished',
  ],
  [
    'a key during the menu is followed',
    menu,
    { script: { digits: [{ at_ms: 500, digits: '1' }] } },
    [
      '0 answer next',
      '0 talk next',
      '500 digits_receive next',
      '500 branch jump',
      '500 talk next',
      '1150 hangup finish',
    ],
    '1150 hangup',
  ],
  [
    'keys before the answer are not heard',
    [action('k', 'digits_receive', { duration: 900 }), action('b', 'branch', { target_ids: { 1: id('k') } })],
    { script: { digits: [{ at_ms: 100, digits: '1' }] } },
    ['0 digits_receive next', '900 branch failed'],
    '900 failed',
  ],
  [
    'keys come one after the other',
    [action('a', 'answer'), action('k', 'digits_receive', { duration: 9000, key: '#' })],
    { script: { digits: [{ at_ms: 1000, digits: '12#' }], digit_gap_ms: 700 } },
    ['0 answer next', '0 digits_receive next'],
    '2400 finished',
  ],
  [
    'nobody who presses anything hears the menu until the action limit',
    menu.slice(0, 4),
    {},
    [
      '0 answer next',
      ...Array.from(
        { length: 100 },
        (_, n) =>
          `${Math.floor(n / 3) * 4300 + (n % 3 > 0 ? 1300 : 0) + (n % 3 > 1 ? 3000 : 0)} ${['talk next', 'digits_receive next', 'branch jump'][n % 3] ?? ''}`,
      ),
    ],
    '143200 action_limit',
  ],
  [
    'a party who hangs up ends the flow within an action',
    [talk('t'), talk('u')],
    { script: { hangup_at_ms: 2000 } },
    ['0 talk next', '1300 talk ended'],
    '2000 party_hangup',
  ],
  [
    'a party who hangs up after the end is not heard of',
    [talk('t')],
    { script: { hangup_at_ms: 2000 } },
    ['0 talk next'],
    '1300 finished',
  ],
  ['stop ends flow and call', [action('s', 'stop'), talk('t')], {}, ['0 stop finish'], '0 stopped'],
  [
    'media before the answer fails and the flow goes on',
    [
      action('p', 'play', { stream_urls: ['http://a'] }),
      action('e', 'echo'),
      action('d', 'digits_send', { digits: '1' }),
    ],
    {},
    ['0 play failed', '0 echo failed', '0 digits_send failed'],
    '0 finished',
  ],
  [
    'an outgoing call has been answered',
    [action('p', 'play', { stream_urls: ['http://a'] }), action('e', 'echo', { duration: 700 })],
    { script: { call: { direction: 'outgoing' } } },
    ['0 play next', '5000 echo next'],
    '5700 finished',
  ],
  [
    'without a call its actions are skipped',
    [talk('t'), action('v', 'variable_set', { key: 'a', value: 'b' }), action('s', 'stop')],
    { reference: 'api' },
    ['0 talk skipped', '0 variable_set next', '0 stop finish'],
    '0 stopped',
  ],
  [
    'a connect lasts as long as ringing and talking',
    [action('c', 'connect', { destinations: [bob] }), action('b', 'beep')],
    { script: { answer: { 1001: { after_ms: 4000, talk_ms: 6000 } } } },
    ['0 connect next', '10000 beep next'],
    '10250 finished',
  ],
  [
    'a connect that nobody answers goes on when the last one gave up',
    [action('c', 'connect', { destinations: [bob, carol] }), talk('t')],
    { script: { answer: { 1001: { result: 'busy' }, '*': { result: 'noanswer', after_ms: 20_000 } } } },
    ['0 connect next', '20000 talk next'],
    '21300 finished',
  ],
  [
    'a connect to whom nobody can be dialled stops the flow',
    [action('c', 'connect', { destinations: [bob] }), talk('t')],
    { script: { answer: { '*': { result: 'refused' } } } },
    ['0 connect failed'],
    '0 failed',
  ],
  [
    'a call goes on at once',
    [action('c', 'call', { destinations: [bob], actions: [{ type: 'answer' }] }), talk('t')],
    {},
    ['0 call next', '0 talk next'],
    '1300 finished',
  ],
  [
    'a call with a flow that does not exist stops the flow',
    [action('c', 'call', { destinations: [bob], flow_id: id('absent') }), talk('t')],
    {},
    ['0 call failed'],
    '0 failed',
  ],
  [
    'a webhook is tried again while its server fails',
    [action('w', 'webhook_send', hook)],
    { script: { http: [{ status: 503, after_ms: 50 }, { fails: true }, { status: 404 }] } },
    ['0 webhook_send next'],
    '2250 finished',
  ],
  [
    'a server that takes too long is given up',
    [action('w', 'fetch', { event_url: 'https://example.test/' })],
    { script: { http: [{ after_ms: 60_000, body: '[]' }] } },
    ['0 fetch failed'],
    '10000 failed',
  ],
  [
    'fetched actions run, then the flow goes on',
    [action('f', 'fetch', { event_url: 'https://example.test/' }), talk('t')],
    { script: { http: [{ body: '[{"type":"answer"},{"type":"beep"}]' }] } },
    ['0 fetch fork', '100 answer next', '100 beep next', '350 talk next'],
    '1650 finished',
  ],
  [
    'another flow runs, then the flow goes on',
    [action('f', 'fetch_flow', { flow_id: id('other') }), action('b', 'beep')],
    { flows: { [id('other')]: [talk('t')] } },
    ['0 fetch_flow fork', '0 talk next', '1300 beep next'],
    '1550 finished',
  ],
  [
    'a flow that does not exist stops the flow',
    [action('f', 'fetch_flow', { flow_id: id('other') }), talk('t')],
    {},
    ['0 fetch_flow failed'],
    '0 failed',
  ],
  ['a block that nothing continues ends the simulation', [action('b', 'block')], {}, ['0 block block'], '0 blocked'],
  [
    'a block is continued when the script says so',
    [action('b', 'block'), talk('t')],
    { script: { continue_after_ms: 500 } },
    ['0 block block', '500 talk next'],
    '1800 finished',
  ],
  [
    'a block ends when the party hangs up',
    [action('b', 'block'), talk('t')],
    { script: { continue_after_ms: 900, hangup_at_ms: 500 } },
    ['0 block block'],
    '500 party_hangup',
  ],
  [
    'time stands at the end of the simulation',
    [action('a', 'answer'), action('s', 'sleep', { duration: 50_000 })],
    { script: { max_ms: 20_000 } },
    ['0 answer next', '0 sleep ended'],
    '20000 time_limit',
  ],
  [
    'goto jumps as often as it says',
    [talk('t'), action('g', 'goto', { target_id: id('t'), loop_count: 1 })],
    {},
    ['0 talk next', '1300 goto jump', '1300 talk next', '2600 goto next'],
    '2600 finished',
  ],
  [
    'a target that does not exist stops the flow',
    [action('g', 'goto', { target_id: id('nowhere'), loop_count: 1 })],
    {},
    ['0 goto failed'],
    '0 failed',
  ],
];

describe('a simulated flow', () => {
  for (const [title, actions, given, expected, end] of traces)
    it(title, async () => {
      const result = await run(actions, given);
      assert.deepEqual([story(result), ending(result)], [expected, end]);
    });

  it('knows every action type, and fails those this version cannot run', async () => {
    const cases = ACTION_TYPES.map(type => run([action('a', 'answer'), action('x', type)]));
    for (const { trace } of await Promise.all(cases)) {
      const [, step] = trace;
      assert.ok(step);
      assert.notEqual(step.outcome, 'skipped', step.action.type);
      assert.ok(step.outcome !== 'failed' || step.message !== '', step.action.type);
    }
  });

  it('compares the time of the script', async () => {
    const office = [
      action('d', 'condition_datetime', { condition: '>=', hour: 9, minute: -1, false_target_id: id('no') }),
      action('yes', 'stop'),
      action('no', 'variable_set', { key: 'closed', value: 'yes' }),
    ];
    const closed = async (now: string) => (await run(office, { script: { now } })).variables['closed'];
    assert.equal(await closed('2026-11-21T08:59:00Z'), 'yes');
    assert.equal(await closed('2026-11-21T10:00:00+01:00'), undefined);
    assert.equal((await run(office)).variables['closed'], undefined);
  });

  it('reaches office hours while it waits', async () => {
    const wait = [
      action('a', 'answer'),
      action('s', 'sleep', { duration: 120_000 }),
      action('d', 'condition_datetime', { condition: '==', hour: 9, minute: 1, false_target_id: id('no') }),
      action('yes', 'variable_set', { key: 'open', value: 'yes' }),
      action('no', 'stop'),
    ];
    assert.equal((await run(wait, { script: { now: '2026-11-21T08:59:30Z' } })).variables['open'], 'yes');
  });

  it('tells which variables each action changed, and all of them at the end', async () => {
    const result = await run(
      [action('v', 'variable_set', { key: 'name', value: '${who}!' }), action('k', 'variable_set', { key: 'name' })],
      { variables: { who: 'Ann', 'svc.call.id': 'forged' } },
    );
    assert.deepEqual(
      result.trace.map(({ variables }) => variables),
      [{ name: 'Ann!' }, { name: '' }],
    );
    assert.deepEqual(result.trace[0]?.action.option, { key: 'name', value: 'Ann!' });
    assert.deepEqual([result.variables['who'], result.variables['name']], ['Ann', '']);
    assert.equal(result.variables['svc.call.direction'], 'incoming');
    assert.notEqual(result.variables['svc.call.id'], 'forged');
  });

  it('says why an action failed', async () => {
    const { trace, ended } = await run([action('b', 'branch')]);
    assert.equal(trace[0]?.message, 'no target matches and there is no default');
    assert.equal(ended.message, 'An action failed: no target matches and there is no default.');
  });

  it('tells the events of a real call in their order', async () => {
    const { events } = await run([talk('t'), action('h', 'hangup')]);
    assert.deepEqual(
      events.map(({ at_ms, type }) => `${at_ms} ${type}`),
      [
        '0 call_created',
        '0 activeflow_created',
        '0 activeflow_updated',
        '0 call_updated',
        '0 call_progressing',
        '1300 activeflow_updated',
        '1300 call_updated',
        '1300 call_terminating',
        '1300 call_hangup',
        '1300 activeflow_updated',
        '1300 activeflow_updated',
      ],
    );
  });

  it('hangs up after a connect that relays the reason, unless a group was rung', async () => {
    const carrier = { type: 'tel', target: '+1555' };
    const after = async (destination: object): Promise<string> =>
      ending(await run([action('c', 'connect', { destinations: [destination], relay_reason: true }), talk('t')]));
    assert.equal(await after(carrier), '35000 hangup');
    assert.match(await after(bob), /finished$/);
  });

  it('cannot tell who answered a call that is muted', async () => {
    const result = await run([action('a', 'answer'), action('m', 'mute'), action('d', 'amd')], {
      script: { amd: 'human' },
    });
    assert.deepEqual([result.variables['svc.call.amd_result'], result.ended.at_ms], ['notsure', 6000]);
  });

  it('follows each destination of a connect', async () => {
    const result = await run(
      [action('c', 'connect', { destinations: [bob, carol, { type: 'tel', target: '+1 555' }] })],
      {
        script: { answer: { 1001: { result: 'busy' }, '+1555': { after_ms: 9000 } } },
      },
    );
    assert.deepEqual(eventsAbout(result, '1001'), ['0 call_created', '1000 call_hangup']);
    assert.deepEqual(eventsAbout(result, '1002'), ['0 call_created', '5000 call_progressing', '35000 call_hangup']);
    assert.deepEqual(eventsAbout(result, '+1 555'), ['0 call_created', '5000 call_hangup']);
    assert.equal(
      eventsAbout(result, 'call').find(event => event.endsWith('progressing')),
      '5000 call_progressing',
    );
  });

  it('lets go of those that ring when the party hangs up', async () => {
    const result = await run([action('c', 'connect', { destinations: [bob] })], { script: { hangup_at_ms: 2000 } });
    assert.deepEqual(eventsAbout(result, '1001'), ['0 call_created', '2000 call_hangup']);
    assert.equal(ending(result), '2000 party_hangup');
  });

  it('goes on with its on-complete flow, where the call is gone', async () => {
    const after = [action('x', 'beep'), action('w', 'variable_set', { key: 'saw', value: '${left}' })];
    const result = await run([action('v', 'variable_set', { key: 'left', value: 'it' }), talk('t')], {
      complete: id('after'),
      flows: { [id('after')]: after },
    });
    const later = result.trace.filter(step => step.activeflow === 1);
    assert.deepEqual(
      later.map(({ action: { type }, outcome }) => `${type} ${outcome}`),
      ['beep skipped', 'variable_set next'],
    );
    assert.equal(result.variables['saw'], 'it');
    assert.equal(ending(result), '1300 finished');
  });

  it('stops a chain of on-complete flows where the platform does', async () => {
    const result = await run([], { complete: id('flow'), flows: { [id('flow')]: [] } });
    assert.equal(result.on_complete.length, 4);
    assert.ok(result.on_complete.every(({ ended }) => ended.reason === 'finished'));
  });

  it('has nothing follow when it was cut short', async () => {
    const result = await run([action('b', 'block')], { complete: id('flow'), flows: { [id('flow')]: [] } });
    assert.deepEqual([result.on_complete, result.ended.reason], [[], 'blocked']);
  });

  it('ends when its trace grows too large', async () => {
    const result = await run([
      action('v', 'variable_set', { key: 'k', value: 'x'.repeat(32_000) }),
      action('w', 'variable_set', { key: 'k', value: '${k}' }, 'v'),
    ]);
    assert.equal(result.ended.reason, 'size_limit');
    assert.ok(JSON.stringify(result).length < 2_000_000);
  });

  it('waits for other flows while virtual time stands still, and fails with them', async () => {
    const request = {
      template: templateOf(id('flow'), [action('f', 'fetch_flow', { flow_id: id('other') }), talk('t')]),
      reference_type: 'call' as const,
      variables: {},
      script: scriptSchema.parse({ hangup_at_ms: 1 }),
      now: NOW,
    };
    const late = new Promise<FlowTemplate>(resolve =>
      setTimeout(() => resolve(templateOf(id('other'), [talk('o')])), 20),
    );
    const found = await simulate({ ...request, flow: () => late });
    assert.deepEqual(story(found), ['0 fetch_flow fork', '0 talk ended']);
    await assert.rejects(simulate({ ...request, flow: () => Promise.reject(new Error('the store is away')) }), /away/);
  });

  it('carries what is wrong with the flow', async () => {
    const { warnings } = await run([action('s', 'stop'), talk('t')]);
    assert.deepEqual(
      warnings.map(({ index, code }) => [index, code]),
      [[1, 'after_end']],
    );
  });
});

describe('a script', () => {
  const refused: [string, Record<string, unknown>, string][] = [
    ['keys that no phone has', { digits: [{ at_ms: 0, digits: '1x' }] }, 'digits.0.digits'],
    ['a negative moment', { hangup_at_ms: -1 }, 'hangup_at_ms'],
    ['an unknown answer', { answer: { '1001': { result: 'asleep' } } }, 'answer.1001.result'],
    ['a status that is none', { http: [{ status: 99 }] }, 'http.0.status'],
    ['a local time', { now: '2026-11-21 10:00' }, 'now'],
    ['more than a day', { max_ms: 86_400_001 }, 'max_ms'],
    ['too many keys', { digits: Array(101).fill({ at_ms: 0, digits: '1' }) }, 'digits'],
  ];
  for (const [title, script, path] of refused)
    it(`with ${title} is refused by name`, () => {
      assert.equal(scriptSchema.safeParse(script).error?.issues[0]?.path.join('.'), path);
    });
});
