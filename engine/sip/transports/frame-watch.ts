/** Opcodes from here on are those of control frames. */
const CONTROL = 0x08;

/**
 * Watches the frames of a WebSocket go by (RFC 6455 5.2) for what has come of a message that is not whole: the library that
 * joins them holds it and does not tell.
 */
export class FrameWatch {
  /** Of the message's earlier fragments. */
  #earlier = 0;
  /** Of the frame that is coming: its head, and what has come and is to come of what follows. */
  #head: number[] = [];
  #come = 0;
  #left = 0;

  /** Bytes of a message that waits for its rest, or of a frame of any kind. */
  get bytes(): number {
    return this.#earlier + this.#head.length + this.#come;
  }

  /** Takes note of bytes that came. True when a message ended with them. */
  pass(chunk: Buffer): boolean {
    let whole = false;
    for (let at = 0; at < chunk.length;) {
      if (this.#left === 0) this.#begin(chunk[at++] ?? 0);
      const more = Math.min(this.#left, chunk.length - at);
      at += more;
      this.#come += more;
      this.#left -= more;
      if (this.#left === 0 && this.#head.length === headLength(this.#head)) whole = this.#end() || whole;
    }
    return whole;
  }

  /** A byte of a head; with its last one the length of what follows is known. */
  #begin(byte: number): void {
    this.#head.push(byte);
    if (this.#head.length === headLength(this.#head)) this.#left = payloadLength(this.#head);
  }

  /** Control frames come between the fragments of a message and are no part of it. */
  #end(): boolean {
    const [first = 0] = this.#head;
    const control = (first & CONTROL) !== 0;
    const last = first >= 0x80 && !control;
    if (last) this.#earlier = 0;
    else if (!control) this.#earlier = this.bytes;
    this.#head = [];
    this.#come = 0;
    return last;
  }
}

/** How many bytes of length stand behind the first two. */
const lengthBytes = (second: number): number => ({ 126: 2, 127: 8 })[second & 0x7f] ?? 0;

/** Of a head as far as it is there. */
const headLength = ([, second]: number[]): number =>
  second === undefined ? 2 : 2 + lengthBytes(second) + (second >= 0x80 ? 4 : 0);

const payloadLength = (head: number[]): number => {
  const [, second = 0] = head;
  const more = lengthBytes(second);
  return more === 0 ? second & 0x7f : head.slice(2, 2 + more).reduce((sum, byte) => sum * 256 + byte, 0);
};
