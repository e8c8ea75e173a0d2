import { strict as assert } from 'node:assert';
import type { Endpoint, EslEvent } from 'drachtio-fsmrf';
import { createLog } from '#process/log';
import { Applications } from '../../../../media-app/media/applications.ts';

/** A leg as FreeSWITCH has it: an application begins a moment after it was ordered, and a break that comes earlier is forgotten. */
class LegOfFreeSwitch {
  readonly uuid = 'leg';
  readonly connected = true;
  readonly began: string[] = [];
  #ordered: (() => void)[] = [];
  #running: (() => void)[] = [];

  execute(_name: string, argument: string): Promise<EslEvent> {
    return new Promise(over => {
      this.#ordered.push(() => {
        this.began.push(argument);
        this.#running.push(() => over({ getHeader: () => argument, getBody: () => '' }));
      });
    });
  }

  /** Begins what was ordered; what runs already goes on around it. */
  beat(): void {
    for (const begin of this.#ordered.splice(0)) begin();
  }

  api(): Promise<void> {
    this.#running.pop()?.();
    return Promise.resolve();
  }
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

describe('what runs on a leg of FreeSWITCH', () => {
  let leg: LegOfFreeSwitch;
  let applications: Applications;
  let gone: () => void;

  beforeEach(() => {
    leg = new LegOfFreeSwitch();
    const over = new Promise<void>(resolve => (gone = resolve));
    applications = new Applications(leg as unknown as Endpoint, over, createLog('media-app', 'silent'));
  });

  it('ends when it is told to, although it had not begun then', async () => {
    const enough = new AbortController();
    const ringback = applications.run('playback', 'ringback', enough.signal);
    await turn();
    enough.abort();
    await turn();
    assert.deepEqual(leg.began, []);
    leg.beat();
    assert.equal((await ringback)?.getHeader('any'), 'ringback');
  });

  it('comes after what was told to end is over, never inside of it', async () => {
    const enough = new AbortController();
    const ringback = applications.run('playback', 'ringback', enough.signal);
    await turn();
    enough.abort();
    const menu = applications.run('playback', 'menu');
    await turn();
    leg.beat();
    assert.deepEqual(leg.began, ['ringback']);
    await ringback;
    await turn();
    leg.beat();
    assert.deepEqual(leg.began, ['ringback', 'menu']);
    void leg.api();
    assert.equal((await menu)?.getHeader('any'), 'menu');
  });

  it('is not begun when it was aborted while it waited, nor waited for when the leg is gone', async () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const ringback = applications.run('playback', 'ringback', first.signal);
    await turn();
    first.abort();
    const menu = applications.run('playback', 'menu', second.signal);
    second.abort();
    gone();
    assert.deepEqual([await ringback, await menu], [undefined, undefined]);
    leg.beat();
    assert.deepEqual(leg.began, ['ringback']);
  });
});
