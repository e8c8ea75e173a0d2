import { strict as assert } from 'node:assert';
import { FINISH_ACTION_ID, START_ACTION_ID } from '#contract/action';
import { PlatformError } from '#contract/errors';
import { EMPTY_ID } from '#contract/ids';
import { defineAction, next, type ActionDefinition } from '#flow/action';
import { nothing } from '#flow/actions/options';
import { registry } from '#flow/actions/index';
import { pause } from '#flow/pause';
import { MAIN_STACK_ID } from '#flow/stack';
import { action, id, World } from './world.ts';

const definition = (given: Partial<ActionDefinition> & Pick<ActionDefinition, 'type' | 'run'>): ActionDefinition =>
  defineAction({ summary: '', needs: 'any', onError: 'stop', option: nothing, ...given });

const having = (...more: ActionDefinition[]): ReadonlyMap<string, ActionDefinition> =>
  new Map([...registry, ...more.map((one): [string, ActionDefinition] => [one.type, one])]);

const talk = (name: string, text = name) => action(name, 'talk', { text });

describe('a flow moves its cursor', () => {
  it('starts before the first action, passes each one and ends behind the last', async () => {
    const world = await new World({ actions: [talk('a'), action('b', 'beep')] }).run();
    assert.deepEqual(world.path, ['start', 'talk', 'beep', 'finish']);
    assert.equal(world.runner.activeflow.executed_actions[0]?.id, START_ACTION_ID);
    assert.equal(world.runner.activeflow.current_action.id, FINISH_ACTION_ID);
    assert.equal(world.runner.activeflow.status, 'ended');
  });

  it('is over at once when it has no actions', async () => {
    assert.deepEqual((await new World().run()).path, ['start', 'finish']);
  });

  it('writes each move before the action runs, and the end last', async () => {
    const order: string[] = [];
    const world = new World({
      actions: [action('a', 'sleep')],
      registry: having(
        definition({
          type: 'sleep',
          run: async () => {
            order.push(`run after ${world.commits.length} commits`);
            return next;
          },
        }),
      ),
    });
    await world.run();
    assert.deepEqual(order, ['run after 1 commits']);
    assert.deepEqual(
      world.commits.map(({ activeflow }) => [activeflow.current_action.type, activeflow.status]),
      [
        ['sleep', 'running'],
        ['', 'running'],
        ['', 'ended'],
      ],
    );
  });

  it('shows the option as executed and when, and leaves the stored text for the next round', async () => {
    const actions = [
      action('set', 'variable_set', { key: 'n', value: '${n}x' }),
      talk('say', 'n is ${n}'),
      action('again', 'goto', { target_id: id('set'), loop_count: 1 }),
    ];
    const world = await new World({ actions }).run();
    assert.deepEqual(
      world.heard.filter(what => what.startsWith('talk')),
      ['talk provider_b n is x', 'talk provider_b n is xx'],
    );
    const said = world.runner.activeflow.executed_actions.find(({ type }) => type === 'talk');
    assert.equal(said?.option.text, 'n is x');
    assert.match(said?.tm_execute ?? '', /^2026-11-21 10:30:00\.000000$/);
  });

  it('follows next_id instead of the order', async () => {
    const world = await new World({ actions: [action('a', 'beep', {}, 'c'), talk('b'), action('c', 'sleep')] }).run();
    assert.deepEqual(world.path, ['start', 'beep', 'sleep', 'finish']);
  });

  it('finishes at a next_id that does not exist', async () => {
    const world = await new World({ actions: [action('a', 'beep', {}, 'nowhere'), talk('b')] }).run();
    assert.deepEqual(world.path, ['start', 'beep', 'finish']);
  });

  it('walks through actions that share an id', async () => {
    const world = await new World({ actions: [action('a', 'beep'), action('a', 'sleep'), talk('b')] }).run();
    assert.deepEqual(world.path, ['start', 'beep', 'sleep', 'talk', 'finish']);
  });

  it('is stopped after a hundred and one moves, loops included', async () => {
    const world = await new World({ actions: [action('a', 'beep', {}, 'a')] }).run();
    assert.equal(world.runner.activeflow.executed_actions.length, 101);
    assert.equal(world.runner.activeflow.status, 'ended');
    assert.match(String(world.warnings[0]?.reason), /more than 100 actions/);
  });

  it('ends without a trace of hanging when the store is away', async () => {
    const world = new World({ actions: [talk('a')] });
    world.failCommits = true;
    await world.run();
    assert.equal(world.runner.activeflow.status, 'ended');
    assert.equal(world.heard.includes('talk provider_b a'), false, 'an action that was not written does not run');
  });

  it('joins a second run to the first', async () => {
    const world = new World({ actions: [talk('a')] });
    void world.runner.run();
    await world.run();
    assert.deepEqual(world.path, ['start', 'talk', 'finish']);
  });
});

