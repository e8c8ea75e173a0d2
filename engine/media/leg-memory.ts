import { framesPerSecond, sampleRate, wideRate } from './clock.ts';

/** Samples that a jitter buffer has room for, a power of two: a second. */
const ringSamples = { narrow: 8192, wide: 16_384 };
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

/** What has been received, by RTP timestamp, and where there is something. */
class Ring {
  readonly samples: Int16Array;
  readonly valid: Uint8Array;

  constructor(length: number) {
    this.samples = new Int16Array(length);
    this.valid = new Uint8Array(length);
  }

  wipe(): void {
    this.samples.fill(0);
    this.valid.fill(0);
  }
}

/**
 * The sound that one leg has in hand, 40 KB, and 48 KB more once it spoke a wideband codec. Legs come and go forty times a second; their memory stays, wiped, and is given to
 * the next, so that the garbage collector has nothing to do with it.
 */
export class LegMemory {
  /** What waits until a packet is full. */
  readonly pending = new Int16Array(((maxPtime / 20 + 1) * wideRate) / framesPerSecond);
  /** Used in turn: one given to the system is not written again for several packets. */
  readonly packets: readonly Packet[] = Array.from({ length: packets }, () => new Packet());
  readonly #narrow = new Ring(ringSamples.narrow);
  #wide: Ring | null = null;

  /** Memory that nobody uses. */
  static take(): LegMemory {
    return free.pop() ?? new LegMemory();
  }

  /** Room for a second of sound at this rate; that for wideband sound is made when it is first asked for. */
  ring(rate: number): Ring {
    return rate === sampleRate ? this.#narrow : (this.#wide ??= new Ring(ringSamples.wide));
  }

  /** Gives it back; whoever had it must not touch it any more. Nothing of the conversation stays in it. */
  release(): void {
    this.#narrow.wipe();
    this.#wide?.wipe();
    this.pending.fill(0);
    for (const packet of this.packets) packet.bytes.fill(0);
    if (free.length < mostFree) free.push(this);
  }
}

const free: LegMemory[] = [];
