/** Cuts a stream of bytes into pieces of one size; what is left waits for more. */
export class Frames {
  readonly #size: number;
  #rest: Buffer = Buffer.alloc(0);

  constructor(size: number) {
    this.#size = size;
  }

  /** The whole pieces there are now. Media servers send whole pieces, so this mostly hands on what it got. */
  push(bytes: Buffer): Buffer[] {
    if (this.#rest.length === 0 && bytes.length === this.#size) return [bytes];
    const all = Buffer.concat([this.#rest, bytes]);
    const whole = Math.floor(all.length / this.#size);
    this.#rest = all.subarray(whole * this.#size);
    return Array.from({ length: whole }, (_, at) => all.subarray(at * this.#size, (at + 1) * this.#size));
  }
}
