import { strict as assert } from 'node:assert';
import { action, World, type WorldOptions } from '../world.ts';

const start = async (option: Record<string, unknown>, more: Partial<WorldOptions> = {}): Promise<World> =>
  new World({ actions: [action('x', 'external_media_start', option), action('b', 'beep')], ...more }).run();

const HOST = '203.0.113.5:4000';
const both = { listen: 'both', speak: 'both' };

const taken: [string, Record<string, unknown>, Record<string, unknown>][] = [
  [
    'the short form',
    { url: 'wss://example.com/in', encapsulation: 'sln' },
    { transport: 'websocket', format: 'slin', url: 'wss://example.com/in', encapsulation: 'sln', ...both },
  ],
  [
    'the long form, which is rtp over udp in ulaw by default',
    { external_host: HOST },
    { transport: 'udp', format: 'ulaw', url: `udp://${HOST}`, encapsulation: 'rtp', ...both },
  ],
  [
    'the long form over websocket, with directions',
    {
      external_host: HOST,
      transport: 'websocket',
      encapsulation: 'none',
      format: 'slin',
      direction_listen: 'in',
      direction_speak: 'out',
    },
    { transport: 'websocket', format: 'slin', url: `ws://${HOST}`, encapsulation: 'sln', listen: 'in', speak: 'out' },
  ],
];

const refused: [string, Record<string, unknown>][] = [
  ['no address', {}],
  ['an address that is no WebSocket', { url: 'https://example.com' }],
  ['tcp', { external_host: HOST, transport: 'tcp' }],
  ['being the server', { external_host: HOST, connection_type: 'server' }],
  ['a format it does not know', { external_host: HOST, format: 'opus' }],
  ['audiosocket over udp', { external_host: HOST, encapsulation: 'audiosocket' }],
  ['a transport there is none of', { external_host: HOST, transport: 'sctp' }],
];

describe('external_media_start', () => {
  for (const [what, option, request] of taken)
    it(`takes ${what}, and the flow goes on at once`, async () => {
      const world = await start(option);
      assert.deepEqual(world.external, [request]);
      assert.ok(world.heard.includes('beep'));
    });

  for (const [what, option] of refused)
    it(`refuses ${what}; the flow goes on`, async () => {
      const world = await start(option);
      assert.deepEqual(world.external, []);
      assert.ok(world.heard.includes('beep'));
      assert.equal(world.warnings.length, 1);
    });

  it('that fails lets the flow go on', async () => {
    const world = await start({ url: 'wss://example.com/in' }, { broken: ['startExternalMedia'] });
    assert.ok(world.heard.includes('beep'));
    assert.match(String(world.warnings[0]?.reason), /leg is gone/);
  });
});

describe('external_media_stop', () => {
  it('ends all external media', async () => {
    const world = await new World({ actions: [action('x', 'external_media_stop')] }).run();
    assert.deepEqual(world.heard, ['no external media', 'hangup normal']);
  });
});
