import { strict as assert } from 'node:assert';
import { EventEmitter, once } from 'node:events';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { WebSocketServer } from 'ws';
import { parseNamed, parseStart, splitCommand } from '../../../../engine/freeswitch/audio-fork/arguments.ts';
import { ForkSocket } from '../../../../engine/freeswitch/audio-fork/fork-socket.ts';
import { readMessage } from '../../../../engine/freeswitch/audio-fork/messages.ts';
import { SampleQueue } from '../../../../engine/freeswitch/audio-fork/sample-queue.ts';
import { StreamedVoice } from '../../../../engine/freeswitch/audio-fork/streamed-voice.ts';

describe('arguments of uuid_audio_fork', () => {
  const start = (args: string) => {
    const { rest, separator } = splitCommand(args);
    return parseStart(rest, separator);
  };

  it('reads what drachtio-fsmrf writes', () => {
    assert.deepEqual(start(`^^|U|start|ws://127.0.0.1:3001/a|stereo|16000|b1|'{"k":"v w"}'|true|true|8000`), {
      url: 'ws://127.0.0.1:3001/a',
      mix: 'stereo',
      rate: 16000,
      name: 'b1',
      metadata: '{"k":"v w"}',
      bidirectional: true,
      streamRate: 8000,
    });
    assert.deepEqual(start('^^|U|start|ws://h/a|mono|8000|||true|false|'), {
      url: 'ws://h/a',
      mix: 'mono',
      rate: 8000,
      name: 'audio_fork',
      metadata: '',
      bidirectional: true,
      streamRate: null,
    });
  });

  it('reads words between spaces, as a person types them', () => {
    const read = start(`U start wss://h/a mixed 16k mybug '{"a b":1}' true true 24k`);
    assert.deepEqual(
      [read?.mix, read?.rate, read?.name, read?.metadata, read?.streamRate],
      ['mixed', 16000, 'mybug', '{"a b":1}', 24000],
    );
    assert.equal(start('U start wss://h/a mono 8000')?.name, 'audio_fork');
  });

  it('hands any metadata over as it is', () => {
    fc.assert(
      fc.property(fc.json(), json => {
        assert.equal(start(`^^|U|start|ws://h/|mono|8000|b|'${json}'|true|false|`)?.metadata, json);
      }),
    );
  });

  it('streams only when both flags and the rate are there', () => {
    for (const tail of ['true|true|', 'false|true|8000', 'true|false|8000', 'true|true|700', 'true|true|x'])
      assert.equal(start(`^^|U|start|ws://h/|mono|8000|b||${tail}`)?.streamRate, null, tail);
  });

  it('refuses rates and mixes that make no sense, and endless words', () => {
    for (const args of [
      'ws://h/|mono|7999',
      'ws://h/|mono|96000',
      'ws://h/|both|8000',
      '|mono|8000',
      'ws://h/|mono|8e3',
    ])
      assert.equal(start(`^^|U|start|${args}|b`), null, args);
    assert.equal(start(`^^|U|start|ws://${'h'.repeat(5000)}/|mono|8000|b`), null);
  });

  it('reads a name and a text that is written twice', () => {
    assert.deepEqual(parseNamed(`b1 '{"bye":1}' '{"bye":1}'`, ' '), { name: 'b1', text: '{"bye":1}' });
    assert.deepEqual(parseNamed(`'{"bye":1}' '{"bye":1}'`, ' '), { name: null, text: '{"bye":1}' });
    assert.deepEqual(parseNamed(`b1 '{"mid":"x y"}'`, ' '), { name: 'b1', text: '{"mid":"x y"}' });
    assert.deepEqual(parseNamed('', ' '), { name: null, text: null });
    assert.deepEqual(parseNamed('b1', ' '), { name: 'b1', text: null });
  });

  it('never fails on anything', () => {
    fc.assert(
      fc.property(fc.string(), args => {
        const { rest, separator } = splitCommand(args);
        parseStart(rest, separator);
        parseNamed(rest, separator);
      }),
    );
  });
});

describe('text frames of the far end', () => {
  it('are read or ignored, whatever is in them', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), text => void readMessage(text)));
    assert.equal(readMessage(`{"type":"error","data":"${'x'.repeat(1024 * 1024)}"}`), null);
    assert.deepEqual(readMessage('{"type":5}'), { kind: 'event', name: 'json', body: '{"type":5}' });
    assert.deepEqual(readMessage('null'), { kind: 'event', name: 'json', body: 'null' });
  });

  it('are ignored when they are nested too deep to be told', () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    assert.equal(readMessage(`{"type":"transcription","data":${deep}}`), null);
    assert.equal(readMessage(`{"a":${deep}}`), null);
  });

  it('may hold a long sound, and nothing else that is long', () => {
    const audio = Buffer.alloc(6 * 1024 * 1024, 7)
      .toString('base64')
      .replaceAll('/', '\\/');
    const play = readMessage(`{"type":"playAudio","data":{"audioContentType":"raw","audioContent":"${audio}"}}`);
    assert.equal(play?.kind, 'play');
    const many = `[${'[],'.repeat(400_000)}[]]`;
    assert.deepEqual(readMessage('{"type":"killAudio","data":[]}'), { kind: 'kill' });
    for (const text of [
      `{"type":"killAudio","data":${many}}`,
      `{"type":"killAudio","audioContent":${many},"a":"b"}`,
      `{"type":"killAudio","a":"audioContent","b":${many},"c":"d"}`,
    ])
      assert.equal(readMessage(text), null);
  });
});

