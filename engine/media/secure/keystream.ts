import type { Cipher } from 'node:crypto';
import { createCipheriv } from 'node:crypto';

const block = 16;
const maxBlocks = 128;
/** Bytes of the longest packet that can be encrypted; no codec needs nearly as many. */
export const longestPacket = block * maxBlocks;

/** AES in counter mode (RFC 3711 section 4.1.1), with one cipher and one counter buffer for all packets of a stream. */
export class Keystream {
  readonly #cipher: Cipher;
  readonly #salt: Buffer;
  readonly #counters = Buffer.alloc(block * maxBlocks);

  constructor(key: Buffer, salt: Buffer) {
    // A block at a time without chaining: the counters are ours, so the cipher never has to be made anew.
    this.#cipher = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false);
    this.#salt = salt;
  }

  /** Encrypts or decrypts `[from, to)` of a packet in place, at most `longestPacket` bytes. `index`: the packet's, 48 bits. */
  apply(bytes: Buffer, from: number, to: number, ssrc: number, index: number): void {
    const blocks = Math.ceil((to - from) / block);
    if (blocks === 0) return;
    this.#fill(blocks, ssrc, index);
    const stream = this.#cipher.update(this.#counters.subarray(0, blocks * block));
    for (let i = from; i < to; i++) bytes[i] = (bytes[i] ?? 0) ^ (stream[i - from] ?? 0);
  }

  #fill(blocks: number, ssrc: number, index: number): void {
    const counters = this.#counters;
    this.#salt.copy(counters);
    counters.writeUInt32BE((counters.readUInt32BE(4) ^ ssrc) >>> 0, 4);
    counters.writeUInt16BE(counters.readUInt16BE(8) ^ Math.floor(index / 2 ** 32), 8);
    counters.writeUInt32BE((counters.readUInt32BE(10) ^ (index % 2 ** 32)) >>> 0, 10);
    counters.writeUInt16BE(0, 14);
    for (let i = 1; i < blocks; i++) {
      counters.copyWithin(i * block, 0, 14);
      counters.writeUInt16BE(i, i * block + 14);
    }
  }
}
