import { strict as assert } from 'node:assert';
import type { RemoteParty } from '../../../../engine/media/audio-leg.ts';
import { AudioLeg } from '../../../../engine/media/audio-leg.ts';
import { MediaClock } from '../../../../engine/media/clock.ts';
import type { CodecName } from '../../../../engine/media/codecs/table.ts';
import { codecNamed } from '../../../../engine/media/codecs/table.ts';
import { FrameResampler } from '../../../../engine/media/frame-resampler.ts';
import { JitterBuffer } from '../../../../engine/media/jitter-buffer.ts';
import { LegMemory } from '../../../../engine/media/leg-memory.ts';
import { Mixer } from '../../../../engine/media/mixer.ts';
import { RtpPorts } from '../../../../engine/media/rtp-ports.ts';
import { openSource } from '../../../../engine/media/sources/open-source.ts';
import type { Digit } from '../../../../engine/media/telephone-event.ts';
import { loudness, toneAmplitude } from '../../../../engine/media/tones.ts';
import { sine } from './signals.ts';

const host = '127.0.0.1';
const clock = new MediaClock();
const ports = new RtpPorts([33_200, 33_399], host);
let legs: AudioLeg[] = [];

const party = (port: number, codec: CodecName, more: Partial<RemoteParty> = {}): RemoteParty => ({
  address: host,
  port,
  codec,
  payloadType: codecNamed(codec).payloadType,
  telephoneEvent: 101,
  ptime: 20,
  direction: 'sendrecv',
  ...more,
});

/** A telephone and the leg that speaks with it. */
async function line(codec: CodecName, more: Partial<RemoteParty> = {}): Promise<{ phone: AudioLeg; leg: AudioLeg }> {
  const [phone, leg] = await Promise.all([AudioLeg.open({ ports, clock }), AudioLeg.open({ ports, clock })]);
  legs.push(phone, leg);
  phone.setRemote(party(leg.localPort, codec, more));
  leg.setRemote(party(phone.localPort, codec, more));
  return { phone, leg };
}

async function say(on: AudioLeg, ...hz: number[]): Promise<void> {
  on.setSource(await openSource(`tone_stream://%(60000,0,${hz.join()})`, { soundsDir: '/', rate: on.rate }));
}

const ticks = (count: number): Promise<void> =>
  new Promise(resolve => {
    const stop = clock.subscribe(() => {
      if (--count > 0) return;
      stop();
      resolve();
    });
  });

/** How loud each of the tones is in 200 ms of what a leg's party says. */
async function levels(on: AudioLeg, hz: number[]): Promise<number[]> {
  const samples: number[] = [];
  const stop = on.addTap({ frame: said => samples.push(...said) });
  await ticks(10);
  stop();
  return hz.map(one => Math.round(toneAmplitude(Int16Array.from(samples), one, on.rate)));
}

/** Resolves once the leg's party says the first tones and not the others; on a busy machine a tone may have been cut. */
async function says(on: AudioLeg, present: number[], absent: number[]): Promise<void> {
  let heard: number[] = [];
  for (let tries = 8; tries > 0; tries--) {
    heard = await levels(on, [...present, ...absent]);
    if (
      present.every((_, at) => (heard[at] ?? 0) > 2500) &&
      absent.every((_, at) => (heard[present.length + at] ?? 0) < 60)
    )
      return;
  }
  assert.fail(`wanted ${present.join()} Hz, and not ${absent.join()} Hz: their levels are ${heard.join()}`);
}