describe('the connection of a fork', () => {
  it('is given up when the far end never reads what it is sent', async () => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    server.on('connection', socket => socket.pause());
    await once(server, 'listening');
    let [closed, most] = [false, 0];
    const options = { credentials: null, allowSelfSigned: false, allowExpired: false, skipHostnameCheck: false };
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const told = new EventEmitter();
    const fork = new ForkSocket(url, options, {
      opened: () => told.emit('open'),
      text: () => undefined,
      audio: () => undefined,
      closed: () => (closed = true),
      failed: reason => told.emit('error', new Error(reason)),
    });
    await once(told, 'open');
    for (let sent = 0; sent < 64 && !closed; sent++) {
      fork.send('x'.repeat(1024 * 1024));
      most = Math.max(most, fork.backlog);
      await new Promise(resolve => setImmediate(resolve));
    }
    for (const one of server.clients) one.terminate();
    server.close();
    assert.ok(closed && most < 18 * 1024 * 1024, `${most} bytes`);
  });
});

describe('samples that come in frames of any size', () => {
  it('come out in order, however they were cut and taken', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 600 }),
        fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1 }),
        fc.integer({ min: 1, max: 100 }),
        (bytes, cuts, count) => {
          const queue = new SampleQueue();
          const all = Buffer.from(bytes);
          for (let at = 0, i = 0; at < all.length; i += 1) {
            const size = cuts[i % cuts.length] ?? 1;
            queue.push(all.subarray(at, at + size));
            at += size;
          }
          const taken: number[] = [];
          while (queue.length > 0) taken.push(...queue.take(count));
          const expected = Array.from({ length: all.length >> 1 }, (_, i) => all.readInt16LE(i * 2));
          assert.deepEqual(taken, expected);
        },
      ),
    );
  });

  it('cross the border between two blocks', () => {
    const queue = new SampleQueue();
    const all = Buffer.alloc(100_001);
    for (let i = 0; i < 50_000; i += 1) all.writeInt16LE(i - 25_000, i * 2);
    queue.push(all);
    assert.equal(queue.length, 50_000);
    const first = queue.take(30_001);
    const second = queue.take(30_001);
    assert.deepEqual([first[0], first[30_000], second.length, second[0]], [-25_000, 5000, 19_999, 5001]);
    assert.equal(second.at(-1), 24_999);
  });
});