describe('an action that fails', () => {
  const rows: [string, Record<string, unknown>, string[]][] = [
    ['branch', {}, ['start', 'branch']],
    ['goto', { target_id: id('nowhere'), loop_count: 1 }, ['start', 'goto']],
    ['condition_variable', {}, ['start', 'condition_variable']],
    ['condition_datetime', { condition: '>', hour: 23 }, ['start', 'condition_datetime']],
    ['call', {}, ['start', 'call']],
    ['connect', {}, ['start', 'connect']],
    ['fetch_flow', { flow_id: id('none') }, ['start', 'fetch_flow']],
    ['message_send', {}, ['start', 'message_send']],
    ['conference_join', {}, ['start', 'conference_join']],
    ['variable_set', { key: '', value: '' }, ['start', 'variable_set', 'beep', 'finish']],
    ['webhook_send', { uri: 'ftp://x' }, ['start', 'webhook_send', 'beep', 'finish']],
    ['email_send', {}, ['start', 'email_send', 'beep', 'finish']],
    ['talk', { text: 5 }, ['start', 'talk', 'beep', 'finish']],
    ['stream_echo', { duration: 'long' }, ['start', 'stream_echo', 'beep', 'finish']],
    ['digits_receive', { length: 'four' }, ['start', 'digits_receive', 'beep', 'finish']],
  ];
  for (const [type, option, path] of rows)
    it(`${type} ${path.includes('finish') ? 'lets the flow go on' : 'stops the flow'} and is named in the log`, async () => {
      const world = await new World({ actions: [action('a', type, option), action('b', 'beep')] }).run();
      assert.deepEqual(world.path, path);
      assert.equal(world.warnings[0]?.action, type);
      assert.equal(world.warnings[0]?.activeflow_id, world.runner.activeflow.id);
    });

  it('by a leg that is gone lets the flow go on', async () => {
    const world = await new World({ actions: [talk('a'), action('b', 'beep')], broken: ['talk'] }).run();
    assert.deepEqual(world.path, ['start', 'talk', 'beep', 'finish']);
  });

  it('takes null for an option that is not set', async () => {
    const world = await new World({ actions: [action('a', 'talk', { text: 'hi', voice_id: null })] }).run();
    assert.deepEqual(world.warnings, []);
  });

  it('by too much substituted text fails by its row and shows the text as written', async () => {
    const option = { text: '${big}'.repeat(3) };
    const variables = { big: 'x'.repeat(30_000) };
    const world = await new World({ actions: [action('a', 'talk', option)], variables }).run();
    assert.deepEqual(world.path, ['start', 'talk', 'finish']);
    assert.equal(world.runner.activeflow.executed_actions[1]?.option.text, option.text);
    assert.match(String(world.warnings[0]?.reason), /too long/);
  });

  it('of a type the registry lacks stops the flow', async () => {
    const world = await new World({ actions: [talk('a')], registry: new Map() }).run();
    assert.deepEqual(world.path, ['start', 'talk']);
    assert.equal(world.runner.activeflow.status, 'ended');
  });
});

