import { stopShared } from '../../test/support/stack.ts';
import { latencyBench } from './latency.ts';
import { streamBench } from './stream.ts';

/** What can be measured: `npm run bench` is calls, `npm run bench -- stream 10` the second. */
const BENCHES: Record<string, (argument?: string) => Promise<void>> = {
  calls: latencyBench,
  stream: (minutes = '10') => streamBench(Number(minutes)),
};

const [name = 'calls', argument] = process.argv.slice(2);
const bench = BENCHES[name];
if (!bench) {
  console.error(`There is no bench ${name}; there are ${Object.keys(BENCHES).join(', ')}.`);
  process.exitCode = 1;
} else await bench(argument).finally(stopShared);