describe('Wideband sound', () => {
  afterEach(() => {
    for (const one of legs) one.close();
    legs = [];
    assert.equal(ports.inUse, 0);
  });

  it('of 5 kHz passes a bridge of any two wideband codecs, both ways', async () => {
    const pairs = [
      ['G722', 'G722'],
      ['G722', 'opus'],
      ['opus', 'opus'],
    ] as const;
    await Promise.all(
      pairs.map(async ([one, other]) => {
        const [a, b] = [await line(one), await line(other)];
        a.leg.bridge(b.leg);
        await Promise.all([say(a.phone, 5000), say(b.phone, 6000)]);
        await Promise.all([says(b.phone, [5000], [3000]), says(a.phone, [6000], [2000])]);
      }),
    );
  });

  it('is heard by a narrowband telephone without what would fold back, and the other way without a mirror', async () => {
    const pairs = [
      ['G722', 'PCMU'],
      ['opus', 'PCMA'],
    ] as const;
    await Promise.all(
      pairs.map(async ([wide, narrow]) => {
        const [a, b] = [await line(wide), await line(narrow)];
        a.leg.bridge(b.leg);
        await Promise.all([say(a.phone, 1000, 5000), say(b.phone, 1400)]);
        await Promise.all([says(b.phone, [1000], [3000]), says(a.phone, [1400], [6600])]);
      }),
    );
  });

  it('begins in the middle of a call when the codec changes, and ends so', async () => {
    const [a, b] = [await line('PCMU'), await line('G722')];
    a.leg.bridge(b.leg);
    await Promise.all([say(a.phone, 1000), say(b.phone, 1400, 5000)]);
    await Promise.all([says(b.phone, [1000], [7000]), says(a.phone, [1400], [3000])]);
    const turn = (codec: CodecName): void => {
      a.phone.setRemote(party(a.leg.localPort, codec));
      a.leg.setRemote(party(a.phone.localPort, codec));
    };
    turn('opus');
    await Promise.all([says(b.phone, [1000], [7000]), says(a.phone, [1400, 5000], [3000])]);
    turn('PCMA');
    await Promise.all([says(b.phone, [1000], [7000]), says(a.phone, [1400], [3000])]);
  });

  it('of a party that goes on in PCMU although G.722 was agreed on has the right pitch', async () => {
    const { phone, leg } = await line('G722');
    phone.setRemote(party(leg.localPort, 'PCMU'));
    await say(phone, 1000);
    await says(leg, [1000], [2000, 500]);
    assert.equal(leg.rate, 16_000);
  });

  it('has keys as tones of the right pitch and length, which are taken from it, too', async () => {
    await Promise.all(
      (['G722', 'opus'] as const).map(async codec => {
        const { phone, leg } = await line(codec, { telephoneEvent: null });
        const digits: Digit[] = [];
        leg.on('digit', digit => digits.push(digit));
        await ticks(10);
        await phone.sendDigits('15D#', 80, 60);
        await ticks(8);
        assert.equal(digits.map(({ digit }) => digit).join(''), '15D#');
        assert.ok(digits.every(({ inband, duration_samples }) => inband && Math.abs(duration_samples - 640) <= 160));
      }),
    );
  });

  it('is told at the rate of the codec, and its echo, taps and sources have the frames of its rate', async () => {
    const { phone, leg } = await line('opus');
    assert.deepEqual([leg.rate, leg.codecRate], [16_000, 48_000]);
    leg.echo(true);
    leg.addOverlay(await openSource('tone_stream://%(60000,0,6000)', { soundsDir: '/', rate: 16_000 }));
    await say(phone, 5000);
    await says(phone, [5000, 6000], [3000, 2000]);
  });
});