describe('one flow serves calls and others', () => {
  it('skips what needs a call silently where there is none, and still counts and shows it', async () => {
    const actions = [
      talk('a'),
      action('s', 'sleep', { duration: 9000 }),
      action('v', 'variable_set', { key: 'k', value: 'v' }),
    ];
    const world = await new World({ actions, reference: 'api' }).run();
    assert.deepEqual(world.path, ['start', 'talk', 'sleep', 'variable_set', 'finish']);
    assert.equal(world.runner.activeflow.executed_actions[1]?.tm_execute, null);
    assert.equal(world.runner.variables.get('k'), 'v');
    assert.deepEqual([world.heard, world.warnings, world.clock.elapsed], [[], [], 0]);
  });

  for (const type of ['answer', 'beep', 'connect', 'digits_receive', 'hangup', 'play', 'queue_join', 'echo', 'amd'])
    it(`${type} is skipped for an API activeflow`, async () => {
      const world = await new World({ actions: [action('a', type)], reference: 'api' }).run();
      assert.deepEqual([world.path, world.warnings], [['start', type, 'finish'], []]);
    });
});

describe('stacks of a flow', () => {
  const sub = id('sub');
  const flows = { [sub]: [action('x', 'beep'), action('y', 'variable_set', { key: 'k', value: '1' })] };

  it('runs a fetched flow and comes back behind the fork', async () => {
    const actions = [action('f', 'fetch_flow', { flow_id: sub }), action('t', 'sleep')];
    const world = await new World({ actions, flows }).run();
    assert.deepEqual(world.path, ['start', 'fetch_flow', 'beep', 'variable_set', 'sleep', 'finish']);
  });

  it('comes back by the next_id of the forking action', async () => {
    const actions = [action('f', 'fetch_flow', { flow_id: sub }, 't'), action('s', 'stop'), action('t', 'sleep')];
    const world = await new World({ actions, flows }).run();
    assert.deepEqual(world.path, ['start', 'fetch_flow', 'beep', 'variable_set', 'sleep', 'finish']);
  });

  it('goes on when the fetched flow is empty', async () => {
    const actions = [action('f', 'fetch_flow', { flow_id: sub }), action('b', 'beep')];
    const world = await new World({ actions, flows: { [sub]: [] } }).run();
    assert.deepEqual(world.path, ['start', 'fetch_flow', 'beep', 'finish']);
  });

  it('jumps outward and leaves the inner stack for good', async () => {
    const out = { [sub]: [action('g', 'goto', { target_id: id('end'), loop_count: 1 }), action('n', 'play')] };
    const actions = [action('f', 'fetch_flow', { flow_id: sub }), action('s', 'stop'), action('end', 'sleep')];
    const world = await new World({ actions, flows: out }).run();
    assert.deepEqual(world.path, ['start', 'fetch_flow', 'goto', 'sleep', 'finish']);
  });

  it('counts a loop anew each time a flow is fetched', async () => {
    const loop = { [sub]: [action('b', 'beep'), action('g', 'goto', { target_id: id('b'), loop_count: 1 })] };
    const actions = ['f1', 'f2'].map(name => action(name, 'fetch_flow', { flow_id: sub }));
    const world = await new World({ actions, flows: loop }).run();
    const round = ['fetch_flow', 'beep', 'goto', 'beep', 'goto'];
    assert.deepEqual(world.path, ['start', ...round, ...round, 'finish']);
  });

  it('of a flow that fetches itself for ever end at the limit', async () => {
    const world = await new World({
      actions: [action('f', 'fetch_flow', { flow_id: sub })],
      flows: { [sub]: [action('f', 'fetch_flow', { flow_id: sub })] },
    }).run();
    assert.equal(world.runner.activeflow.status, 'ended');
    assert.ok(world.path.length <= 102);
  });

  it('end with their service, and the cursor goes behind the fork', async () => {
    const service = definition({
      type: 'conference_join',
      needs: 'call',
      run: async () => ({
        kind: 'fork',
        stack_id: id('service'),
        actions: [{ id: id('wait'), next_id: EMPTY_ID, type: 'echo', option: {}, tm_execute: null }],
      }),
    });
    const world = new World({
      actions: [action('c', 'conference_join'), action('b', 'beep')],
      registry: having(service),
    });
    world.clock.at(1000, () => {
      assert.throws(() => world.runner.popNow(id('other')), PlatformError);
      assert.throws(() => world.runner.popNow(MAIN_STACK_ID), PlatformError);
      world.runner.popNow(id('service'));
    });
    await world.run();
    assert.deepEqual(world.path, ['start', 'conference_join', 'echo', 'beep', 'finish']);
    assert.equal(world.clock.elapsed, 1200);
    assert.throws(() => world.runner.popNow(id('service')), PlatformError);
  });
});

