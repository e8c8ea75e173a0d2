import { strict as assert } from 'node:assert';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { WebSocket } from 'ws';
import { Certificates, type CertificateFiles } from '../../../engine/sip/certificates.ts';
import { silentLog } from '../../../engine/sip/log.ts';
import { selfSigned } from '../../../engine/sip/self-signed.ts';
import { SDP, TcpPeer, WsPeer, type Heard, type Peer } from '../drachtio/peer.ts';
import { Rig, type Call, type Client, type Request, type Response } from '../drachtio/rig.ts';
import { engineSuite } from '../../support/engine-only.ts';

/** Two certificates in files, and what to trust to believe them. */
class Papers {
  ca = '';
  readonly folder = mkdtempSync(join(tmpdir(), 'transport-test-'));
  readonly first = this.issue('first', ['127.0.0.1', 'pbx.example']);
  readonly second = this.issue('second', ['other.example', '*.reg.example']);
  readonly certificates = new Certificates({ files: [this.first, this.second], watchMs: 20, log: silentLog });

  issue(name: string, names: string[]): CertificateFiles {
    const { cert, key } = selfSigned(names);
    const files = { cert: join(this.folder, `${name}.crt`), key: join(this.folder, `${name}.key`) };
    writeFileSync(files.key, key);
    writeFileSync(files.cert, cert);
    if (name === 'first') this.ca = cert;
    return files;
  }

