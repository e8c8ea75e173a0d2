import { strict as assert } from 'node:assert';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { parseDatagram } from '../../../engine/sip/parser.ts';
import { headerOf, headersOf, isRequest, type SipRequest } from '../../../engine/sip/message.ts';
import { listOf } from '../../../engine/sip/grammar.ts';
import { parseNameAddr, parseUri } from '../../../engine/sip/uri.ts';
import { engineOnly } from '../../support/engine-only.ts';
import { Heard } from '../drachtio/peer.ts';
import { Rig, SHORT } from '../drachtio/rig.ts';
import { TORTURE, type Torture } from './rfc4475.ts';

const METHODS = ['invite', 'register', 'options', 'message'];

const wordOf = (text: string, name: RegExp): string =>
  new RegExp(`^(?:${name.source})[ \\t]*:\\s*(\\S+)`, 'im').exec(text)?.[1] ?? '';
const callIdOf = (text: string): string => wordOf(text, /Call-ID|i/);

const SILENT = 'drachtio-server does not answer it';
const REFUSES = 'drachtio-server refuses it with 400';
const TAKES = 'drachtio-server takes it';
/** What becomes of others of them there. */
const DRACHTIO: Record<string, string> = {
  ...{ intmeth: SILENT, esc02: SILENT, longreq: SILENT, badinv01: SILENT, scalar02: SILENT, lwsruri: SILENT },
  ...{ lwsstart: SILENT, trws: SILENT, badvers: SILENT, unkscm: SILENT, novelsc: SILENT, bext01: SILENT },
  ...{ regaut01: SILENT, mpart01: REFUSES, baddate: REFUSES, baddn: REFUSES, escruri: TAKES, inv2543: TAKES },
};

/** Such a test on real servers, where all others are held to the same. */
const onBoth = (name: string, title: string, test: Mocha.AsyncFunc): void => {
  const why = DRACHTIO[name];
  if (why) engineOnly(why, title, test);
  else it(title, test);
};

