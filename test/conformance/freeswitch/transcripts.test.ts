import { strict as assert } from 'node:assert';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ownServers } from '../../support/own-servers.ts';
import { Comparison, type Difference } from './transcript-comparison.ts';
import { differences } from './transcript-differences.ts';
import { recordedOf } from './transcript-message.ts';
import { Replay } from './transcript-replay.ts';
import { readTranscript } from './transcript.ts';

/** Recordings that cannot be played again, and why. */
const unplayable: Record<string, string> = {
  'esl/31-dtls-offer': 'the offer was cut in the recording; webrtc.test.ts has one',
  'esl/36-freeswitch-killed': 'the server is killed; test/durability does so',
  'esl/37-drachtio-killed': 'the SIP server is killed; test/durability does so',
  'esl/39-idle-rtp-patched-build': 'the same as 34, on a server that sends nothing while idle',
  ...(ownServers() && {
    'esl/22-avmd-tone-detect':
      'mod_avmd is not in our configuration, and an application that is not there ends the call',
    'esl/38-first-conference-after-start': 'the server has to be started for it, and this one stands',
  }),
};

const folder = join(import.meta.dirname, 'transcripts');
const names = ['esl', 'audio-fork'].flatMap(kind =>
  readdirSync(join(folder, kind)).map(file => `${kind}/${file.replace('.txt', '')}`),
);
const played = names.filter(name => !(name in unplayable));

/** The files differ in length: so many are played beside each other. */
const together = 12;

/**
 * Recordings of drachtio-fsmrf with FreeSWITCH 1.10.12, played again byte for byte: the server has to send the same messages in
 * the same order on every connection, with the same values, apart from what `transcript-differences.ts` lists with its reason.
 * An engine of its own for each plays them beside each other; a FreeSWITCH one by one, as slowly as they were recorded.
 */
describe('recordings of FreeSWITCH, played again', () => {
  const verdicts = new Map<string, Promise<string[]>>();
  const met = new Set<Difference>();

  async function judge(name: string): Promise<string[]> {
    const blocks = readTranscript(name);
    const comparison = new Comparison(name, differences);
    const replay = new Replay(comparison);
    await replay.run(blocks);
    const recorded = blocks.flatMap(block => recordedOf(block) ?? []);
    const verdict = comparison.differences(recorded, replay);
    for (const one of comparison.met) met.add(one);
    return verdict;
  }

  before(() => {
    if (ownServers()) return;
    const waiting = [...played];
    const resolvers = new Map<string, (verdict: Promise<string[]>) => void>();
    for (const name of played) verdicts.set(name, new Promise(resolve => resolvers.set(name, resolve)));
    const player = async (): Promise<void> => {
      for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
        const verdict = judge(name);
        resolvers.get(name)?.(verdict);
        await verdict.catch(() => undefined); // its test fails with it
      }
    };
    for (let at = 0; at < together; at += 1) void player();
  });

  if (ownServers()) for (const [name, why] of Object.entries(unplayable)) it(`${name} (not played: ${why})`);

  for (const name of played)
    it(name, async function () {
      this.timeout(ownServers() ? 180_000 : 60_000);
      assert.deepEqual(await (verdicts.get(name) ?? judge(name)), []);
    });

  it('differ in no more than is listed, and in all of that', async function () {
    this.timeout(60_000);
    await Promise.all(verdicts.values());
    assert.deepEqual(
      differences.filter(one => !one.sometimes && !met.has(one)).map(one => `${one.in} ${one.why}`),
      [],
    );
    assert.deepEqual(
      Object.keys(unplayable).filter(name => !names.includes(name)),
      [],
    );
  });
});
