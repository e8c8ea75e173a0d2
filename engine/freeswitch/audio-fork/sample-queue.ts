const blockBytes = 16 * 1024;

/**
 * Little-endian 16-bit samples in the order of their bytes, however these were cut into frames. Bytes are copied into
 * blocks, so that many tiny frames cost no more than one large one.
 */
export class SampleQueue {
  #blocks: Buffer[] = [];
  #readAt = 0;
  #writeAt = blockBytes;
  #bytes = 0;

  /** Whole samples that wait. */
  get length(): number {
    return this.#bytes >> 1;
  }

  /** Appends bytes; half a sample waits for its other half. */
  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length;) {
      if (this.#writeAt === blockBytes) {
        this.#blocks.push(Buffer.allocUnsafeSlow(blockBytes));
        this.#writeAt = 0;
      }
      const count = bytes.copy(this.#blocks.at(-1) ?? bytes, this.#writeAt, at, at + blockBytes - this.#writeAt);
      this.#writeAt += count;
      this.#bytes += count;
      at += count;
    }
  }

  /** Takes up to `count` samples off the front. */
  take(count: number): Int16Array {
    const samples = new Int16Array(Math.min(count, this.length));
    for (let i = 0; i < samples.length; i++) samples[i] = ((this.#byte() | (this.#byte() << 8)) << 16) >> 16;
    return samples;
  }

  /** Forgets everything. */
  clear(): void {
    this.#blocks = [];
    this.#readAt = 0;
    this.#writeAt = blockBytes;
    this.#bytes = 0;
  }

  #byte(): number {
    const byte = this.#blocks[0]?.[this.#readAt] ?? 0;
    this.#readAt += 1;
    this.#bytes -= 1;
    if (this.#readAt === blockBytes) {
      this.#blocks.shift();
      this.#readAt = 0;
    }
    return byte;
  }
}
