import { strict as assert } from 'node:assert';
import type { Endpoint as FsmrfEndpoint } from 'drachtio-fsmrf';
import { pino } from 'pino';
import { MediaEndpoint } from '../../../media-app/media/endpoint.ts';
import { within } from '../../support/within.ts';
import { withEngine, type EngineUnderTest } from './engine-under-test.ts';

const PAIRS = 12;
/** Far below the five seconds that an order may take on a leg that is there. */
const PROMPTLY_MS = 1500;
const later = (ms: number) => new Promise(resolve => setTimeout(resolve, ms));

/** An order to a leg that goes meanwhile is never answered; whoever waits for it must not wait with it. */
describe('orders to a leg that goes away', () => {
  let under: EngineUnderTest;

  withEngine(started => (under = started));

  /** All legs are on one media server. */
  const noLink = (): Promise<never> => Promise.reject(new Error('there is one media server'));

  const leg = async (): Promise<MediaEndpoint> => {
    const { endpoint } = await under.call();
    return new MediaEndpoint(endpoint as unknown as FsmrfEndpoint, 'engine', pino({ level: 'silent' }), noLink);
  };

  const orders: [string, (one: MediaEndpoint, two: MediaEndpoint) => Promise<unknown>][] = [
    ['a bridge, whose first leg goes', (one, two) => one.bridge(two)],
    ['a bridge, whose second leg goes', (one, two) => two.bridge(one)],
    ['a displacement', one => one.overlay('tone_stream://%(1000,0,440)')],
    ['a mute', one => one.mute(true)],
    ['keys', one => one.sendDigits('1', 100)],
    ['its counters', one => one.packetsReceived()],
  ];
  for (const [what, order] of orders)
    it(`${what}: it ends with the leg`, async () => {
      const pairs = await Promise.all(Array.from({ length: PAIRS }, () => Promise.all([leg(), leg()])));
      const ends = pairs.map(async ([one, two], index) => {
        const ahead_ms = (index % 6) - 3; // from a leg on its way out to an order on its way back
        const gone = later(ahead_ms).then(() => one.destroy());
        await later(-ahead_ms);
        const ordered = order(one, two).catch((error: unknown) => assert(error instanceof Error));
        await within(PROMPTLY_MS, ordered, () => `${what}, ${ahead_ms} ms ahead of the end of the leg, is waited for`);
        await Promise.all([gone, two.destroy()]);
      });
      await Promise.all(ends);
    });
});
