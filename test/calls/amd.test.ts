import { strict as assert } from 'node:assert';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { flite } from '../../media-app/speech/flite.ts';
import { withOffice, type Office } from '../support/office.ts';
import { wavSamples } from '../support/phone.ts';
import type { PhoneCall } from '../support/phone-call.ts';

const HUMAN_HZ = 700;
const MACHINE_HZ = 1500;
const MACHINE = 'f0000000-0000-4000-8000-0000000000a1';
const END = 'f0000000-0000-4000-8000-0000000000ff';

/** Tells by a tone who was found. */
const telling = [
  {
    type: 'condition_variable',
    option: {
      variable: 'svc.call.amd_result',
      value_type: 'string',
      condition: '==',
      value_string: 'human',
      false_target_id: MACHINE,
    },
  },
  { type: 'play', next_id: END, option: { stream_urls: [`tone_stream://%(1500,0,${HUMAN_HZ})`] } },
  { id: MACHINE, type: 'play', next_id: END, option: { stream_urls: [`tone_stream://%(1500,0,${MACHINE_HZ})`] } },
  { id: END, type: 'hangup', option: {} },
];

const PERSON = 'Hello?';
const MACHINE_TEXT =
  'Hi, you have reached the Smith family. We cannot come to the phone right now, please leave a message after the tone.';

describe('who has answered', function () {
  this.timeout(60_000);
  let office: Office;
  let dir: string;

  withOffice(opened => (office = opened));
  before(() => void (dir = mkdtempSync(join(tmpdir(), 'trunkline-amd-'))));
  after(() => rmSync(dir, { recursive: true, force: true }));

  const spoken = async (text: string, voice_id: string): Promise<Int16Array> => {
    const speech = { text, language: 'en-US', provider: '', voice_id };
    return wavSamples(await flite({ dir }).synthesize(speech, new AbortController().signal));
  };

  const called = async (actions: unknown[]): Promise<{ id: string; incoming: PhoneCall }> => {
    const phone = await office.registered('1001');
    const { id } = await office.ring('1001', actions);
    const incoming = await phone.waitForCall();
    incoming.answer();
    return { id, incoming };
  };

  for (const voice of ['slt', 'rms', 'awb'])
    it(`a hello of ${voice} is a person's, within three seconds`, async () => {
      const hello = await spoken(PERSON, voice);
      const { id, incoming } = await called([{ type: 'amd', option: { machine_handle: 'hangup' } }, ...telling]);
      const began = performance.now();
      await incoming.playSamples(hello);
      await incoming.hears(HUMAN_HZ);
      assert.ok(performance.now() - began < 3000, `${performance.now() - began} ms`);
      assert.equal((await office.ended(id)).hangup_reason, 'normal');
    });

  it('a long greeting is a machine’s, and the call is hung up for that', async () => {
    const greeting = await spoken(MACHINE_TEXT, 'slt');
    const { id, incoming } = await called([{ type: 'amd', option: { machine_handle: 'hangup' } }, ...telling]);
    void incoming.playSamples(greeting);
    assert.equal((await incoming.ended()).by, 'them');
    const over = await office.ended(id);
    assert.deepEqual([over.hangup_by, over.hangup_reason], ['local', 'amd']);
  });

  it('a beep is a machine’s, and the flow goes on with that where the author wants it', async () => {
    const { incoming } = await called([{ type: 'amd', option: { machine_handle: 'continue' } }, ...telling]);
    incoming.playTone(1000);
    await incoming.hears(MACHINE_HZ);
    incoming.playSilence();
    await incoming.ended();
  });

  it('listens aside while the flow speaks, and hangs up on a machine', async () => {
    const greeting = await spoken(MACHINE_TEXT, 'rms');
    const { id, incoming } = await called([
      { type: 'amd', option: { machine_handle: 'hangup', async: true } },
      { type: 'play', option: { stream_urls: [`tone_stream://%(20000,0,${HUMAN_HZ})`] } },
    ]);
    void incoming.playSamples(greeting);
    await incoming.hears(HUMAN_HZ);
    await incoming.ended();
    assert.equal((await office.ended(id)).hangup_reason, 'amd');
  });

  it('somebody who hangs up while it listens ends the call, and nothing stays', async () => {
    const { id, incoming } = await called([{ type: 'amd', option: { machine_handle: 'hangup' } }, ...telling]);
    await incoming.hangup();
    const over = await office.ended(id);
    assert.deepEqual([over.hangup_by, over.hangup_reason], ['remote', 'normal']);
  });
});
