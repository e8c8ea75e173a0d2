import { strict as assert } from 'node:assert';
import type { AmdVerdict } from '#flow/action';
import { action, World } from './world.ts';

type Row = [found: AmdVerdict['result'], machine_handle: string, async: boolean, heard: string[]];

const hungUp = ['amd', 'hangup amd'];
const wentOn = ['amd', 'play next'];
const aside = ['amd', 'play next'];
/** voice-and-flows 16: what is found, what the author asked for, and what the party hears of it. */
const ROWS: Row[] = [
  ['machine', 'hangup', false, hungUp],
  ['machine', 'continue', false, wentOn],
  ['machine', '', false, wentOn],
  ['human', 'hangup', false, wentOn],
  ['human', '', false, wentOn],
  ['notsure', 'hangup', false, wentOn],
  ['notsure', 'continue', false, wentOn],
  ['machine', 'hangup', true, [...aside, 'hangup amd']],
  ['machine', 'continue', true, aside],
  ['human', 'hangup', true, aside],
  ['notsure', 'hangup', true, aside],
];

describe('amd (voice-and-flows 16)', () => {
  for (const [result, machine_handle, async, heard] of ROWS)
    it(`${result}, asked to ${machine_handle || 'do nothing special'}${async ? ', aside' : ''}: ${heard.join(', ')}`, async () => {
      const actions = [action('a', 'amd', { machine_handle, async }), action('p', 'play', { stream_urls: ['next'] })];
      const world = new World({ actions });
      world.verdict = { result, confidence: 0.8 };
      await world.run();
      assert.deepEqual(
        world.heard.filter(what => /^(amd|play|hangup amd)/.test(what)),
        heard,
      );
      const variables = world.runner.variables.all();
      assert.deepEqual([variables['svc.call.amd_result'], variables['svc.call.amd_confidence']], [result, '0.8']);
    });
});