describe('a streamed voice', () => {
  const frame = new Int16Array(160);
  const voiceAt = (rate: number): { voice: StreamedVoice; told: string[] } => {
    const told: string[] = [];
    const voice = new StreamedVoice(rate, 8000, {
      begins: () => told.push('begins'),
      mark: (name, end) => told.push(`${name} ${end}`),
      overrun: () => told.push('overrun'),
    });
    return { voice, told };
  };
  const ms = (count: number, rate: number): Buffer => Buffer.alloc(((count * rate) / 1000) * 2);

  it('begins at 40 ms, or after 200 ms with less', () => {
    const { voice, told } = voiceAt(16_000);
    voice.write(ms(30, 16_000));
    for (let i = 0; i < 9; i += 1) voice.tick();
    assert.deepEqual(told, []);
    voice.tick();
    assert.deepEqual(told, ['begins']);
    const other = voiceAt(16_000);
    other.voice.write(ms(40, 16_000));
    assert.deepEqual(other.told, ['begins']);
  });

  it('waits for 60 ms once it ran dry in the middle of a sound, and for 40 ms again before the next sound', () => {
    const { voice, told } = voiceAt(8000);
    const hear = (): boolean => (voice.tick(), voice.read(frame));
    voice.write(ms(40, 8000));
    while (hear());
    hear();
    voice.write(ms(40, 8000)); // 40 ms too late
    assert.deepEqual(told, ['begins']);
    voice.write(ms(20, 8000));
    assert.deepEqual(told, ['begins', 'begins']);
    while (hear());
    for (let quiet = 0; quiet < 10; quiet++) hear();
    voice.write(ms(40, 8000));
    assert.deepEqual(told, ['begins', 'begins', 'begins']);
  });

  /** Streams a tone of 10,000 at a rate: at each beat of 20 ms as many ms as `arrives` tells; what was heard, beat by beat. */
  const stream = (rate: number, hz: number, beats: number, arrives: (beat: number) => number) => {
    const { voice, told } = voiceAt(rate);
    const heard: (Int16Array | null)[] = [];
    let sent = 0;
    for (let beat = 0; beat < beats; beat++) {
      const samples = Int16Array.from(
        { length: (arrives(beat) * rate) / 1000 },
        (_, at) => 10_000 * Math.sin((2 * Math.PI * hz * (sent + at)) / rate),
      );
      sent += samples.length;
      voice.write(Buffer.from(samples.buffer));
      voice.tick();
      heard.push(voice.read(frame) ? frame.slice() : null);
    }
    let waiting = 0;
    while (voice.read(frame)) waiting += 20;
    const begun = told.filter(one => one === 'begins').length;
    return { heard, waiting, begun, sent: (sent * 1000) / rate };
  };

  /** Steepest step between two samples, and the quietest 20 ms against a full tone. */
  const roughness = (frames: (Int16Array | null)[]): { step: number; quietest: number } => {
    const samples = frames.flatMap(one => [...(one ?? [])]);
    const steps = samples.slice(1).map((sample, at) => Math.abs(sample - (samples[at] ?? 0)));
    const powers = frames.map(
      one => (one ?? new Int16Array(1)).reduce((sum, sample) => sum + sample * sample, 0) / (160 * 5e7),
    );
    return { step: Math.max(...steps), quietest: Math.min(...powers) };
  };

  const steady = (beat: number, from = 0): number => (beat > from ? 20 : 0);
  for (const [what, arrives] of [
    ['200 ms that came at once', (beat: number) => (beat === 0 ? 200 : steady(beat))],
    ['a break of 160 ms that was caught up', (beat: number) => (beat < 30 || beat > 38 ? 20 : beat === 38 ? 180 : 0)],
    ['a break of 600 ms that was caught up', (beat: number) => (beat < 30 || beat > 60 ? 20 : beat === 60 ? 620 : 0)],
  ] as const)
    for (const [rate, hz] of [
      [8000, 440],
      [16_000, 317],
      [44_100, 1003],
    ] as const)
      it(`gives the delay of ${what} back in a live stream of ${rate} Hz, and a tone stays whole`, () => {
        const { heard, waiting } = stream(rate, hz, 400, arrives);
        assert.ok(waiting <= 60, `${waiting} ms wait`);
        const { step, quietest } = roughness(heard.slice(70));
        assert.ok(step < 1.15 * 20_000 * Math.sin((Math.PI * hz) / 8000), `a step of ${step}`);
        assert.ok(quietest > 0.85, `a frame of ${quietest}`);
      });

  it('plays whole what is sent whole, faster than it is played, or further ahead', () => {
    for (const [what, arrives] of Object.entries<(beat: number) => number>({
      'in one go': beat => (beat === 0 ? 10_000 : 0),
      'a second each second': beat => (beat % 50 === 0 ? 1000 : 0),
      'a second each second, two seconds ahead': beat => (beat === 0 ? 3000 : beat % 50 === 0 ? 1000 : 0),
      'two seconds ahead': beat => (beat === 0 ? 2000 : 20),
      'a quarter faster': () => 25,
      'in pieces of 200 ms': beat => (beat % 10 === 0 ? 200 : 0),
      'by a burst into a live stream': beat => (beat === 200 ? 1500 : 20),
    })) {
      const { heard, waiting, sent } = stream(8000, 500, 400, arrives);
      const played = heard.filter(one => one !== null).length * 20 + waiting;
      assert.equal(played, sent, what);
    }
  });

  it('keeps enough for a live stream whose frames come up to 20 ms late', () => {
    const { begun, waiting } = stream(8000, 500, 1000, beat => [20, 0, 40, 20, 20, 0, 40][beat % 7] ?? 0);
    assert.ok(begun <= 2 && waiting <= 60, `${begun} beginnings, ${waiting} ms wait`);
  });

  it('gives as many frames as came, at every rate, and then says that there is no more', () => {
    for (const rate of [8000, 11_025, 16_000, 24_000, 44_100, 48_000]) {
      const { voice } = voiceAt(rate);
      voice.write(ms(2000, rate));
      let frames = 0;
      while (voice.read(frame)) frames += 1;
      assert.ok(frames >= 100 && frames <= 101, `${frames} frames at ${rate}`);
    }
  });

  it('tells marks in order, each once its audio is out', () => {
    const { voice, told } = voiceAt(8000);
    voice.write(ms(100, 8000));
    voice.mark('a');
    voice.write(ms(100, 8000));
    voice.mark('b');
    const seen: number[] = [];
    for (let i = 1; voice.read(frame); i += 1) {
      voice.tick();
      seen.push(told.length);
    }
    assert.deepEqual(told, ['begins', 'a playout', 'b playout']);
    assert.deepEqual(seen, [1, 1, 1, 1, 2, 2, 2, 2, 2, 3]);
  });

  it('answers a mark at once when nothing waits', () => {
    const { voice, told } = voiceAt(8000);
    voice.mark('now');
    voice.tick();
    assert.deepEqual(told, ['now playout']);
  });
});
