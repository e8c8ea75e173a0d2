import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RawData, WebSocketServer } from 'ws';
import { LoadedServers } from './loaded-servers.ts';
import { numberIn, seconds } from './rtp-load.ts';
import { openPhones } from './talking-phones.ts';

const FRAME = 160;
const FRAME_MS = 20;
const WAV_HEADER = 44;
const WARMUP_S = 2;
/** Numbers further apart than this are no gap but a frame that was made up. */
const FARTHEST = 500;
/** So far from the wall clock a recording may be: its commands take their time. */
const CLOSE_MS = 100;

/** What one phone said, as it is found elsewhere: every frame once, in its order. */
class Track {
  frames = 0;
  missing = 0;
  doubled = 0;
  madeUp = 0;
  #last: number | undefined;

  hear(number: number): void {
    this.frames += 1;
    const step = this.#last === undefined ? 1 : number - this.#last;
    if (!(Math.abs(step) < FARTHEST)) return void (this.madeUp += 1);
    if (step <= 0) return void (this.doubled += 1);
    this.missing += step - 1;
    this.#last = number;
  }

  /** A phone that was late itself has something made up in its place. */
  whole(late: boolean): boolean {
    return this.frames > 0 && this.missing + this.doubled === 0 && (late || this.madeUp === 0);
  }
}

/** Both sides of a call as 16-bit samples in turns. */
class Sides {
  readonly said = new Track();
  readonly heard = new Track();
  #rest: Buffer = Buffer.alloc(0);

  take(bytes: Buffer): void {
    const all = Buffer.concat([this.#rest, bytes]);
    const size = FRAME * 4;
    let at = 0;
    for (; at + size <= all.length; at += size) {
      this.said.hear(numberIn(side(all, at, 0)));
      this.heard.hear(numberIn(side(all, at, 1)));
    }
    this.#rest = all.subarray(at);
  }

  /** One line, and whether nothing is wrong. */
  report(name: string, clockMs: number, late: boolean): boolean {
    const offMs = this.said.frames * FRAME_MS - clockMs;
    const kept = (track: Track): string =>
      `${track.frames} frames, ${track.missing} missing, ${track.doubled} doubled, ${track.madeUp} made up`;
    const well = this.said.whole(late) && this.heard.whole(late) && Math.abs(offMs) <= CLOSE_MS;
    console.log(`${name}: one side ${kept(this.said)}; the other ${kept(this.heard)}`);
    console.log(`${''.padEnd(name.length)}  ${offMs.toFixed(0)} ms off the wall clock: ${well ? 'met' : 'missed'}`);
    return well;
  }
}

const side = (bytes: Buffer, at: number, which: 0 | 1): Int16Array =>
  Int16Array.from({ length: 4 }, (_, sample) => bytes.readInt16LE(at + 4 * sample + 2 * which));

/** Where the fork goes, with what has come and for how long. */
const openFarEnd = async (): Promise<{ url: string; sides: Sides; lasted: () => number; close: () => void }> => {
  const far = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
  await once(far, 'listening');
  const sides = new Sides();
  let [first, last] = [0, 0];
  far.on('connection', socket =>
    socket.on('message', (data: RawData, binary: boolean) => {
      if (!binary) return;
      last = performance.now();
      first ||= last;
      sides.take(data as Buffer);
    }),
  );
  const close = (): void => {
    for (const socket of far.clients) socket.terminate();
    far.close();
  };
  const lasted = (): number => last - first + FRAME_MS;
  return { url: `ws://127.0.0.1:${(far.address() as AddressInfo).port}/`, sides, lasted, close };
};

/**
 * A bridged call whose phones number their frames, recorded and forked in stereo for so long: what was kept is held against
 * what was said and against the wall clock.
 */
export const recordingBench = async (minutes: number): Promise<void> => {
  const directory = await mkdtemp(join(tmpdir(), 'trunkline-bench-'));
  const engine = await LoadedServers.engine();
  const far = await openFarEnd();
  const phones = await openPhones(2);
  try {
    const [a, b] = await engine.endpointsOf(phones);
    if (!a || !b) throw new Error('the engine gave no legs');
    await a.bridge(b);
    await a.execute('set', 'RECORD_STEREO=true');
    await seconds(WARMUP_S);
    const file = join(directory, 'call.wav');
    phones.begin();
    const began = performance.now();
    await a.api('uuid_record', [a.uuid, 'start', file]);
    await a.api('uuid_audio_fork', [a.uuid, 'start', far.url, 'stereo', '8000']);
    await seconds(60 * minutes);
    await a.api('uuid_record', [a.uuid, 'stop', file]);
    const lasted = performance.now() - began;
    const { late_ms } = await phones.report();
    const recorded = new Sides();
    recorded.take((await readFile(file)).subarray(WAV_HEADER));
    console.log(`\na bridged call, ${minutes} min; the phones themselves were ${late_ms.toFixed(0)} ms late at worst`);
    const late = late_ms >= FRAME_MS;
    const well = [recorded.report('recording', lasted, late), far.sides.report('fork', far.lasted(), late)];
    if (well.includes(false)) process.exitCode = 1;
    await engine.release([a, b]);
  } finally {
    phones.close();
    far.close();
    await engine.stop();
    await rm(directory, { recursive: true, force: true });
  }
};