  close(): void {
    this.certificates.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const registrar = (request: Request, response: Response): void =>
  response.send(200, { headers: { Contact: request.get('Contact'), Expires: 60 } });

const until = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
  for (const deadline = Date.now() + 3000; !(await holds()); await new Promise(resolve => setTimeout(resolve, 5)))
    assert(Date.now() < deadline, `${what} did not come true`);
};

engineSuite('it brings certificates, addresses and ports of its own', 'SIP transports', () => {
  let papers: Papers;
  let rig: Rig;
  let app: Client;

  before(async () => {
    papers = new Papers();
    rig = await Rig.start({ ports: { tls: 0, ws: 0, wss: 0 }, certificates: papers.certificates });
    app = await rig.app(client => client.register(registrar));
  });
  after(async () => {
    await rig.close();
    papers.close();
  });

  const connections = (): number => rig.server.stats().connections;

  const kinds: Record<
    'tcp' | 'tls' | 'ws' | 'wss',
    { open: () => Promise<TcpPeer | WsPeer>; via: string; protocol: string }
  > = {
    tcp: { open: () => TcpPeer.open(rig.server.port), via: 'TCP', protocol: 'tcp' },
    tls: { open: () => TcpPeer.openTls(rig.server.ports.tls ?? 0, { ca: papers.ca }), via: 'TLS', protocol: 'tls' },
    ws: { open: () => WsPeer.open(rig.server.ports.ws ?? 0), via: 'WS', protocol: 'tcp' },
    wss: { open: () => WsPeer.open(rig.server.ports.wss ?? 0, papers.ca), via: 'WSS', protocol: 'tls' },
  };

  /** The application calls a phone over the connection it registered by. */
  async function ring(phone: Peer, transport: string, body = SDP): Promise<{ call: Promise<Call>; invite: Heard }> {
    const call = app.createUAC(`sip:alice@${phone.host}:${phone.port};transport=${transport}`, { localSdp: body });
    return { call, invite: await phone.expect(/^INVITE/) };
  }

  async function registered(transport: keyof typeof kinds): Promise<TcpPeer | WsPeer> {
    const phone = rig.keep(await kinds[transport].open());
    phone.request('REGISTER', 'sip:127.0.0.1');
    await phone.expect(/ 200 /);
    return phone;
  }

  it('an application is told every address that is listened on', async () => {
    let told = '';
    await rig.app(client => client.on('connect', (_error, hostports: string) => (told = hostports)));
    const { tls, ws, wss } = rig.server.ports;
    const sip = rig.server.port;
    const places = [`udp/127.0.0.1:${sip}`, `tcp/127.0.0.1:${sip}`, `tls/127.0.0.1:${tls}`, `ws/127.0.0.1:${ws}`];
    for (const place of [...places, `wss/127.0.0.1:${wss}`])
      assert(told.split(',').includes(place), `${place} in ${told}`);
  });

  for (const transport of ['tcp', 'tls', 'ws', 'wss'] as const) {
    const { via, protocol } = kinds[transport];
    describe(`over ${via}`, () => {
      it('a phone registers, is rung over its connection, talks back and is hung up on', async () => {
        const phone = await registered(transport);
        const before = connections();
        const { call, invite } = await ring(phone, transport);
        assert.match(invite.get('Via'), new RegExp(`^SIP/2\\.0/${via} 127\\.0\\.0\\.1:\\d+;`));
        assert.match(invite.get('Contact'), new RegExp(`;transport=${transport}>`));
        phone.answer(invite, '180 Ringing');
        phone.answer(invite, '200 OK', {}, SDP);
        const dialog = await call;
        assert.match((await phone.expect(/^ACK/)).get('Via'), new RegExp(`^SIP/2\\.0/${via} `));
        const bye = dialog.destroy();
        phone.answer(await phone.expect(/^BYE/), '200 OK');
        await bye;
        rig.holds({ connections: before });
      });

      it('a phone calls and hangs up, and the application sees the transport', async () => {
        let seen: Request | undefined;
        const callee = await rig.app(client =>
          client.invite((request, response) => {
            seen = request;
            void client.createUAS(request, response, { localSdp: SDP });
          }),
        );
        const phone = rig.keep(await kinds[transport].open());
        const invite = phone.request('INVITE', 'sip:1000@127.0.0.1', {}, SDP);
        const ok = await phone.expect(/ 200 /);
        assert.equal(seen?.protocol, protocol);
        assert.match(ok.get('Contact'), new RegExp(`;transport=${transport}>`));
        phone.inDialog('ACK', invite, ok, 1);
        phone.inDialog('BYE', invite, ok, 2);
        await phone.expect(/ 200 /);
        rig.lose(callee);
      });

      it('a double line break is answered with a single one', async () => {
        const phone = rig.keep(await kinds[transport].open());
        phone.send('\r\n\r\n');
        await until('a pong', () => phone.pongs === 1);
      });

      it('a message of 60 KB arrives whole, and one beyond the bound ends the connection', async () => {
        const phone = await registered(transport);
        const large = `v=0\r\n${'a=x\r\n'.repeat(12_000)}`;
        const { call, invite } = await ring(phone, transport, large);
        assert.equal(invite.body, large);
        phone.answer(invite, '486 Busy Here');
        await assert.rejects(call, (error: { status?: number }) => error.status === 486);
        phone.send(`OPTIONS sip:127.0.0.1 SIP/2.0\r\nX-Pad: ${'x'.repeat(70_000)}\r\n\r\n`);
        await once(phone.socket, 'close');
      });

      it('a phone whose connection is gone is told of as unreachable at once', async () => {
        const phone = await registered(transport);
        const before = connections();
        phone.close();
        await until('the end of the connection', () => connections() < before);
        const call = app.createUAC(`sip:alice@${phone.host}:${phone.port};transport=${transport}`, { localSdp: SDP });
        await assert.rejects(call, (error: { status?: number }) => error.status === 503);
      });
    });
  }

  describe('certificates', () => {
    const handshake = async (options: ConnectionOptions): Promise<TLSSocket> => {
      const socket = connectTls({
        host: '127.0.0.1',
        port: rig.server.ports.tls,
        rejectUnauthorized: false,
        ...options,
      });
      await once(socket, 'secureConnect');
      return socket;
    };
    const shown = async (servername?: string): Promise<string> => {
      const socket = await handshake({ servername });
      const names = socket.getPeerCertificate().subjectaltname ?? '';
      socket.destroy();
      return names;
    };

    for (const [name, expected] of [
      [undefined, 'pbx.example'],
      ['pbx.example', 'pbx.example'],
      ['other.example', 'other.example'],
      ['acme.reg.example', 'other.example'],
      ['unknown.example', 'pbx.example'],
    ] as const) {
      it(`whoever asks for ${name ?? 'no name'} is shown that of ${expected}`, async () => {
        assert.match(await shown(name), new RegExp(expected.replace('.', '\\.')));
      });
    }

    it('TLS 1.1 is refused, 1.2 is spoken', async () => {
      const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
      await assert.rejects(handshake(old));
      const socket = await handshake({ maxVersion: 'TLSv1.2' });
      assert.equal(socket.getProtocol(), 'TLSv1.2');
      socket.destroy();
    });

    it('a new certificate is shown to the next phone while a call of an earlier one goes on', async () => {
      const phone = await registered('tls');
      const { call, invite } = await ring(phone, 'tls');
      phone.answer(invite, '200 OK', {}, SDP);
      const dialog = await call;
      await phone.expect(/^ACK/);
      papers.issue('first', ['127.0.0.1', 'renewed.example']);
      await until('the new certificate', async () => (await shown()).includes('renewed.example'));
      rig.keep(await WsPeer.open(rig.server.ports.wss ?? 0, papers.ca)); // shows it, too
      const bye = dialog.destroy();
      phone.answer(await phone.expect(/^BYE/), '200 OK');
      await bye;
    });

    it('a file that is no certificate changes nothing', async () => {
      const before = await shown();
      const good = papers.first;
      writeFileSync(good.cert, 'nonsense');
      assert.equal(papers.certificates.reload(), false);
      assert.equal(await shown(), before);
      papers.issue('first', ['127.0.0.1', 'renewed.example']);
    });
  });

  describe('a WebSocket', () => {
    const refusal = async (protocol?: string): Promise<number> => {
      const socket = new WebSocket(`ws://127.0.0.1:${rig.server.ports.ws}/`, protocol);
      socket.on('error', () => undefined);
      const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
      socket.terminate();
      return response.statusCode ?? 0;
    };

    it('without the subprotocol sip is refused', async () => {
      assert.deepEqual([await refusal(), await refusal('mqtt')], [400, 400]);
    });

    it('is what a plain request is told to ask for', async () => {
      const [response] = (await once(
        httpRequest({ port: rig.server.ports.ws, host: '127.0.0.1', path: '/' }).end(),
        'response',
      )) as [IncomingMessage];
      response.resume();
      assert.equal(response.statusCode, 426);
    });

    it('that is pinged answers, and noise on it ends nothing', async () => {
      const phone = rig.keep(await WsPeer.open(rig.server.ports.ws ?? 0));
      phone.send('x');
      phone.send('this is not SIP at all');
      phone.socket.ping();
      await once(phone.socket, 'pong');
      phone.request('REGISTER', 'sip:127.0.0.1');
      await phone.expect(/ 200 /);
    });
  });

  describe('a request too large for a datagram', () => {
    const large = `${SDP}${'a=x-padding:1234567890\r\n'.repeat(60)}`;

    it('goes over TCP to a phone that takes it, although its address says UDP', async () => {
      const server = createServer();
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const call = app.createUAC(`sip:bob@127.0.0.1:${port}`, { localSdp: large });
      const [socket] = (await once(server, 'connection')) as [Socket];
      const phone = rig.keep(new TcpPeer(socket, 'TCP'));
      server.close();
      const invite = await phone.expect(/^INVITE/);
      assert.match(invite.get('Via'), /^SIP\/2\.0\/TCP /);
      phone.answer(invite, '486 Busy Here');
      await assert.rejects(call, (error: { status?: number }) => error.status === 486);
    });

    it('goes over UDP to a phone that refuses TCP, and its call is answered and ended there', async () => {
      const phone = await rig.phone();
      const call = app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, { localSdp: large });
      const invite = await phone.expect(/^INVITE/);
      assert.match(invite.get('Via'), /^SIP\/2\.0\/UDP /);
      phone.answer(invite, '200 OK', {}, SDP);
      const dialog = await call;
      await phone.expect(/^ACK/);
      const bye = dialog.destroy();
      phone.answer(await phone.expect(/^BYE/), '200 OK');
      await bye;
    });
  });

  describe('IPv6', () => {
    let certificates: Certificates;
    let ca: string;
    let dual: Rig;
    let client: Client;
    before(async () => {
      const files = papers.issue('both', ['127.0.0.1', '::1']);
      ca = readFileSync(files.cert, 'utf8');
      certificates = new Certificates({ files: [files], log: silentLog });
      dual = await Rig.start({ host: '::', ports: { tls: 0, ws: 0, wss: 0 }, certificates });
      client = await dual.app(one => one.register(registrar));
    });
    after(async () => {
      await dual.close();
      certificates.stop();
    });

    for (const [host, written] of [
      ['::1', '[::1]'],
      ['127.0.0.1', '127.0.0.1'],
    ] as const) {
      const doors: Record<keyof typeof kinds, () => Promise<TcpPeer | WsPeer>> = {
        tcp: () => TcpPeer.open(dual.server.port, host),
        tls: () => TcpPeer.openTls(dual.server.ports.tls ?? 0, { host, ca }),
        ws: () => WsPeer.open(dual.server.ports.ws ?? 0, undefined, host),
        wss: () => WsPeer.open(dual.server.ports.wss ?? 0, ca, host),
      };
      for (const transport of ['tcp', 'tls', 'ws', 'wss'] as const)
        it(`a phone at ${host} registers over ${kinds[transport].via} and is rung there by a server that listens on ::`, async () => {
          const phone = dual.keep(await doors[transport]());
          if (phone instanceof TcpPeer) phone.host = written;
          phone.request('REGISTER', `sip:${written}`);
          await phone.expect(/ 200 /);
          const uri = `sip:alice@${phone.host}:${phone.port};transport=${transport}`;
          const call = client.createUAC(uri, { localSdp: SDP });
          const invite = await phone.expect(/^INVITE/);
          const port = transport === 'tcp' ? dual.server.port : dual.server.ports[transport];
          const { via } = kinds[transport];
          assert(invite.get('Via').startsWith(`SIP/2.0/${via} ${written}:${port};`), invite.get('Via'));
          assert(invite.get('Contact').includes(`${written}:${port}`), invite.get('Contact'));
          phone.answer(invite, '486 Busy Here');
          await assert.rejects(call, (error: { status?: number }) => error.status === 486);
        });

      it(`a phone at ${host} is asked over UDP and answers`, async () => {
        const socket = createSocket(host === '::1' ? 'udp6' : 'udp4');
        socket.bind(0, host);
        await once(socket, 'listening');
        const request = await client.request(`sip:${written}:${socket.address().port}`, { method: 'OPTIONS' });
        const answered = once(request, 'response');
        const [data, from] = (await once(socket, 'message')) as [Buffer, { address: string; port: number }];
        const asked = data.toString();
        assert(asked.includes(`Via: SIP/2.0/UDP ${written}:${dual.server.port};`), asked);
        const copied = asked.split('\r\n').filter(line => /^(Via|From|To|Call-ID|CSeq):/.test(line));
        const ok = ['SIP/2.0 200 OK', ...copied.map(line => (line.startsWith('To:') ? `${line};tag=1` : line))];
        socket.send([...ok, 'Content-Length: 0', '', ''].join('\r\n'), from.port, from.address);
        assert.equal(((await answered) as [Response])[0].status, 200);
        socket.close();
      });
    }
  });
});