describe('sip torture (RFC 4475)', () => {
  /** What applications saw, as `Call-ID METHOD`, and the final answers by message. */
  const seen = new Set<string>();
  const answers = new Map<string, Heard[]>();

  /** Sends a message from a socket of its own, and after it a question that is answered last. */
  async function torture(rig: Rig, { name, text }: Torture): Promise<void> {
    const socket = createSocket('udp4');
    const heard: Heard[] = [];
    const end = `end-of-${name}@127.0.0.1`;
    answers.set(name, heard);
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no answer after ${name}`)), 5000);
      socket.on('message', data => {
        const one = new Heard(data.toString());
        if (one.get('Call-ID') !== end) return void (/ 1\d\d /.test(one.start) || heard.push(one));
        clearTimeout(late);
        resolve();
      });
      socket.bind(0, '127.0.0.1', () => {
        socket.send(Buffer.from(text, 'latin1'), rig.server.port, '127.0.0.1');
        // The application answers it, too, in its turn.
        const head = ['OPTIONS sip:127.0.0.1 SIP/2.0', `Via: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bK${name}.end`];
        const others = ['From: <sip:a@b>;tag=1', 'To: <sip:a@b>', `Call-ID: ${end}`, 'CSeq: 1 OPTIONS', '', ''];
        socket.send([...head, ...others].join('\r\n'), rig.server.port, '127.0.0.1');
      });
    });
    socket.close();
    await once(socket, 'close');
  }

  before(async () => {
    const rig = await Rig.start({ timers: SHORT });
    await rig.app(client => {
      for (const method of METHODS)
        client.use(method, (request, response) => {
          seen.add(`${request.get('Call-ID')} ${request.method}`);
          response.send(request.method === 'INVITE' ? 486 : 200);
        });
    });
    await Promise.all(TORTURE.map(one => torture(rig, one)));
    await rig.close();
  });

  it('has all 49 messages, and those that say a length say the true one unless it is their point', () => {
    assert.equal(new Set(TORTURE.map(one => one.name)).size, 49);
    const wrong = TORTURE.filter(({ text }) => {
      const length = /^(?:Content-Length|l) *: *(-?\d+)/im.exec(text)?.[1];
      return length !== undefined && Number(length) !== text.length - text.indexOf('\r\n\r\n') - 4;
    });
    assert.deepEqual(
      wrong.map(one => one.name),
      ['dblreq', 'clerr', 'ncl', 'mcl01'],
    );
  });

  for (const { section, name, verdict, why, text } of TORTURE) {
    const said = verdict === '' ? 'gets no answer' : typeof verdict === 'number' ? `gets ${verdict}` : 'is taken';
    onBoth(name, `${section} ${name} ${said}: ${why}`, async () => {
      const statuses = [...new Set(answers.get(name)?.map(one => one.start.split(' ')[1]))];
      const taken = METHODS.filter(one => seen.has(`${callIdOf(text)} ${one.toUpperCase()}`));
      if (typeof verdict === 'number' || verdict === '') {
        assert.deepEqual([statuses, taken], [verdict === '' ? [] : [String(verdict)], []]);
      } else {
        assert.deepEqual(taken, [verdict.toLowerCase()]);
        assert.deepEqual(statuses, [verdict === 'INVITE' ? '486' : '200']);
      }
      // An answer names what it answers, whatever else was wrong (RFC 3261 8.2.6.2).
      for (const one of answers.get(name) ?? []) assert.equal(one.get('Call-ID'), callIdOf(text));
    });
  }

  const read = (name: string): SipRequest => {
    const parsed = parseDatagram(Buffer.from(TORTURE.find(one => one.name === name)?.text ?? '', 'latin1'));
    assert(parsed.ok, parsed.ok ? '' : parsed.error);
    assert(isRequest(parsed.message));
    return parsed.message;
  };

  it('wsinv is understood in every part', () => {
    const message = read('wsinv');
    assert.equal(parseNameAddr(headerOf(message, 'to') ?? '')?.params.get('tag'), '1918181833n');
    const from = parseNameAddr(headerOf(message, 'from') ?? '');
    assert.deepEqual([from?.display, from?.params.get('tag')], ['J Rosenberg \\"', '98asjd8']);
    assert.equal(listOf(headersOf(message, 'via')).length, 3);
    assert.equal(parseNameAddr(headerOf(message, 'contact') ?? '')?.params.get('q'), '0.33');
    assert.equal(headerOf(message, 'newfangledheader'), 'newfangled value continued newfangled value');
    assert.equal(message.body.length, 150);
  });

  it('intmeth keeps its method, its names and what is no ASCII', () => {
    const message = read('intmeth');
    assert.equal(message.method, "!interesting-Method0123456789_*+`.%indeed'~");
    assert.equal(parseUri(message.uri)?.host, 'example.com');
    assert.equal(parseNameAddr(headerOf(message, 'from') ?? '')?.params.get("fromparam''~+*_!.-%"), '"работающий"');
    assert.equal(parseNameAddr(headerOf(message, 'from') ?? '')?.params.get('tag'), "_token~1'+`*%!-.");
    // NUL reaches neither applications nor databases: a blank stands for it.
    assert.equal(parseNameAddr(headerOf(message, 'to') ?? '')?.display, 'BEL:\x07 NUL:  DEL:\x7f');
    assert.equal(headerOf(message, "extensionHeader-!.%*+_`'~")?.endsWith('大停電'), true);
  });

  it('esc01, esc02 and escnull: nothing is unescaped on the way', () => {
    assert.equal(parseUri(read('esc01').uri)?.user, 'sips%3Auser%40example.com');
    assert.deepEqual(headersOf(read('esc02'), 'contact').length, 2);
    assert.deepEqual(headersOf(read('escnull'), 'contact')[0], '<sip:%00@host5.example.com>');
  });

  it('semiuri, cparam01 and cparam02: whose a parameter is', () => {
    assert.equal(parseUri(read('semiuri').uri)?.user, 'user;par=u%40example.net');
    const contact = (name: string) => parseNameAddr(headerOf(read(name), 'contact') ?? '');
    assert.equal(contact('cparam01')?.params.has('unknownparam'), true);
    assert.equal(contact('cparam02')?.params.has('unknownparam'), false);
    assert.equal(parseUri(contact('cparam02')?.uri ?? '')?.params.has('unknownparam'), true);
  });

  it('longreq and mpart01 arrive whole', () => {
    assert.equal(listOf(headersOf(read('longreq'), 'via')).length, 34);
    const { body } = read('mpart01');
    assert.equal(body.length, 553);
    assert.equal(body.includes(Buffer.from([0, 1, 2, 3])), true);
  });
});
