import { strict as assert } from 'node:assert';
import { parseJoin } from '../../../../engine/freeswitch/conference/conferences.ts';
import { PlayQueue } from '../../../../engine/freeswitch/conference/play-queue.ts';
import { TalkDetector } from '../../../../engine/freeswitch/conference/talk-detector.ts';

describe('what a conference is made of', () => {
  it('reads name, profile, pin and flags of a join', () => {
    const read = (data: string) => {
      const { name, profile, pin, flags } = parseJoin(data);
      return [name, profile, pin, [...flags].filter(flag => flag !== '').join()];
    };
    assert.deepEqual(read('room1@wb+42+flags{mute|endconf}'), ['room1', 'wb', '42', 'mute,endconf']);
    assert.deepEqual(read('cc++flags{endconf|mute|vmute}'), ['cc', 'default', '', 'endconf,mute,vmute']);
    assert.deepEqual(read('cc+flags{ghost}'), ['cc', 'default', '', 'ghost']);
    assert.deepEqual(read(' cc '), ['cc', 'default', '', '']);
    assert.deepEqual(read('cc+1234'), ['cc', 'default', '1234', '']);
    for (const data of ['', '@a', '+1', 'a b', 'a\nb', 'a;b', 'a\0b', 'a@b@c', 'a'.repeat(129), `a+${'1'.repeat(65)}`])
      assert.throws(() => parseJoin(data), /no conference is named/, data);
  });

  it('hears loud talk at once, faint talk after 100 ms, a click not at all, and bridges the pauses between words', () => {
    const talk = new TalkDetector();
    const push = (level: number, frames: number) => Array.from({ length: frames }, () => talk.push(level));
    assert.deepEqual(push(5000, 2), ['start', null]);
    assert.ok(push(0, 30).every(one => one === null));
    assert.ok(push(5000, 1).every(one => one === null));
    assert.deepEqual(push(0, 40).lastIndexOf('stop'), 39);
    assert.deepEqual(push(200, 5), [null, null, null, null, 'start']);
    push(0, 40);
    assert.deepEqual([...push(200, 3), ...push(0, 1), ...push(200, 3)], Array(7).fill(null));
  });

  it('tells the ends of sounds in their order, however short they are', async () => {
    const told: string[] = [];
    await new Promise<void>(resolve => {
      const queue = new PlayQueue({
        start: (_source, onEnd) => (queueMicrotask(onEnd), () => undefined),
        done: file => told.push(file) === 20 && resolve(),
      });
      for (let one = 0; one < 20; one += 1) queue.add(String(one), { read: () => false });
    });
    assert.deepEqual(
      told,
      Array.from({ length: 20 }, (_, one) => String(one)),
    );
  });

  it('gives up every sound at the end, once', () => {
    const told: [string, number][] = [];
    const queue = new PlayQueue({ start: () => () => undefined, done: (file, samples) => told.push([file, samples]) });
    for (const file of ['a', 'b', 'c']) queue.add(file, { read: () => true, position: 160 });
    queue.end();
    queue.end();
    assert.deepEqual(
      told.map(([file]) => file),
      ['a', 'b', 'c'],
    );
    assert.equal(queue.size, 0);
  });
});
