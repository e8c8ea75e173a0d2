import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** MB that this thread holds once garbage is gone, in its heap and in buffers beside it. */
export const heldMb = (): number => {
  collect();
  collect(); // what the first one finalized
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / 2 ** 20;
};
