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

/** What the phone says, and what is said to it. */
const PHONE_HZ = 500;
const CLIENT_HZ = 1300;
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
  return { name, phone, call, client: await MediaClient.connect(stack, id, name) };
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

interface Tally {
  frames: number;
  /** Frames in which the phone's tone was not heard whole. */
  broken: number;
  /** Longest time between two frames, ms. */
  gap: number;
  first: number;
  last: number;
}

/** Counts what comes out of a stream, and keeps none of it. */
const tallyOf = ({ client, name }: Stream): Tally => {
  const wrapping = encapsulationOf(name);
  const tally: Tally = { frames: 0, broken: 0, gap: 0, first: 0, last: 0 };
  client.frames.length = 0;
  client.socket.on('message', (frame: Buffer) => {
    const now = performance.now();
    client.frames.length = 0;
    const samples = wrapping.decode(frame);
    if (tally.frames > 0) tally.gap = Math.max(tally.gap, now - tally.last);
    else tally.first = now;
    tally.last = now;
    tally.frames += 1;
    if (samples?.length !== 320 || !holdsTone(samplesOf(samples), PHONE_HZ)) tally.broken += 1;
  });
  return tally;
};

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

/** Milliseconds from a pip leaving the client to the phone's answer to it being there. */
const echoTimes = async (stack: Stack): Promise<number[]> => {
  const stream = await openStream(stack, 'sln');
  answerPips(stream.call);
  const times: number[] = [];
  let sent = 0;
  stream.client.socket.on('message', (frame: Buffer) => {
    stream.client.frames.length = 0;
    if (sent === 0 || !holdsTone(samplesOf(frame), PHONE_HZ)) return;
    times.push(performance.now() - sent);
    sent = 0;
  });
  for (let echo = 0; echo < ECHOES; echo++) {
    await pause(ECHO_PAUSE_MS + Math.random() * FRAME_MS);
    const sound = tone(CLIENT_HZ);
    sent = performance.now();
    for (let count = 0; count < 5; count++) {
      const frame = new Int16Array(160);
      sound.fill(frame);
      stream.client.socket.send(Buffer.from(frame.buffer));
    }
  }
  await pause(ECHO_PAUSE_MS);
  await stream.call.hangup();
  await stream.phone.stop();
  return times;
};

/**
 * Media streams against the clock on the wall: streams of all encapsulations at once, every one on a call of its own, a
 * phone that says one tone and hears another. Then how long an echo takes.
 */
export const streamBench = async (minutes: number): Promise<void> => {
  const stack = await startStack({ env: { LOG_LEVEL: 'warn' } });
  try {
    const streams = await Promise.all(ENCAPSULATIONS.map(name => openStream(stack, name)));
    const quiet = streams.map(speak);
    await pause(1000); // both tones are there
    const tallies = streams.map(tallyOf);
    const heard = streams.map(({ call }) => listen(call));
    await pause(minutes * 60_000);
    heard.forEach(({ stop }) => stop());
    const results = tallies.map(tally => ({ ...tally }));
    quiet.forEach(stop => stop());
    console.log(`\n${minutes} minutes, ${streams.length} streams at once`);
    console.log('encapsulation     frames  expected  missing   broken  longest gap  phone heard it');
    results.forEach((tally, index) => {
      const expected = Math.round((tally.last - tally.first) / FRAME_MS) + 1;
      const { looks = 0, deaf = 0 } = heard[index] ?? {};
      const cells = [tally.frames, expected, Math.max(0, expected - tally.frames), tally.broken];
      const line = cells.map(cell => String(cell).padStart(9)).join(' ');
      console.log(
        `${(streams[index]?.name ?? '').padEnd(14)}${line}${`${tally.gap.toFixed(0)} ms`.padStart(13)}${`${looks - deaf} of ${looks} looks`.padStart(20)}`,
      );
    });
    await Promise.all(streams.map(({ call }) => call.hangup()));
    await Promise.all(streams.map(({ phone }) => phone.stop()));
    const times = await echoTimes(stack);
    console.log(
      `echo of ${times.length} of ${ECHOES} pips: p50 ${percentile(times, 0.5).toFixed(0)} ms, p95 ${percentile(times, 0.95).toFixed(0)} ms (aim: p95 ≤ 100 ms)`,
    );
  } finally {
    await stack.stop();
  }
};
