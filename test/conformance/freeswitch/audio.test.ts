import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatWav } from '../../../scripts/phone/wav.ts';
import { ownServers } from '../../support/own-servers.ts';
import { sideBySide } from '../../support/side-by-side.ts';
import { timed, until, withEngine, type EngineUnderTest } from './engine-under-test.ts';

/** A WAV file of one tone. */
const wav = (hz: number, ms: number): Buffer =>
  formatWav(
    Int16Array.from({ length: ms * 8 }, (_, at) => Math.round(8000 * Math.sin((2 * Math.PI * hz * at) / 8000))),
  );

/** Two tones in the sounds folder, 400 ms each. */
async function withSounds({ directory }: EngineUnderTest): Promise<void> {
  await writeFile(join(directory, 'low.wav'), wav(350, 400));
  await writeFile(join(directory, 'high.wav'), wav(1500, 400));
}

/** A file of ours by its path; on the engine by its name, because its sounds folder is ours. */
const sound = (under: EngineUnderTest, name: string): string => (ownServers() ? join(under.directory, name) : name);

describe('audio of the media server, judged by ear', () => {
  let under: EngineUnderTest;

  withEngine(started => withSounds((under = started)), { hangUp: after });

  sideBySide({
    'plays a file from the sounds folder and tells how long it was': async () => {
      const { endpoint, peer } = await under.call();
      const files: string[] = [];
      endpoint.on('playback-start', ({ file }: { file: string }) => files.push(`start ${file}`));
      endpoint.on('playback-stop', ({ file }: { file: string }) => files.push(`stop ${file}`));
      const played = endpoint.play(sound(under, 'low.wav'));
      await peer.hears(350);
      const { playbackSeconds, playbackMilliseconds, playbackLastOffsetPos } = await played;
      assert.deepEqual([playbackSeconds, playbackMilliseconds, playbackLastOffsetPos], ['0', '400', '3200']);
      assert.deepEqual(
        files,
        ['start', 'stop'].map(what => `${what} ${sound(under, 'low.wav')}`),
      );
    },

    'goes on when the phone presses * while it plays: no key ends what was not told so': async () => {
      const { endpoint, peer } = await under.call();
      const played = endpoint.play('tone_stream://%(900,0,1000)');
      await peer.hears(1000);
      await peer.press('*');
      assert.equal((await played).playbackMilliseconds, '900');
    },

    'says File Not Found for what is not there': async () => {
      const { endpoint } = await under.call();
      await assert.rejects(endpoint.play('no-such-file.wav'), /File Not Found/);
      await assert.rejects(endpoint.play('http://127.0.0.1:1/x.wav'), /File Not Found/);
    },

    'plays what it fetches over HTTP, and fetches it once for all': async () => {
      if (ownServers()) return 'unable'; // our configuration of FreeSWITCH fetches nothing: media-app does
      let asked = 0;
      const server = createServer((_request, response) => {
        asked += 1;
        response.setHeader('content-type', 'audio/wav').end(wav(850, 250));
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      try {
        const calls = await Promise.all([under.call(), under.call()]);
        const file = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hello`;
        const played = calls.map(({ endpoint }) => endpoint.play(file));
        await Promise.all(calls.map(({ peer }) => peer.hears(850)));
        await Promise.all(played);
        assert.equal((await calls[0].endpoint.play(file)).playbackMilliseconds, '250');
        assert.equal(asked, 1);
      } finally {
        server.closeAllConnections();
        server.close();
      }
    },

    'ends only the present element of a list at a break, and the whole list at break all': async () => {
      const { endpoint, peer } = await under.call();
      const played = endpoint.play(['tone_stream://%(20000,0,440)', 'tone_stream://%(20000,0,1000)']);
      await peer.hears(440);
      await endpoint.api('uuid_break', endpoint.uuid);
      await peer.hears(1000);
      await endpoint.api('uuid_break', [endpoint.uuid, 'all']);
      await played;
    },

    'bridged to a third, lets the one before go on alone: parked, it hears nobody and what is played to it':
      async () => {
        const [a, b, c] = await Promise.all([under.call(), under.call(), under.call()]);
        const parked = '^^^hangup_after_bridge=false^park_after_bridge=true'; // as our application has it
        for (const { endpoint } of [a, b, c]) await endpoint.execute('multiset', parked);
        [a.peer.saying, b.peer.saying, c.peer.saying] = [440, 700, 1000];
        await a.endpoint.bridge(b.endpoint);
        await Promise.all([a.peer.hears(700), b.peer.hears(440)]);
        await a.endpoint.bridge(c.endpoint);
        await Promise.all([a.peer.hears(1000), c.peer.hears(440)]);
        await until(
          () => b.peer.tonesOf(100).length === 0 && !a.peer.tonesOf(100).includes(700),
          'the first to be let go',
        );
        const heard = b.peer.hears(1500);
        await Promise.all([heard, b.endpoint.play('tone_stream://%(300,0,1500)')]);
        await Promise.all([a.peer.hears(1000), c.peer.hears(440)]);
      },

    'sets variables at once while something plays, and the play goes on': async () => {
      const { endpoint, peer } = await under.call();
      let over = false;
      const played = endpoint.play('tone_stream://%(10000,0,440)').then(() => (over = true));
      await peer.hears(440);
      await endpoint.set('foo', 'bar');
      await peer.hears(440);
      assert.equal(over, false);
      await endpoint.api('uuid_break', endpoint.uuid);
      await played;
    },

    'collects keys to a terminator; the first key ends the prompt': async () => {
      const { endpoint, peer } = await under.call();
      const collecting = endpoint.playCollect({
        file: 'tone_stream://%(5000,0,440)',
        min: 1,
        max: 6,
        timeout: 3000,
        digitTimeout: 2000,
      });
      await peer.hears(440);
      for (const key of '123#') await peer.press(key);
      const { digits, terminatorUsed } = await collecting;
      assert.deepEqual([digits, terminatorUsed], ['123', '#']);
    },

    'plays the invalid file after each try without input, and shows nothing of an earlier collection': async () => {
      const { endpoint, peer } = await under.call();
      const first = endpoint.playCollect({ file: 'silence_stream://100', min: 1, max: 1, timeout: 2000 });
      await once(endpoint, 'playback-start');
      await peer.press('7');
      assert.equal((await first).digits, '7');
      const second = endpoint.playCollect({
        file: 'silence_stream://20',
        invalidFile: 'tone_stream://%(300,0,1200)',
        tries: 2,
        min: 1,
        timeout: 100,
      });
      await peer.hears(1200);
      const { digits, terminatorUsed } = await second;
      assert.deepEqual([digits, terminatorUsed], [null, null]);
    },

    'rejects digits that the expression does not accept and shows them as invalid': async () => {
      const { endpoint, peer } = await under.call();
      const options = {
        file: 'silence_stream://20',
        invalidFile: 'silence_stream://20',
        min: 1,
        max: 1,
        timeout: 2000,
        regexp: '[12]',
      };
      const collecting = endpoint.playCollect(options);
      await once(endpoint, 'playback-stop');
      await peer.press('9');
      const { digits, invalidDigits } = await collecting;
      assert.deepEqual([digits, invalidDigits], [null, '9']);
    },

    'sends keys that the caller receives as telephone-events': async () => {
      const { endpoint, peer } = await under.call();
      await endpoint.execute('send_dtmf', '12#@100');
      await until(() => peer.events.size >= 3, 'three keys');
      assert.deepEqual([...peer.events.values()], [1, 2, 11]);
    },

    'records what the caller says to its limit': async () => {
      const { endpoint, peer } = await under.call();
      peer.saying = 600;
      const file = join(under.directory, 'r1.wav');
      const { recordSeconds, recordMilliseconds } = await endpoint.record(file, { timeLimitSecs: 1 });
      if (!ownServers()) {
        // FreeSWITCH does not tell.
        assert.equal(recordSeconds, '1');
        assert.ok(Math.abs(Number(recordMilliseconds) - 1000) < 60);
      }
      const bytes = await readFile(file);
      const inexact = ownServers() ? 16_000 : 1000; // its limit is the end of the next second of the clock
      assert.ok(Math.abs(bytes.length - 16044) < inexact, `${bytes.length} bytes`);
      const heard = await replay(endpoint, file, peer, 600);
      assert.ok(heard);
    },

    'ends a recording at a terminating key': async () => {
      const { endpoint, peer } = await under.call();
      await endpoint.set('playback_terminators', '#');
      const recording = endpoint.record(join(under.directory, 'r2.wav'));
      await endpoint.api('create_uuid'); // its answer comes after the order to record
      await peer.press('#');
      assert.equal((await recording).terminatorUsed, '#');
    },

    'records both sides beside whatever plays': async () => {
      const { endpoint, peer } = await under.call();
      peer.saying = 600;
      const file = join(under.directory, 'both.wav');
      await endpoint.recordSession(file);
      await endpoint.play('tone_stream://%(600,0,1000)');
      await endpoint.execute('stop_record_session', file);
      peer.saying = 0;
      const played = endpoint.play(file);
      await peer.hears(600);
      await peer.hears(1000);
      await played;
    },

    'fails to record to a place that does not exist, without hanging up': async () => {
      if (ownServers()) return 'unable'; // FreeSWITCH says nothing
      const { endpoint } = await under.call();
      const event = await endpoint.execute('record', `${join(under.directory, 'low.wav', 'below-a-file.wav')} 1`);
      assert.match(event.getHeader('Application-Response') ?? '', /^-ERR/);
      assert.ok(endpoint.connected);
    },

    'bridges two parties, each hearing the other and nothing else, and parts them again': async () => {
      const [a, b] = await Promise.all([under.call(), under.call()]);
      a.peer.saying = 440;
      b.peer.saying = 1000;
      await a.endpoint.bridge(b.endpoint);
      await Promise.all([a.peer.hears(1000), b.peer.hears(440)]);
      assert.deepEqual([a.peer.tonesOf(100), b.peer.tonesOf(100)], [[1000], [440]]);
      await a.peer.press('7');
      await until(() => b.peer.events.size === 1, 'the key on the other side');
      await a.endpoint.unbridge();
      await until(
        () => a.peer.tonesOf(100).length === 0 && b.peer.tonesOf(100).length === 0,
        'silence after the bridge',
      );
      const played = a.endpoint.play('tone_stream://%(500,0,700)');
      await a.peer.hears(700);
      assert.deepEqual(b.peer.tonesOf(100), []);
      await played;
    },

    'parks the party whose partner hangs up': async () => {
      const [a, b] = await Promise.all([under.call(), under.call()]);
      // Without these FreeSWITCH ends the call, and a hang-up that meets the bridge leaves a leg deaf to orders.
      for (const { endpoint } of [a, b])
        await endpoint.execute('multiset', '^^^hangup_after_bridge=false^park_after_bridge=true');
      a.peer.saying = 440;
      await a.endpoint.bridge(b.endpoint);
      await b.peer.hears(440);
      await b.endpoint.destroy();
      const played = a.endpoint.play('tone_stream://%(500,0,700)');
      await a.peer.hears(700);
      await played;
    },

    'silences a muted party for everybody': async () => {
      const [a, b] = await Promise.all([under.call(), under.call()]);
      a.peer.saying = 440;
      await a.endpoint.bridge(b.endpoint);
      await b.peer.hears(440);
      await a.endpoint.mute();
      await until(() => b.peer.tonesOf(100).length === 0, 'silence');
      await a.endpoint.unmute();
      await b.peer.hears(440);
    },

    'lets a caller hear themselves in an echo test until a break': async () => {
      const { endpoint, peer } = await under.call();
      peer.saying = 850;
      const echoing = endpoint.execute('echo');
      await peer.hears(850);
      await endpoint.api('uuid_break', endpoint.uuid);
      await echoing;
      await until(() => peer.tonesOf(100).length === 0, 'silence');
    },
  });
});

describe('audio of the media server, judged by the clock', () => {
  let under: EngineUnderTest;

  withEngine(started => withSounds((under = started)));

  it('reports a key once, at its end, with its length', async () => {
    const { endpoint, peer } = await under.call();
    const digits: unknown[] = [];
    endpoint.on('dtmf', (event: unknown) => digits.push(event));
    await peer.press('5');
    await peer.press('#');
    await until(() => digits.length >= 2, 'two keys');
    assert.deepEqual(digits, [
      { dtmf: '5', duration: '800', source: 'RTP' },
      { dtmf: '#', duration: '800', source: 'RTP' },
    ]);
  });

  it('starts at an offset', async () => {
    const { endpoint } = await under.call();
    const { result, ms } = await timed(endpoint.play({ file: sound(under, 'low.wav'), seekOffset: 1600 }));
    assert.ok(ms < 385, `took ${Math.round(ms)} ms`);
    assert.equal(result.playbackLastOffsetPos, '3200');
  });

  it('plays a list without a gap', async () => {
    const { endpoint, peer } = await under.call();
    const { ms } = await timed(
      endpoint.play([sound(under, 'low.wav'), 'tone_stream://%(300,0,700)', sound(under, 'high.wav')]),
    );
    assert.ok(ms > 1050 && ms < (ownServers() ? 2200 : 1450), `took ${Math.round(ms)} ms`); // FreeSWITCH pauses between
    assert.ok(peer.packets >= 50);
  });

  it('stops a play at once at uuid_break', async () => {
    const { endpoint, peer } = await under.call();
    const played = endpoint.play('tone_stream://%(20000,0,440)');
    await peer.hears(440);
    await endpoint.api('uuid_break', endpoint.uuid);
    const { ms } = await timed(played);
    assert.ok(ms < 300, `took ${Math.round(ms)} ms`);
  });

  it('nests plays: the last is heard first, and they complete in reverse order', async () => {
    const { endpoint } = await under.call();
    const order: number[] = [];
    const start = performance.now();
    const ends: number[] = [];
    await Promise.all(
      [500, 600, 700].map(async (ms, index) => {
        await endpoint.play(`tone_stream://%(${ms},0,${400 + index * 10})`);
        order.push(index + 1);
        ends.push(performance.now() - start);
      }),
    );
    assert.deepEqual(order, [3, 2, 1]);
    for (const [at, expected] of [700, 1300, 1800].entries())
      assert.ok(Math.abs((ends[at] ?? 0) - expected) < 250, `ended after ${ends.join(', ')}`);
  });

  it('ends a play at its time limit', async () => {
    const { endpoint } = await under.call();
    const { ms } = await timed(endpoint.play({ file: 'tone_stream://%(9000,0,440)', timeoutSecs: 2 }));
    assert.ok(ms > 1900 && ms < 2800, `took ${Math.round(ms)} ms`);
  });
});

async function replay(
  endpoint: { play(file: string): Promise<unknown> },
  file: string,
  peer: { saying: number | null; hears(hz: number): Promise<void> },
  hz: number,
): Promise<boolean> {
  peer.saying = 0;
  const played = endpoint.play(file);
  await peer.hears(hz);
  await played;
  return true;
}
