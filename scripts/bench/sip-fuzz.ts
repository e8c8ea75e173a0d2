import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { hostileMessage } from '../../test/support/hostile-sip.ts';
import { Rig, SHORT, type Request, type Response } from '../../test/conformance/drachtio/rig.ts';

const BATCH = 100;
/** Everything is forgotten after 128*T1. */
const FORGOTTEN_MS = 128 * SHORT.T1 + 500;
const SETTLE_MS = 20_000;

export interface FuzzReport {
  sent: number;
  /** What had not ended when everything should have. */
  left: { dialogs: number; transactions: number };
  /** How much the heap grew, in MB. */
  grown_mb: number;
}

/** How long the application lets a call ring. */
const RING_MS = 100;

/** An application that does a little of everything, whatever it is asked. */
const clumsy = (request: Request, response: Response): void => {
  const status = [180, 183, 200, 202, 486, 0][request.get('Call-ID').length % 6] ?? 0;
  if (status > 0) response.send(status, { headers: status === 183 ? { Require: '100rel' } : {} });
  if (status > 0 && status < 200) setTimeout(() => response.send(480), RING_MS);
};

/**
 * Hostile messages into a SIP server with an application behind it; every hundredth time it has to answer a sound OPTIONS.
 * @throws Error when it does not answer in five seconds
 */
export const fuzzSip = async (messages: number, seed: number): Promise<FuzzReport> => {
  const rig = await Rig.start({ timers: SHORT });
  const quiet = console.error;
  console.error = () => undefined; // the library reports what it cannot parse there
  const socket = createSocket('udp4');
  try {
    await rig.app(client => {
      for (const method of ['invite', 'register', 'message', 'subscribe', 'notify', 'options', 'info', 'publish'])
        client.use(method, (request, response) => clumsy(request, response));
    });
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const probe = await rig.phone();
    const heap = (): number => process.memoryUsage().heapUsed / 2 ** 20;
    const before = heap();
    for (let sent = 0; sent < messages; sent += BATCH) {
      const batch = fc.sample(hostileMessage, { seed: seed + sent, numRuns: Math.min(BATCH, messages - sent) });
      for (const message of batch) socket.send(message, rig.server.port, '127.0.0.1');
      await turn();
      probe.request('BYE', rig.uri(), { To: `<${rig.uri()}>;tag=none` });
      await probe.expect(/ 481 /, 5000);
      probe.heard.splice(0);
    }
    await pause(FORGOTTEN_MS);
    const left = (): FuzzReport['left'] => {
      const { dialogs, transactions } = rig.server.stats();
      return { dialogs, transactions };
    };
    for (const until = Date.now() + SETTLE_MS; Date.now() < until && left().transactions > 0;) await pause(50);
    return { sent: messages, left: left(), grown_mb: Math.round(heap() - before) };
  } finally {
    console.error = quiet;
    socket.close();
    await rig.close();
  }
};

/** `npm run bench -- sip-fuzz [messages] [seed]` */
export const sipFuzzBench = async (messages: number, seed: number): Promise<void> => {
  console.log(`seed ${seed}`);
  const { sent, left, grown_mb } = await fuzzSip(messages, seed);
  console.log(
    `${sent} messages; left: ${left.dialogs} dialogs, ${left.transactions} transactions; heap +${grown_mb} MB`,
  );
  if (left.transactions > 0 || grown_mb > 200) process.exitCode = 1;
};
