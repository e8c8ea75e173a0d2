import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import { parseNamed, parseStart, splitCommand } from '../../../../engine/freeswitch/audio-fork/arguments.ts';
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
    const voice = new StreamedVoice(rate, {
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

  it('waits for 80 ms once it ran dry in the middle of a sound, and for 40 ms again before the next sound', () => {
    const { voice, told } = voiceAt(8000);
    const hear = (): boolean => (voice.tick(), voice.read(frame));
    voice.write(ms(40, 8000));
    while (hear());
    hear();
    voice.write(ms(60, 8000)); // 40 ms too late
    assert.deepEqual(told, ['begins']);
    voice.write(ms(20, 8000));
    assert.deepEqual(told, ['begins', 'begins']);
    while (hear());
    for (let quiet = 0; quiet < 10; quiet++) hear();
    voice.write(ms(40, 8000));
    assert.deepEqual(told, ['begins', 'begins', 'begins']);
  });

  it('takes delay that piled up back in a silence, and nothing of what was sent in one go', () => {
    for (const [waits, kept] of [
      [200, 0],
      [4000, 1],
    ] as const) {
      const { voice } = voiceAt(8000);
      voice.write(ms(waits, 8000));
      let frames = 0;
      for (; voice.read(frame); frames += 1) if (frames < 1500) voice.write(ms(20, 8000));
      const all = 1500 + waits / 20;
      assert.equal(frames === all, kept === 1, `${frames} of ${all} frames`);
      assert.ok(frames > all - 9);
    }
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
