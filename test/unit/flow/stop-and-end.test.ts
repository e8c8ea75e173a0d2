import { strict as assert } from 'node:assert';
import type { ActionInput } from '#contract/action';
import { action, id, World, type WorldOptions } from './world.ts';

const play = action('p', 'play', { stream_urls: ['u'] });

interface Row {
  trigger: string;
  effect: string;
  actions: ActionInput[];
  options?: WorldOptions;
  /** What happens 500 ms after the start. */
  meanwhile?: (world: World) => void;
  path: string[];
  heard: string[];
}

/** voice-and-flows 4.10: each trigger, its effect, what was passed and what the party heard. */
const ROWS: Row[] = [
  {
    trigger: 'cursor reaches finish',
    effect: 'stop; current_action shows the finish marker',
    actions: [play],
    path: ['start', 'play', 'finish'],
    heard: ['play u', 'hangup normal'],
  },
  {
    trigger: '`stop` action',
    effect: 'pushes a finish marker; same as finish',
    actions: [action('s', 'stop'), play],
    path: ['start', 'stop', 'finish'],
    heard: ['hangup normal'],
  },
  {
    trigger: '`stop` action in a fork',
    effect: 'ends all of the flow, not the fork alone',
    actions: [action('f', 'fetch_flow', { flow_id: id('sub') }), play],
    options: { flows: { [id('sub')]: [action('s', 'stop')] } },
    path: ['start', 'fetch_flow', 'stop', 'finish'],
    heard: ['hangup normal'],
  },
  {
    trigger: 'POST /activeflows/{id}/stop',
    effect: 'stop',
    actions: [play, action('b', 'beep')],
    meanwhile: world => void world.runner.stop(),
    path: ['start', 'play'],
    heard: ['play u', 'hangup normal'],
  },
  {
    trigger: 'any engine error (4.7)',
    effect: 'stop',
    actions: [action('g', 'fetch_flow', { flow_id: id('none') }), play],
    path: ['start', 'fetch_flow'],
    heard: ['hangup normal'],
  },
  {
    trigger: 'more than 100 moves (4.3)',
    effect: 'stop',
    actions: [action('x', 'sleep', { duration: 1 }, 'x')],
    path: ['start', ...Array.from({ length: 101 }, () => 'sleep')],
    heard: ['hangup normal'],
  },
  {
    trigger: 'call hangup (reference call)',
    effect: 'stop; the hang-up of the call is a no-op when it is hanging up already',
    actions: [play, action('b', 'beep')],
    meanwhile: world => {
      world.record.status = 'hangup';
      void world.runner.stop();
    },
    path: ['start', 'play'],
    heard: ['play u'],
  },
  {
    trigger: 'an activeflow of no call ends',
    effect: 'stop; there is no call to hang up',
    actions: [action('v', 'variable_set', { key: 'k', value: 'v' })],
    options: { reference: 'api' },
    path: ['start', 'variable_set', 'finish'],
    heard: [],
  },
];

const template = { on_complete_flow_id: id('after') };

describe('how a flow stops and ends, row for row (voice-and-flows 4.10)', () => {
  for (const { trigger, effect, actions, options, meanwhile, path, heard } of ROWS)
    it(`${trigger}: ${effect}`, async () => {
      const world = new World({ actions, template, ...options });
      if (meanwhile) world.clock.at(500, () => meanwhile(world));
      await world.run();
      await world.settle();
      assert.deepEqual([world.path, world.heard], [path, heard]);
      assert.equal(world.commits.at(-1)?.activeflow.status, 'ended', 'the end is what was written last');
      assert.deepEqual(
        world.completed.map(({ ended }) => ended.status),
        ['ended'],
        'the on-complete flow starts once, after the end',
      );
      await unchangedByAnotherStop(world);
    });
});

/** If already ended: the activeflow is returned unchanged, and nothing is told or started again. */
const unchangedByAnotherStop = async (world: World): Promise<void> => {
  const now = () => [
    structuredClone(world.runner.activeflow),
    world.commits.length,
    world.completed.length,
    world.heard.length,
  ];
  const before = now();
  await world.runner.stop();
  await world.settle();
  assert.deepEqual(now(), before);
};
