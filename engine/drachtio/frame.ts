/** One frame of the admin protocol: decimal byte length, `#`, payload. */
export const frame = (payload: string): string => `${Buffer.byteLength(payload)}#${payload}`;

const HASH = 0x23;
/** drachtio-server stops at 12 KB; SDP of video phones and header-rich trunks needs more. */
const LONGEST = 1024 * 1024;
const MOST_DIGITS = 7;

/** Cuts a byte stream into payloads. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #held = 0;
  #wanted = 0;

  /** Payloads complete after this chunk, or undefined when the stream is no frame stream and has to be closed. */
  push(chunk: Buffer): string[] | undefined {
    this.#chunks.push(chunk);
    this.#held += chunk.length;
    // Nothing is joined while a long frame is still arriving, so that many small chunks do not cost quadratic time.
    if (this.#held < this.#wanted) return [];
    let rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    const payloads: string[] = [];
    for (;;) {
      const length = lengthAt(rest);
      if (length === undefined) return undefined;
      const end = length.start + length.size;
      if (length.size === 0 || rest.length < end) {
        this.#keep(rest, length.size === 0 ? 0 : end);
        return payloads;
      }
      payloads.push(rest.toString('utf8', length.start, end));
      rest = rest.subarray(end);
    }
  }

  #keep(rest: Buffer, wanted: number): void {
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#held = rest.length;
    this.#wanted = wanted;
  }
}

/** Size and start of the payload; size 0 while the length itself is incomplete; undefined when it is no length. */
function lengthAt(data: Buffer): { size: number; start: number } | undefined {
  const window = data.subarray(0, MOST_DIGITS + 1);
  const hash = window.indexOf(HASH);
  const digits = window.toString('latin1', 0, hash < 0 ? window.length : hash);
  if (!/^\d*$/.test(digits) || (hash < 0 && digits.length > MOST_DIGITS)) return undefined;
  if (hash < 0) return { size: 0, start: 0 };
  const size = Number(digits);
  return size > 0 && size <= LONGEST ? { size, start: hash + 1 } : undefined;
}
