import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { Call } from '#contract/call';
import { encapsulationOf } from '../../media-app/audio/encapsulation.ts';
import { ENCAPSULATIONS, type EncapsulationName } from '#contract/media-stream';
import { MediaClient } from '../../test/support/media-client.ts';
import { TestPhone } from '../../test/support/phone.ts';
import type { PhoneCall } from '../../test/support/phone-call.ts';
import { type Stack, startStack } from '../../test/support/stack.ts';
import { everyTwentyMs } from '../phone/pace.ts';
import { tone } from '../phone/sound.ts';
import { percentile } from './figures.ts';
import { FrameLedger, NumberedFrames } from './numbered-frames.ts';

/** What the phone says to be echoed, and what is said to it. */
const PHONE_HZ = 500;
const CLIENT_HZ = 2500;
const FRAME_MS = 20;
const ECHOES = 60;
/** Between two pips of the echo measurement: long enough for one to be back before the next. */
const ECHO_PAUSE_MS = 400;

const wait = [{ type: 'sleep', option: { duration: 3_500_000 } }];

/** A call to a phone that answers and says its tone, with a stream of one encapsulation. */
const openStream = async (stack: Stack, name: EncapsulationName) => {
  const phone = await TestPhone.start({ username: name, domain: 'bench.invalid', server: stack.sip, tone: PHONE_HZ });
  const { body } = await stack.api<{ calls: Call[] }>('POST', '/calls', {
    source: { type: 'tel', target: stack.welcome.number },
    destinations: [{ type: 'sip', target: phone.address }],
    actions: wait,
  });
  const id = body.calls[0]?.id ?? '';
  const call = await phone.waitForCall({ autoAnswer: true });
  await call.answered();
  while ((await stack.api<Call>('GET', `/calls/${id}`)).body.status !== 'progressing') await pause(20);
  return { name, phone, call, said: new NumberedFrames(), client: await MediaClient.connect(stack, id, name) };
};
type Stream = Awaited<ReturnType<typeof openStream>>;

/** True for 20 ms of which a tone is a good part (Goertzel): the stream has the client's own voice in it, too. */
const holdsTone = (samples: Int16Array, hz: number): boolean => {
  const turn = 2 * Math.cos((2 * Math.PI * hz) / 8000);
  let [before, last, total] = [0, 0, 0];
  for (const sample of samples) {
    [before, last] = [last, sample + turn * last - before];
    total += sample * sample;
  }
  const power = (2 * (last * last + before * before - turn * last * before)) / samples.length;
  return total > 1e6 && power / total > 0.25;
};

const samplesOf = (frame: Buffer): Int16Array =>
  Int16Array.from({ length: frame.length / 2 }, (_, at) => frame.readInt16LE(at * 2));

/** Counts what comes out of a stream, and keeps none of it. */
class Tally {
  readonly frames: FrameLedger;
  /** Longest time between two frames, ms. */
  gap = 0;
  /** Packets out of sequence, in the encapsulation that numbers them. */
  jumps = 0;
  #last = 0;
  #sequence: number | undefined;