describe('a flow that is moved from outside', () => {
  it('leaves the running action at once and goes where it is sent', async () => {
    const world = new World({ actions: [action('p', 'play', { stream_urls: ['u'] }), talk('t'), action('b', 'beep')] });
    world.clock.at(500, () => world.runner.forwardNow(MAIN_STACK_ID, id('b')));
    await world.run();
    assert.deepEqual(world.path, ['start', 'play', 'beep', 'finish']);
    assert.equal(world.clock.elapsed, 700);
  });

  for (const [what, ending] of [
    ['asks for another place', async () => ({ kind: 'jump' as const, target_id: id('t') })],
    ['fails', () => Promise.reject(new Error('interrupted'))],
  ] as const)
    it(`is not led astray by an interrupted action that ${what}`, async () => {
      const slow = definition({
        type: 'condition_variable',
        run: async ({ ports, signal }) => {
          await pause(ports.clock, 5000, signal);
          return ending();
        },
      });
      const actions = [action('c', 'condition_variable'), talk('t'), action('b', 'beep')];
      const world = new World({ actions, registry: having(slow) });
      world.clock.at(500, () => world.runner.forwardNow(MAIN_STACK_ID, id('b')));
      await world.run();
      assert.deepEqual([world.path, world.warnings], [['start', 'condition_variable', 'beep', 'finish'], []]);
    });

  it('shows where it was sent until it is there', async () => {
    const world = new World({ actions: [action('p', 'play', { stream_urls: ['u'] }), action('b', 'beep')] });
    world.clock.at(500, () => {
      world.runner.forwardNow(MAIN_STACK_ID, id('b'));
      assert.equal(world.runner.activeflow.forward_action_id, id('b'));
    });
    await world.run();
    assert.ok(world.commits.every(({ activeflow }) => activeflow.forward_action_id === EMPTY_ID));
  });

  it('refuses a place it does not have, and goes on undisturbed', async () => {
    const world = new World({ actions: [action('p', 'play', { stream_urls: ['u'] })] });
    world.clock.at(500, () => {
      assert.throws(() => world.runner.forwardNow(MAIN_STACK_ID, id('b')), PlatformError);
      assert.throws(() => world.runner.forwardNow(id('s'), id('p')), PlatformError);
    });
    await world.run();
    assert.equal(world.clock.elapsed, 3000);
  });

  it('does not begin an action that was overtaken while its move was written', async () => {
    const world = new World({ actions: [talk('t'), action('b', 'beep')] });
    void world.runner.run();
    world.runner.forwardNow(MAIN_STACK_ID, id('b'));
    await world.run();
    assert.deepEqual(world.heard.slice(0, 1), ['beep']);
  });

  it('waits at block until it is continued by the id of the block', async () => {
    const world = await new World({ actions: [action('k', 'block'), action('b', 'beep')], reference: 'api' }).begin();
    assert.deepEqual([world.path, world.runner.activeflow.status], [['start', 'block'], 'running']);
    assert.throws(() => world.runner.continue(id('b')), { reason: 'FLOW_STATE_INVALID' });
    world.runner.continue(id('k'));
    assert.deepEqual((await world.run()).path, ['start', 'block', 'beep', 'finish']);
    assert.throws(() => world.runner.continue(id('k')), { reason: 'FLOW_STATE_INVALID' });
  });

  it('can be sent on from a block', async () => {
    const world = await new World({ actions: [action('k', 'block'), talk('t'), action('b', 'beep')] }).begin();
    world.runner.forwardNow(MAIN_STACK_ID, id('b'));
    assert.deepEqual((await world.run()).path, ['start', 'block', 'beep', 'finish']);
  });
});

