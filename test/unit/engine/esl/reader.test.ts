import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import { EslReader } from '../../../../engine/esl/reader.ts';

describe('event socket reader', () => {
  it('reads a command with headers whatever pieces it arrives in', () => {
    const text = 'sendmsg 1\nexecute-app-name: playback\nexecute-app-arg: a: b\nEvent-UUID: x\n\napi status\n\n';
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 }), sizes => {
        const reader = new EslReader();
        const messages = [];
        for (let at = 0, turn = 0; at < text.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          messages.push(...reader.push(Buffer.from(text.slice(at, at + size))));
          at += size;
        }
        assert.deepEqual(
          messages.map(one => one.command),
          ['sendmsg 1', 'api status'],
        );
        assert.equal(messages[0]?.headers.get('execute-app-arg'), 'a: b');
      }),
    );
  });

  it('accepts CRLF line ends and empty lines before a command', () => {
    const [message] = new EslReader().push(Buffer.from('\r\n\n\nauth x\r\nA: b\r\n\r\n'));
    assert.equal(message?.command, 'auth x');
    assert.equal(message.headers.get('a'), 'b');
  });

  it('counts a body in bytes', () => {
    const [first, second] = new EslReader().push(Buffer.from('sendmsg\ncontent-length: 7\n\ngrüße\nexit\n\n'));
    assert.equal(first?.body, 'grüße');
    assert.equal(second?.command, 'exit');
  });

  it('lets the first of two equal headers win, so that a smuggled line cannot replace it', () => {
    const [message] = new EslReader().push(Buffer.from('sendmsg\nexecute-app-name: set\nexecute-app-name: log\n\n'));
    assert.equal(message?.headers.get('execute-app-name'), 'set');
  });

  it('gives up on a command without end and on a body without measure', () => {
    const reader = new EslReader({ headerBytes: 100, bodyBytes: 100 });
    assert.throws(() => reader.push(Buffer.alloc(200, 'a')));
    assert.throws(() => new EslReader({ bodyBytes: 100 }).push(Buffer.from('sendmsg\ncontent-length: 101\n\n')));
    assert.throws(() => new EslReader().push(Buffer.from('sendmsg\ncontent-length: -1\n\n')));
  });

  it('is not slowed down by a client that sends a long body byte by byte', () => {
    const reader = new EslReader();
    const body = Buffer.alloc(1_000_000, 'é'); // a minute, were every byte to move all that came before
    reader.push(Buffer.from(`sendmsg\ncontent-length: ${body.length}\n\n`));
    const messages = [...body].flatMap((_, at) => reader.push(body.subarray(at, at + 1)));
    assert.equal(messages[0]?.body, body.toString());
  });

  it('survives any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), bytes => {
        try {
          new EslReader({ headerBytes: 200, bodyBytes: 50 }).push(Buffer.from(bytes));
        } catch (error) {
          assert.match(String(error), /event socket command/);
        }
      }),
    );
  });
});