describe('A jitter buffer at 16 kHz', () => {
  /** Packet `n` of a tone of 400 Hz, which repeats itself every 40 samples. */
  const packet = sine(400, 320, 8000, 16_000);
  const level = (frame: Int16Array): number => Math.round(loudness(frame) / 100);

  it('waits 20 ms, covers what is lost for 60 ms and holds half a second, as one at 8 kHz', () => {
    const buffer = new JitterBuffer(new LegMemory(), 16_000);
    const frame = new Int16Array(320);
    const heard: number[] = [];
    for (let n = 0; n < 12; n++) {
      if (n < 4 || n > 8) buffer.push(n, n * 320, 7, packet, 320);
      buffer.read(frame);
      heard.push(level(frame));
    }
    const full = level(packet);
    assert.deepEqual([heard[0], ...heard.slice(1, 5)], [0, full, full, full, full]);
    assert.ok((heard[5] ?? 0) > full / 2 && (heard[7] ?? full) < full / 2 && heard[8] === 0, heard.join());
    assert.equal(heard[11], full);
    assert.equal(buffer.stats().lost, 5);
    for (let n = 12; n < 36; n++) assert.ok(buffer.push(n, n * 320, 7, packet, 320));
    assert.ok(buffer.stats().depth_ms > 460);
  });

  it('goes on at another rate when the codec changes, with what it has counted', () => {
    const buffer = new JitterBuffer();
    const frame = new Int16Array(320);
    for (let n = 0; n < 3; n++) {
      buffer.push(n, n * 160, 7, sine(400, 160), 160);
      buffer.read(frame.subarray(0, 160));
    }
    buffer.rate = 16_000;
    for (let n = 3; n < 6; n++) {
      buffer.push(n, n * 320, 7, packet, 320);
      buffer.read(frame);
    }
    assert.deepEqual([level(frame), buffer.stats().received, buffer.rate], [level(packet), 6, 16_000]);
  });
});

describe('A mixer of wideband and narrowband parties', () => {
  const now = { now: 0 };

  /** Parties with a tone each at their rate, and what each hears: the levels of all tones, of the folded 5 kHz, and its own rate. */
  function talk(parties: { hz: number; rate: number }[], deafTo?: [listener: number, speaker: number]): number[][] {
    const mixer = new Mixer(now);
    const said = parties.map(({ rate }) => new Int16Array(rate / 50));
    const seats = said.map(frame => mixer.add(() => frame));
    const [listener, speaker] = (deafTo ?? []).map(at => seats[at]);
    if (listener && speaker) listener.without.add(speaker);
    const heard = said.map(({ length }) => new Int16Array(10 * length));
    for (let tick = 0; tick < 12; tick++) {
      now.now += 1;
      parties.forEach(({ hz, rate }, at) =>
        said[at]?.set(sine(hz, 12 * (rate / 50), 6000, rate).subarray(tick * (rate / 50), (tick + 1) * (rate / 50))),
      );
      seats.forEach((seat, at) => {
        const frame = new Int16Array(said[at]?.length ?? 0);
        seat.read(frame);
        if (tick >= 2) heard[at]?.set(frame, (tick - 2) * frame.length);
      });
    }
    const tones = [...parties.map(({ hz }) => hz), 3000];
    return heard.map((samples, at) => {
      const rate = parties[at]?.rate ?? 0;
      return tones.map(hz => (hz < rate / 2 ? Math.round(toneAmplitude(samples, hz, rate) / 100) : 0));
    });
  }

  const room = [
    { hz: 5000, rate: 16_000 },
    { hz: 6000, rate: 16_000 },
    { hz: 1000, rate: 8000 },
  ];

  it('lets wideband ones hear each other and all of them the narrowband one, nobody themselves, and folds nothing back', () => {
    assert.deepEqual(talk(room), [
      [0, 60, 60, 0],
      [60, 0, 60, 0],
      [0, 0, 0, 0],
    ]);
  });

  it('lets two narrowband ones hear each other and what they can of the wideband one', () => {
    const parties = [
      { hz: 2000, rate: 16_000 },
      { hz: 700, rate: 8000 },
      { hz: 1000, rate: 8000 },
    ];
    assert.deepEqual(talk(parties), [
      [0, 60, 60, 0],
      [60, 0, 60, 0],
      [60, 60, 0, 0],
    ]);
    assert.deepEqual(talk(parties, [2, 0])[2], [0, 60, 0, 0]);
    assert.deepEqual(talk(parties, [0, 1])[0], [0, 0, 60, 0]);
  });
});

describe('A stream of frames that changes its rate', () => {
  it('comes out at one rate, and as it is where it has that rate', () => {
    const resampler = new FrameResampler();
    const wide = sine(1000, 320, 8000, 16_000);
    assert.equal(resampler.bring(wide, 16_000), wide);
    const lengths = [wide, wide.subarray(0, 160), wide].map(frame => resampler.bring(frame, 48_000).length);
    assert.deepEqual(lengths, [960, 960, 960]);
  });
});