  constructor({ client, name, said }: Stream) {
    const wrapping = encapsulationOf(name);
    this.frames = new FrameLedger(said);
    client.socket.on('message', (frame: Buffer) => {
      client.frames.length = 0;
      const now = performance.now();
      if (this.#last > 0) this.gap = Math.max(this.gap, now - this.#last);
      this.#last = now;
      if (name === 'rtp') this.#follow(frame.readUInt16BE(2));
      this.frames.hear(samplesOf(wrapping.decode(frame) ?? Buffer.alloc(0)));
    });
  }

  #follow(sequence: number): void {
    if (this.#sequence !== undefined && sequence !== ((this.#sequence + 1) & 0xffff)) this.jumps += 1;
    this.#sequence = sequence;
  }
}

/** Says the client's tone without an end. Returns what stops it. */
const speak = ({ client, name }: Stream): (() => void) => {
  const wrapping = encapsulationOf(name);
  const sound = tone(CLIENT_HZ);
  const frame = new Int16Array(160);
  return everyTwentyMs(() => {
    sound.fill(frame);
    client.socket.send(wrapping.encode(Buffer.from(frame.buffer.slice(0))));
  });
};

/** Looks twice a second whether the phone hears the client, and nothing of its own. */
const listen = (call: PhoneCall): { looks: number; deaf: number; stop: () => void } => {
  const heard = { looks: 0, deaf: 0, stop: () => clearInterval(timer) };
  const timer = setInterval(() => {
    heard.looks += 1;
    if (!call.heardTones().some(hz => Math.abs(hz - CLIENT_HZ) < 8)) heard.deaf += 1;
  }, 500);
  return heard;
};

/** A phone that answers a pip with a pip of its own: 20 ms heard are 20 ms said. */
const answerPips = (call: PhoneCall): void => {
  const { hearing } = call.inner.rtp;
  const answer = tone(PHONE_HZ);
  call.inner.play({
    fill: frame => {
      frame.fill(0);
      if (holdsTone(hearing.slice(hearing.position - 160, hearing.position), CLIENT_HZ)) answer.fill(frame);
      return true;
    },
  });
};

/** How the client sends its pips: a burst of 100 ms at once, or in a steady stream of frames, one every 20 ms. */
const PIP_FRAMES = 5;
type Manner = 'burst' | 'steady';

const sendPips = (client: MediaClient, manner: Manner) => {
  let [waiting, sent] = [0, 0];
  const frame = new Int16Array(160);
  let sound = tone(CLIENT_HZ);
  const next = (): void => {
    frame.fill(0);
    if (waiting > 0) sound.fill(frame);
    if (waiting === PIP_FRAMES) sent = performance.now();
    waiting = Math.max(0, waiting - 1);
    client.socket.send(Buffer.from(frame.slice().buffer));
  };
  const stop = manner === 'steady' ? everyTwentyMs(next) : () => undefined;
  const pip = (): void => {
    [waiting, sound] = [PIP_FRAMES, tone(CLIENT_HZ)];
    if (manner === 'burst') while (waiting > 0) next();
  };
  /** Milliseconds since the last pip began to leave; undefined when it was answered already. */
  const answered = (): number | undefined => {
    if (sent === 0) return undefined;
    const after = performance.now() - sent;
    sent = 0;
    return after;
  };
  return { pip, answered, stop };
};

/** Milliseconds from a pip leaving the client to the phone's answer to it being there. */
const echoTimes = async (stack: Stack, manner: Manner): Promise<number[]> => {
  const stream = await openStream(stack, 'sln');
  answerPips(stream.call);
  const times: number[] = [];
  const pips = sendPips(stream.client, manner);
  stream.client.socket.on('message', (frame: Buffer) => {
    stream.client.frames.length = 0;
    if (!holdsTone(samplesOf(frame), PHONE_HZ)) return;
    const after = pips.answered();
    if (after !== undefined) times.push(after);
  });
  for (let echo = 0; echo < ECHOES; echo++) {
    await pause(ECHO_PAUSE_MS + Math.random() * FRAME_MS);
    pips.pip();
  }
  await pause(ECHO_PAUSE_MS);
  pips.stop();
  await stream.call.hangup();
  await stream.phone.stop();
  return times;
};

const cell = (value: number | string, width = 9): string => String(value).padStart(width);

const report = (minutes: number, streams: Stream[], tallies: Tally[], heard: ReturnType<typeof listen>[]): void => {
  console.log(`\n${minutes} minutes, ${streams.length} streams at once; frames of 20 ms, each known by its tone`);
  console.log(
    `${'encapsulation'.padEnd(14)} phone sent  arrived  missing  made up  jumps  longest gap  phone heard it`,
  );
  tallies.forEach(({ frames, jumps, gap }, index) => {
    const { looks = 0, deaf = 0 } = heard[index] ?? {};
    const counts = [
      cell(frames.sent, 10),
      cell(frames.arrived),
      cell(frames.missing),
      cell(frames.madeUp),
      cell(jumps, 7),
    ];
    console.log(
      `${(streams[index]?.name ?? '').padEnd(14)} ${counts.join('')}${cell(`${gap.toFixed(0)} ms`, 13)}${cell(`${looks - deaf} of ${looks}`, 16)}`,
    );
  });
  const stood = streams.map(({ said }) => said.stoodStill);
  console.log(
    `the phones themselves fell behind by more than 20 ms ${stood.map(one => one.times).join(', ')} times, by ${stood.map(one => one.most.toFixed(0)).join(', ')} ms at most: what is made up then was not there`,
  );
};

const tellEcho = (manner: Manner, times: number[]): void =>
  console.log(
    `echo in a ${manner === 'burst' ? 'burst of 100 ms' : 'steady stream'}, ${times.length} of ${ECHOES} pips: p50 ${percentile(times, 0.5).toFixed(0)} ms, p95 ${percentile(times, 0.95).toFixed(0)} ms (aim: p95 ≤ 100 ms)`,
  );

/**
 * Media streams against the clock on the wall: streams of all encapsulations at once, every one on a call of its own, a
 * phone that says frames which can be told apart and hears another tone. Then how long an echo takes.
 */
export const streamBench = async (minutes: number): Promise<void> => {
  const stack = await startStack({ env: { LOG_LEVEL: 'warn' } });
  try {
    const streams = await Promise.all(ENCAPSULATIONS.map(name => openStream(stack, name)));
    streams.forEach(({ call, said }) => call.inner.play(said));
    const quiet = streams.map(speak);
    await pause(1000); // both sounds are there
    const tallies = streams.map(stream => new Tally(stream));
    const heard = streams.map(({ call }) => listen(call));
    await pause(minutes * 60_000);
    heard.forEach(({ stop }) => stop());
    await Promise.all(tallies.map(({ frames }) => frames.close()));
    quiet.forEach(stop => stop());
    report(minutes, streams, tallies, heard);
    await Promise.all(streams.map(({ call }) => call.hangup()));
    await Promise.all(streams.map(({ phone }) => phone.stop()));
    for (const manner of ['burst', 'steady'] as const) tellEcho(manner, await echoTimes(stack, manner));
  } finally {
    await stack.stop();
  }
};
