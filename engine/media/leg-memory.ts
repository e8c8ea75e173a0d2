import { frameSamples } from './clock.ts';

/** Samples that a jitter buffer has room for, a power of two: a second. */
export const ringSamples = 8192;
/** Milliseconds of the longest packet we send. */
const maxPtime = 120;
const packets = 8;
/** No codec makes more of one packet. */
const packetBytes = 1500;
/** Memory that waits for the next leg; what more comes back is left to the garbage collector. */
const mostFree = 256;

/** Room for a packet on its way out. */
export class Packet {
  readonly bytes = Buffer.alloc(packetBytes);
  #cut = this.bytes;

  /** Its first `length` bytes; the same view as last time for the same length, which most packets of a stream have. */
  cut(length: number): Buffer {
    if (this.#cut.length !== length) this.#cut = this.bytes.subarray(0, length);
    return this.#cut;
  }
}

/**
 * The sound that one leg has in hand, 40 KB. Legs come and go forty times a second; their memory stays, wiped, and is given to
 * the next, so that the garbage collector has nothing to do with it.
 */
export class LegMemory {
  /** What has been received, by RTP timestamp, and where there is something. */
  readonly samples = new Int16Array(ringSamples);
  readonly valid = new Uint8Array(ringSamples);
  /** What waits until a packet is full. */
  readonly pending = new Int16Array((maxPtime / 20 + 1) * frameSamples);
  /** Used in turn: one given to the system is not written again for several packets. */
  readonly packets: readonly Packet[] = Array.from({ length: packets }, () => new Packet());

  /** Memory that nobody uses. */
  static take(): LegMemory {
    return free.pop() ?? new LegMemory();
  }

  /** Gives it back; whoever had it must not touch it any more. Nothing of the conversation stays in it. */
  release(): void {
    this.samples.fill(0);
    this.valid.fill(0);
    this.pending.fill(0);
    for (const packet of this.packets) packet.bytes.fill(0);
    if (free.length < mostFree) free.push(this);
  }
}

const free: LegMemory[] = [];
