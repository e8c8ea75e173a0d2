import { strict as assert } from 'node:assert';
import type { Digit } from '../../../../engine/media/telephone-event.ts';
import { digitFrequencies, DigitReceiver, DigitSender, writeEvent } from '../../../../engine/media/telephone-event.ts';

interface Sent {
  event: number;
  duration: number;
  end?: boolean;
  timestamp: number;
}

class Ear {
  readonly digits: Digit[] = [];
  readonly receiver = new DigitReceiver(digit => this.digits.push(digit));
  tick = 0;

  hear({ event, duration, end = false, timestamp }: Sent): void {
    const bytes = Buffer.alloc(4);
    writeEvent(bytes, 0, { event, duration, end, marker: false, first: false });
    this.receiver.packet(bytes, 0, 4, timestamp, this.tick);
    this.pass(1);
  }

  pass(ticks: number): void {
    for (let i = 0; i < ticks; i++) this.receiver.tick(++this.tick);
  }
}

/** A press of 100 ms as telephones send it. */
function press(event: number, timestamp: number): Sent[] {
  const updates = [160, 320, 480, 640, 800].map(duration => ({ event, duration, timestamp }));
  return [...updates, ...[1, 2, 3].map(() => ({ event, duration: 800, end: true, timestamp }))];
}

describe('Digits by RFC 4733', () => {
  it('one press is one digit at its end, with its duration', () => {
    const ear = new Ear();
    const packets = press(5, 1000);
    for (const one of packets.slice(0, 5)) ear.hear(one);
    assert.deepEqual(ear.digits, []);
    for (const one of packets.slice(5)) ear.hear(one);
    assert.deepEqual(ear.digits, [{ digit: '5', duration_samples: 800 }]);
  });

  it('any subset of the packets of a press is still one digit', () => {
    for (let mask = 1; mask < 256; mask++) {
      const ear = new Ear();
      press(9, 1000).forEach((one, i) => mask & (1 << i) && ear.hear(one));
      ear.pass(15);
      assert.deepEqual(
        ear.digits.map(one => one.digit),
        ['9'],
        `packets ${mask.toString(2)}`,
      );
    }
  });

  it('a press whose end is lost ends when the next begins, or after 200 ms', () => {
    const ear = new Ear();
    for (const one of [...press(1, 1000).slice(0, 5), ...press(1, 3000).slice(0, 5)]) ear.hear(one);
    assert.equal(ear.digits.length, 1);
    ear.pass(10);
    assert.deepEqual(ear.digits, [
      { digit: '1', duration_samples: 800 },
      { digit: '1', duration_samples: 800 },
    ]);
  });

  it('the same key twice is two digits; late repetitions of the first are none', () => {
    const ear = new Ear();
    for (const one of [...press(7, 1000), ...press(7, 2600)]) ear.hear(one);
    for (const one of press(7, 1000)) ear.hear(one);
    assert.equal(ear.digits.length, 2);
  });

  it('a key held for longer than the field can say is one digit', () => {
    const ear = new Ear();
    ear.hear({ event: 3, duration: 0xffff, timestamp: 1000 });
    ear.hear({ event: 3, duration: 4000, timestamp: 1000 + 0xffff });
    ear.hear({ event: 3, duration: 8000, end: true, timestamp: 1000 + 0xffff });
    assert.deepEqual(ear.digits, [{ digit: '3', duration_samples: 0xffff + 8000 }]);
  });

  it('works across the wrap of timestamps, and after a party starts again at lower ones', () => {
    const ear = new Ear();
    for (const one of [...press(1, 0xfffffff0), ...press(2, 0x200)]) ear.hear(one);
    ear.pass(60);
    for (const one of press(3, 0x100)) ear.hear(one);
    assert.equal(ear.digits.map(one => one.digit).join(''), '123');
  });

  it('knows all sixteen keys and ignores flash', () => {
    const ear = new Ear();
    for (let event = 0; event <= 16; event++) for (const one of press(event, 1000 + event * 2000)) ear.hear(one);
    assert.equal(ear.digits.map(one => one.digit).join(''), '0123456789*#ABCD');
  });

  it('refuses payloads that are too short', () => {
    assert.equal(new Ear().receiver.packet(Buffer.alloc(3), 0, 3, 1, 1), false);
  });
});

describe('Sending digits', () => {
  it('a press has rising durations, three equal ends, and a gap', () => {
    const sender = new DigitSender();
    sender.push('5', 100, 60);
    const sent = Array.from({ length: 12 }, () => {
      const one = sender.next();
      return one && `${one.first ? 'first ' : ''}${one.duration}${one.end ? ' end' : ''}`;
    });
    assert.deepEqual(sent.slice(0, 7), ['first 160', '320', '480', '640', '800 end', '800 end', '800 end']);
    assert.deepEqual(sent.slice(7), [null, null, null, null, null]);
    assert.equal(sender.busy, false);
  });

  it('leaves out what is no key, and waits for w', () => {
    const sender = new DigitSender();
    sender.push('1x\r\nw2', 40, 40);
    const events: number[] = [];
    let ticks = 0;
    for (; sender.busy; ticks++) {
      const one = sender.next();
      if (one?.first) events.push(one.event);
    }
    assert.deepEqual([events, ticks], [[1, 2], 6 + 25 + 6]);
  });

  it('bounds the queue', () => {
    const sender = new DigitSender();
    for (let i = 0; i < 10; i++) sender.push('1'.repeat(5000), 100, 100);
    assert.equal(sender.pushed, 512);
  });

  it('keys have their two frequencies', () => {
    assert.deepEqual(['1', '0', '#', 'd', 'x', ''].map(digitFrequencies), [
      [697, 1209],
      [941, 1336],
      [941, 1477],
      [941, 1633],
      null,
      null,
    ]);
  });
});
