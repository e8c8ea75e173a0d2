import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import { listOf } from '../../../../engine/sip/grammar.ts';
import { hopOfUri } from '../../../../engine/sip/hop.ts';
import { formatUri, parseNameAddr, parseUri, tagOf } from '../../../../engine/sip/uri.ts';
import { formatVia, parseVia } from '../../../../engine/sip/via.ts';

describe('sip uris and addresses', () => {
  it('reads user, host, port, parameters and headers', () => {
    const uri = parseUri('sip:+1;x=y@Example.COM:5070;transport=TCP;lr?Subject=a');
    assert.equal(uri?.user, '+1;x=y');
    assert.equal(uri?.host, 'Example.COM');
    assert.equal(uri?.port, 5070);
    assert.deepEqual(
      [...(uri?.params ?? [])],
      [
        ['transport', 'TCP'],
        ['lr', ''],
      ],
    );
    assert.equal(uri?.headers, 'Subject=a');
  });

  it('reads IPv6, tel and user-less URIs, and writes them back the same', () => {
    for (const text of ['sip:a@[2001:db8::1]:5060;lr', 'tel:+4930123;phone-context=x', 'sips:host', 'sip:[::1]'])
      assert.equal(formatUri(parseUri(text) ?? assert.fail(text)), text);
  });

  it('refuses what is no URI', () => {
    for (const text of [
      '',
      'sip:',
      'http://a',
      'sip:@b',
      'sip:a@',
      'sip:a@b:0',
      'sip:a@b:70000',
      'sip:a b@c',
      'sip:a@[::1',
    ])
      assert.equal(parseUri(text), undefined, text);
    assert.equal(parseUri(`sip:${'a'.repeat(3000)}@b`), undefined);
  });

  it('tells header parameters from URI parameters', () => {
    assert.equal(tagOf('"A \\" <x>;" <sip:a@b;tag=no>;tag=yes;q=1'), 'yes');
    assert.equal(tagOf('sip:a@b;tag=t'), 't');
    assert.equal(parseNameAddr('sip:a@b;tag=t')?.uri, 'sip:a@b');
    assert.equal(parseNameAddr('"Ann \\"A\\"" <sip:a@b>')?.display, 'Ann "A"');
    for (const bad of ['', 'Ann', '<sip:a@b', '<>', '<sip:a@b> rubbish'])
      assert.equal(parseNameAddr(bad), undefined, bad);
  });

  it('splits lists at commas outside quotes and brackets only', () => {
    const list = listOf(['"a,b" <sip:a@b;x=1,2>, <sip:c@d>', ' <sip:e@f> ,']);
    assert.deepEqual(list, ['"a,b" <sip:a@b;x=1,2>', '<sip:c@d>', '<sip:e@f>']);
  });

  it('reads Via with odd spacing', () => {
    const via = parseVia('SIP / 2.0 / UDP  host : 5061 ; branch=z9hG4bKx ;rport');
    assert(via);
    assert.equal(formatVia(via), 'SIP/2.0/UDP host:5061;branch=z9hG4bKx;rport');
    assert.equal(parseVia('SIP/3.0/UDP host'), undefined);
  });

  it('finds the next hop of a URI, and none for transports we do not speak', () => {
    assert.deepEqual(hopOfUri('sip:a@h;transport=tcp'), { transport: 'tcp', host: 'h', port: 0 });
    assert.deepEqual(hopOfUri('sip:a@h;maddr=m;transport=udp'), { transport: 'udp', host: 'm', port: 0 });
    for (const [text, transport] of [
      ['sips:a@h', 'tls'],
      ['sips:a@h;transport=tcp', 'tls'],
      ['sips:a@h;transport=ws', 'wss'],
      ['sip:a@h;transport=TLS', 'tls'],
      ['sip:a@h;transport=wss', 'wss'],
    ])
      assert.equal(hopOfUri(text ?? '')?.transport, transport, text);
    for (const text of ['sips:a@h;transport=udp', 'sip:a@h;transport=sctp', 'tel:1'])
      assert.equal(hopOfUri(text), undefined, text);
  });

  it('leaves the transport open to the records of a name only where the URI says neither transport nor port', () => {
    assert.deepEqual(hopOfUri('sip:a@h'), { transport: 'udp', host: 'h', port: 0, open: true });
    for (const text of ['sip:a@h:5060', 'sip:a@h;transport=udp', 'sip:a@192.0.2.1', 'sip:a@x.localhost', 'sip:a@[::1]'])
      assert.equal(hopOfUri(text)?.open, undefined, text);
  });

  it('never throws, whatever the text', () => {
    const part = fc.constantFrom('sip:', '@', ':', '[', ']', ';', '?', '<', '>', '"', '\\', ',', 'SIP/2.0/UDP ', '=');
    const text = fc.array(fc.oneof(part, fc.string({ maxLength: 5 })), { maxLength: 30 }).map(parts => parts.join(''));
    fc.assert(
      fc.property(text, value => {
        const uri = parseUri(value);
        if (uri) assert.deepEqual(parseUri(formatUri(uri)), uri);
        parseNameAddr(value);
        parseVia(value);
        listOf([value]);
      }),
      { numRuns: 3000 },
    );
  });
});
