import { strict as assert } from 'node:assert';
import type { ActionInput } from '#contract/action';
import { action, World, type WorldOptions } from '../world.ts';

const DIGITS = 'svc.call.digits';

/** Runs one flow; the keys are pressed at their times, in milliseconds. */
const play = async (actions: ActionInput[], keys: [number, string][] = [], more: WorldOptions = {}): Promise<World> => {
  const world = new World({ ...more, actions });
  for (const [ms, key] of keys)
    world.clock.at(ms, () => (key === '' ? [''] : [...key]).forEach(one => world.runner.digit(one)));
  return world.run();
};

const talk = (option: Record<string, unknown> = {}) => action('t', 'talk', { text: 'hello', ...option });
const receive = (option: Record<string, unknown>) => action('d', 'digits_receive', { duration: 9000, ...option });

describe('talk', () => {
  it('answers first, speaks and waits for the end', async () => {
    const world = await play([talk()]);
    assert.deepEqual(world.heard, ['answer', 'talk provider_b hello', 'hangup normal']);
    assert.equal(world.clock.elapsed, 2000);
  });

  it('answers only once', async () => {
    const world = await play([talk(), talk()]);
    assert.equal(world.heard.filter(what => what === 'answer').length, 1);
  });

  it('asks the provider that was chosen', async () => {
    assert.ok((await play([talk({ provider: 'provider_c' })])).heard.includes('talk provider_c hello'));
  });

  it('has nothing to say without a text', async () => {
    const world = await play([talk({ text: ' ' })]);
    assert.deepEqual([world.heard, world.clock.elapsed], [['answer', 'hangup normal'], 0]);
  });

  it('moves on at once when it is asynchronous, and speaks on', async () => {
    const world = await play([talk({ async: true }), action('s', 'sleep', { duration: 1000 })]);
    assert.deepEqual([world.heard[1], world.clock.elapsed], ['talk provider_b hello', 1000]);
    assert.equal(world.clock.waiting, 0, 'the speech ends with the flow');
  });

  it('that fails aside is told to the log', async () => {
    const world = await play([talk({ async: true })], [], { broken: ['talk'] });
    await world.settle();
    assert.match(String(world.warnings[0]?.reason), /leg is gone/);
  });

  it('keeps the last key pressed while it speaks', async () => {
    const world = await play(
      [talk()],
      [
        [500, '1'],
        [900, '2'],
      ],
    );
    assert.deepEqual([world.runner.variables.get(DIGITS), world.clock.elapsed], ['2', 2000]);
  });

  it('stops at the first key when the author wants that', async () => {
    const world = await play([talk({ digits_handle: 'next' })], [[500, '78']]);
    assert.deepEqual([world.runner.variables.get(DIGITS), world.clock.elapsed], ['7', 500]);
  });
});

describe('recording_start and recording_stop', () => {
  it('start and stop the recording while the flow goes on, and tell its name', async () => {
    const world = await play([
      action('r', 'recording_start', { duration: 5, end_of_key: '#', beep_start: true }),
      action('b', 'beep'),
      action('s', 'recording_stop'),
    ]);
    assert.deepEqual(world.heard.slice(0, 3), ['record 5 0 #', 'beep', 'record no more']);
    const variables = world.runner.variables;
    assert.equal(variables.get('svc.recording.format'), 'wav');
    const name = variables.get('svc.recording.recording_name');
    assert.match(name, /^call_[0-9a-f-]{36}_2026-11-21T10:30:00\.000000Z$/);
    assert.equal(variables.get('svc.recording.filenames'), `${name}_in.wav,${name}_out.wav`);
  });

  for (const [option, broken] of [
    [{ format: 'mp3' }, []],
    [{ end_of_key: 'x' }, []],
    [{}, ['startRecording', 'stopRecording']],
  ] as const)
    it(`that fail (${JSON.stringify(option)}) do not hold up the flow`, async () => {
      const actions = [action('r', 'recording_start', option), action('s', 'recording_stop'), action('b', 'beep')];
      const world = await play(actions, [], { broken: [...broken] });
      assert(world.heard.includes('beep'));
      assert(world.warnings.length > 0);
    });
});

describe('play, beep, echo and sleep', () => {
  it('play hears keys and plays on', async () => {
    const world = await play([action('p', 'play', { stream_urls: ['u', 'v'] })], [[100, '#']]);
    assert.deepEqual(
      [world.heard[0], world.runner.variables.get(DIGITS), world.clock.elapsed],
      ['play u v', '#', 3000],
    );
  });

  it('play of nothing moves on', async () => {
    assert.deepEqual((await play([action('p', 'play')])).heard, ['hangup normal']);
  });

  it('beep waits for its end', async () => {
    assert.equal((await play([action('b', 'beep')])).clock.elapsed, 200);
  });

  const waits: [string, Record<string, unknown>, number][] = [
    ['echo', { duration: 1500 }, 1500],
    ['echo', {}, 180_000],
    ['echo', { duration: -1 }, 180_000],
    ['stream_echo', { duration: 1500 }, 1500],
    ['stream_echo', {}, 180_000],
    ['sleep', { duration: 1500 }, 1500],
    ['sleep', {}, 0],
    ['sleep', { duration: -5 }, 0],
    ['sleep', { duration: 1e12 }, 86_400_000],
  ];
  for (const [type, option, ms] of waits)
    it(`${type} ${JSON.stringify(option)} lasts ${ms} ms and leaves nothing behind`, async () => {
      const world = await play([action('e', type, option)]);
      assert.deepEqual([world.clock.elapsed, world.clock.waiting], [ms, 0]);
    });

  it('stream_echo sends every key back, in order', async () => {
    const world = await play(
      [action('e', 'stream_echo', { duration: 900 })],
      [
        [100, '1'],
        [200, '#2'],
      ],
    );
    assert.deepEqual(world.heard, ['echo', 'digits 1 100 0', 'digits # 100 0', 'digits 2 100 0', 'hangup normal']);
  });

  it('stream_echo goes on echoing when a key cannot be sent back', async () => {
    const actions = [action('e', 'stream_echo', { duration: 900 })];
    const world = await play(actions, [[100, '1']], { broken: ['sendDigits'] });
    assert.deepEqual([world.clock.elapsed, world.warnings[0]?.message], [900, 'a key was not sent back']);
  });

  it('echo ends with its leg', async () => {
    const world = await play([action('e', 'echo', { duration: 5000 })], [], { broken: ['echo'] });
    assert.deepEqual([world.clock.elapsed, world.clock.waiting, world.warnings.length], [0, 0, 1]);
  });

  it('keys pressed during sleep are not kept', async () => {
    const world = await play([action('s', 'sleep', { duration: 1000 })], [[500, '1']]);
    assert.equal(world.runner.variables.get(DIGITS), '');
  });
});

