import { strict as assert } from 'node:assert';
import type { ExecuteRequest, ExecutionLevel } from '../../../../engine/freeswitch/executions.ts';
import { ExecutionStack } from '../../../../engine/freeswitch/executions.ts';
import type { FrameSource } from '../../../../engine/media/audio-leg.ts';

/** A stack whose applications do what their name says, and whose caller hears one source. */
function stackUnderTest(run: (level: ExecutionLevel) => Promise<string>) {
  const log: string[] = [];
  const heard: { source: FrameSource | null } = { source: null };
  const stack = new ExecutionStack({
    run,
    listenTo: source => (heard.source = source),
    started: request => log.push(`start ${request.uuid}`),
    completed: (request, response) => log.push(`end ${request.uuid} ${response}`),
  });
  const submit = (uuid: string, more: Partial<ExecuteRequest> = {}) =>
    stack.submit({ application: uuid, data: '', uuid, loops: 1, lock: false, ...more });
  return { stack, log, heard, submit };
}

const settle = () => new Promise(resolve => setImmediate(resolve));

function framesOf(count: number): FrameSource {
  let left = count;
  return { read: () => left-- > 0 };
}

/** Lets everything that is heard run out. */
async function drain(heard: { source: FrameSource | null }, ticks: number): Promise<void> {
  for (let tick = 0; tick < ticks; tick += 1) {
    heard.source?.read(new Int16Array(160));
    await settle();
  }
}

describe('applications of one channel', () => {
  const playing = (frames: number) => async (level: ExecutionLevel) => level.play(framesOf(frames));

  it('nest: the lower one is silent until the upper one is done', async () => {
    const { log, heard, submit } = stackUnderTest(playing(2));
    submit('a');
    const first = heard.source;
    submit('b');
    assert.notEqual(heard.source, first);
    await drain(heard, 4);
    assert.deepEqual(log, ['start a', 'start b', 'end b done']);
    assert.equal(heard.source, first);
    await drain(heard, 4);
    assert.deepEqual(log.slice(3), ['end a done']);
  });

  it('wait behind a locked one', async () => {
    const { log, heard, submit } = stackUnderTest(playing(1));
    submit('a', { lock: true });
    submit('b');
    assert.deepEqual(log, ['start a']);
    await drain(heard, 6);
    assert.deepEqual(log, ['start a', 'end a done', 'start b', 'end b done']);
  });

  it('are each completed at the hang-up, the upper ones first, waiting ones too', async () => {
    const { stack, log, submit } = stackUnderTest(playing(1000));
    submit('a');
    submit('b', { lock: true });
    submit('c');
    await stack.end();
    assert.deepEqual(log.slice(2), ['end c -ERR channel has hung up', 'end b hangup', 'end a hangup']);
    submit('d');
    assert.equal(log.at(-1), 'end d -ERR channel has hung up');
  });

  it('are completed at the hang-up even when one never comes back', async () => {
    const { stack, log, submit } = stackUnderTest(() => new Promise(() => undefined));
    submit('a');
    await stack.end();
    assert.deepEqual(log, ['start a', 'end a -ERR channel has hung up']);
  });

  it('end with an error when they throw', async () => {
    const { log, submit } = stackUnderTest(() => Promise.reject(new Error('no such file')));
    submit('a');
    await settle();
    assert.deepEqual(log, ['start a', 'end a -ERR no such file']);
  });

  it('take a break that comes before they wait', async () => {
    const { stack, log, submit } = stackUnderTest(async level => {
      await settle();
      return level.sleep(60_000);
    });
    submit('a');
    stack.breakTop(false);
    await settle();
    await settle();
    assert.deepEqual(log, ['start a', 'end a break']);
  });

  it('are refused beyond a depth nobody needs', async () => {
    const { stack, submit } = stackUnderTest(playing(1000));
    const accepted = Array.from({ length: 100 }, (_, at) => submit(String(at))).filter(Boolean);
    assert.equal(accepted.length, 64);
    await stack.end();
  });

  it('give a key to the one on top only', async () => {
    const keys: string[] = [];
    const { stack, heard, submit } = stackUnderTest(async level => {
      level.onDigit = digit => keys.push(`${level.request.uuid}${digit}`);
      return level.play(framesOf(1));
    });
    submit('a');
    submit('b');
    stack.digit('1');
    await drain(heard, 2);
    stack.digit('2');
    assert.deepEqual(keys, ['b1', 'a2']);
    await stack.end();
  });
});
