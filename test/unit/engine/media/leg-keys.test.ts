import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import type { Digit } from '../../../../engine/media/telephone-event.ts';
import { loudness } from '../../../../engine/media/tones.ts';
import { hears, line, listen, play, says, ticks, withLegs } from './leg-rig.ts';

describe('Keys that a party of an audio leg presses, and that it is sent', () => {
  withLegs();

  it('presses keys at the clock of Opus, and tells their length in samples', async () => {
    const [a, b] = await line({ codec: 'opus', payloadType: 102, telephoneEvent: 103 });
    const pressed: [string, number][] = [];
    b.on('digit', ({ digit, duration_samples }) => pressed.push([digit, duration_samples]));
    await play(a, 440);
    await listen(b);
    await a.sendDigits('5#');
    await ticks(10);
    assert.deepEqual(pressed, [
      ['5', 800],
      ['#', 800],
    ]);
    await says(b, [440]);
  });

  it('digits arrive once each, in order, and are not heard as noise', async () => {
    const [a, b] = await line();
    const digits: string[] = [];
    b.on('digit', one => digits.push(`${one.digit}:${one.duration_samples}`));
    const quiet = listen(b, 0);
    await a.sendDigits('159#', 80, 60);
    await ticks(5);
    assert.deepEqual(digits, ['1:640', '5:640', '9:640', '#:640']);
    assert.ok(loudness(await quiet) < 20);
  });

  it('digits of one bridged party are reported and passed on', async () => {
    const [phoneA, a] = await line();
    const [phoneB, b] = await line();
    a.bridge(b);
    const reported = once(a, 'digit');
    const passed = once(phoneB, 'digit');
    await ticks(3);
    await phoneA.sendDigits('7');
    assert.equal(((await reported) as [{ digit: string }])[0].digit, '7');
    assert.equal(((await passed) as [{ digit: string }])[0].digit, '7');
  });

  it('a party without telephone-event gets digits as tones', async () => {
    const [a, b] = await line({ telephoneEvent: null });
    b.hearTones(false);
    await ticks(10);
    const heard = listen(b, 0);
    void a.sendDigits('5', 1000);
    hears((await heard).subarray(640), [770, 1336], [697, 941]);
  });

  it('keys of a party without telephone-event are taken from its tones, which others hardly hear', async () => {
    const [a, b] = await line({ telephoneEvent: null });
    const digits: Digit[] = [];
    b.on('digit', digit => digits.push(digit));
    let loud = 0;
    b.addTap({ frame: said => (loud += loudness(said) > 100 ? 1 : 0) });
    await ticks(10);
    await a.sendDigits('1590D*#55', 80, 60);
    await ticks(6);
    assert.equal(digits.map(({ digit }) => digit).join(''), '1590D*#55');
    assert.ok(digits.every(({ inband, duration_samples }) => inband && Math.abs(duration_samples - 640) <= 160));
    assert.ok(loud <= 2 * digits.length, `${loud} frames of tones`);
  });

  it('nobody waits for keys that there is no room for', async () => {
    const [a] = await line();
    const sent = a.sendDigits('1'.repeat(512)).then(() => 'sent');
    assert.equal(await Promise.race([a.sendDigits('2').then(() => 'no room'), ticks(20)]), 'no room');
    a.close();
    assert.equal(await sent, 'sent');
  });

  it('closing ends waiting digits and may be done twice', async () => {
    const [a] = await line();
    const sent = a.sendDigits('123456789');
    a.close();
    a.close();
    await sent;
  });
});