describe('digits_receive', () => {
  const cases: [string, Record<string, unknown>, [number, string][], string, number][] = [
    [
      'ends at the length',
      { length: 2 },
      [
        [100, '1'],
        [200, '2'],
        [300, '3'],
      ],
      '12',
      200,
    ],
    ['takes no more keys when it has enough', { length: 2 }, [[100, '123']], '12', 100],
    [
      'ends at a key and keeps it',
      { key: '#*' },
      [
        [100, '1'],
        [200, '*'],
        [300, '3'],
      ],
      '1*',
      200,
    ],
    [
      'ends at whichever comes first',
      { length: 3, key: '#' },
      [
        [100, '1'],
        [200, '#'],
      ],
      '1#',
      200,
    ],
    ['goes on when the time is over', { length: 4, duration: 1000 }, [[100, '1']], '1', 1000],
    [
      'collects to the end of the time without a condition',
      { duration: 1000 },
      [
        [100, '1'],
        [900, '2'],
      ],
      '12',
      1000,
    ],
    ['does not wait without a duration', { length: 1, duration: 0 }, [[0, '1']], '', 0],
    [
      'hears only what a telephone can send',
      { length: 2 },
      [
        [100, 'x'],
        [150, ''],
        [200, 'A'],
        [300, 'D'],
      ],
      'AD',
      300,
    ],
  ];
  for (const [title, option, keys, digits, ms] of cases)
    it(title, async () => {
      const world = await play([receive(option)], keys);
      assert.deepEqual([world.runner.variables.get(DIGITS), world.clock.elapsed], [digits, ms]);
      assert.equal(world.runner.activeflow.current_action.id.slice(-1), '2');
    });

  it('counts a key pressed during the speech before', async () => {
    const world = await play([talk({ digits_handle: 'next' }), receive({ length: 1 })], [[500, '4']]);
    assert.deepEqual([world.runner.variables.get(DIGITS), world.clock.elapsed], ['4', 500]);
  });

  it('appends to what the speech left', async () => {
    const world = await play(
      [talk(), receive({ length: 2 })],
      [
        [500, '4'],
        [2500, '5'],
      ],
    );
    assert.deepEqual([world.runner.variables.get(DIGITS), world.clock.elapsed], ['45', 2500]);
  });

  it('hears a key pressed while the move to it is written', async () => {
    const world = new World({ actions: [receive({ length: 1 })] });
    void world.runner.run();
    world.runner.digit('9');
    await world.run();
    assert.deepEqual(world.warnings, []);
    assert.deepEqual([world.runner.variables.get(DIGITS), world.clock.elapsed], ['9', 0]);
  });

  it('keeps a thousand keys and no more', async () => {
    const keys = Array.from({ length: 1100 }, (): [number, string] => [10, '1']);
    const world = await play([receive({})], keys);
    assert.equal(world.runner.variables.get(DIGITS).length, 1024);
  });
});

describe('digits_send', () => {
  const cases: [string, Record<string, unknown>, string, number][] = [
    ['waits for tones and gaps', { digits: '123', duration: 200, interval: 100 }, 'digits 123 200 100', 800],
    ['drops what is no digit', { digits: '1-2 a\r\n', duration: 100 }, 'digits 12A 100 0', 300],
    ['keeps to the ranges', { digits: '1', duration: 1, interval: -1 }, 'digits 1 100 0', 100],
    ['sends a hundred at most', { digits: '1'.repeat(500), duration: 100 }, `digits ${'1'.repeat(100)} 100 0`, 10_000],
  ];
  for (const [title, option, heard, ms] of cases)
    it(title, async () => {
      const world = await play([action('s', 'digits_send', option)]);
      assert.deepEqual([world.heard[0], world.clock.elapsed], [heard, ms]);
    });

  it('ends with its leg', async () => {
    const world = await play([action('s', 'digits_send', { digits: '123' })], [], { broken: ['sendDigits'] });
    assert.deepEqual([world.clock.elapsed, world.clock.waiting, world.warnings.length], [0, 0, 1]);
  });

  it('of nothing moves on', async () => {
    assert.deepEqual((await play([action('s', 'digits_send', { digits: 'xyz' })])).heard, ['hangup normal']);
  });
});