describe('a flow that is stopped', () => {
  it('silences the running action, ends where it stands and releases the call', async () => {
    const world = new World({ actions: [action('p', 'play', { stream_urls: ['u'] }), talk('t')] });
    world.clock.at(700, () => void world.runner.stop());
    await world.run();
    await world.settle();
    assert.deepEqual(world.path, ['start', 'play']);
    assert.deepEqual(world.heard, ['play u', 'hangup normal']);
    assert.equal(world.clock.elapsed, 700);
  });

  it('ends once, however often it is told', async () => {
    const world = await new World({ actions: [action('k', 'block')] }).begin();
    await Promise.all([world.runner.stop(), world.runner.stop()]);
    await world.runner.stop();
    await world.runner.run();
    assert.equal(world.commits.filter(({ activeflow }) => activeflow.status === 'ended').length, 1);
    assert.equal(world.clock.waiting, 0);
  });

  it('is written in order, though the store is slow', async () => {
    const world = new World({ actions: [talk('t')] });
    let release: () => void = () => undefined;
    world.beforeCommit = () => {
      world.beforeCommit = async () => undefined;
      return new Promise(resolve => (release = resolve));
    };
    await world.begin();
    const stopped = world.runner.stop();
    await world.settle();
    release();
    await stopped;
    assert.deepEqual(
      world.commits.map(({ activeflow }) => activeflow.status),
      ['running', 'ended'],
    );
  });

  it('never starts when it is stopped before', async () => {
    const world = new World({ actions: [talk('t')] });
    await world.runner.stop();
    await world.run();
    assert.deepEqual([world.path, world.commits.length], [['start'], 1]);
  });

  it('does not wait for an action that will not let go', async () => {
    const stuck = definition({ type: 'sleep', run: () => new Promise<never>(() => undefined) });
    const world = await new World({ actions: [action('s', 'sleep')], registry: having(stuck) }).begin();
    await world.runner.stop();
    assert.equal(world.runner.activeflow.status, 'ended');
  });

  it('by the stop action shows the finish marker', async () => {
    const world = await new World({ actions: [action('s', 'stop'), talk('t')] }).run();
    assert.deepEqual(world.path, ['start', 'stop', 'finish']);
    assert.deepEqual(world.heard, ['hangup normal']);
  });

  it('hangs up a call whose flow runs off its end', async () => {
    const world = await new World({ actions: [action('a', 'answer')] }).run();
    await world.settle();
    assert.deepEqual(world.heard, ['answer', 'hangup normal']);
  });
});

describe('the on-complete flow', () => {
  const template = { on_complete_flow_id: id('after') };

  it('starts after the end is written, with a copy of the variables', async () => {
    const world = await new World({ template, variables: { name: 'Ann' } }).run();
    assert.equal(world.completed.length, 1);
    assert.equal(world.completed[0]?.ended.status, 'ended');
    assert.equal(world.completed[0]?.variables.name, 'Ann');
  });

  it('starts when the flow failed or was stopped too', async () => {
    const failed = await new World({ template: { ...template }, actions: [action('b', 'branch')] }).run();
    const stopped = await new World({ template, actions: [action('k', 'block')] }).begin();
    await stopped.runner.stop();
    assert.deepEqual([failed.completed.length, stopped.completed.length], [1, 1]);
  });

  it('does not exist for most flows', async () => {
    assert.deepEqual((await new World().run()).completed, []);
  });

  it('is refused at the fifth hop, even when a flow rewrote the count', async () => {
    const count = 'svc.activeflow.complete_count';
    const actions = [action('v', 'variable_set', { key: count, value: '0' })];
    const hop = async (before: string) => new World({ template, actions, parentVariables: { [count]: before } }).run();
    const third = await hop('2');
    assert.equal(third.completed[0]?.variables[count], '3');
    const fourth = await hop('3');
    assert.equal(fourth.completed.length, 0);
    assert.match(String(fourth.warnings.at(-1)?.reason), /on-complete/);
  });
});
