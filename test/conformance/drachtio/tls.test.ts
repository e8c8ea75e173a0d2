import { strict as assert } from 'node:assert';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import Srf from 'drachtio-srf';
import { startSipServer, type SipServer } from '../../../engine/drachtio/server.ts';
import { Certificates } from '../../../engine/sip/certificates.ts';
import { silentLog } from '../../../engine/sip/log.ts';
import { ownCertificate } from '../../../engine/sip/self-signed.ts';
import { SipServers } from '../../../media-app/sip/servers.ts';
import { createLog } from '../../../process/log.ts';
import { engineSuite } from '../../support/engine-only.ts';
import { SDP, UdpPeer } from './peer.ts';
import { next, type Call, type Client } from './rig.ts';

const secret = 'cymru';
const host = '127.0.0.1';

const LOGIN = `0b3ddf60-c10d-4f38-918b-ca5eddc03b1d|authenticate|${secret}|`;

/** A media-app's connections to the SIP servers of its settings, which says `up` and `down` of each. */
const NODE = `
import { SipServers } from './media-app/sip/servers.ts';
import { readSettings } from './media-app/config.ts';
import { createLog } from './process/log.ts';
const { SIP_SERVERS } = readSettings();
const servers = new SipServers(SIP_SERVERS, createLog('media-app', 'fatal'));
for (const event of ['up', 'down']) servers.on(event, address => console.log(event, address));
const nobody = () => undefined;
const options = (_request, response) => response.send(200);
void servers.start({ invite: nobody, register: nobody, options, subscribe: nobody });
`;

engineSuite('it brings a certificate and settings of its own', 'drachtio: applications over TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'admin-tls-test-'));
  const files = ownCertificate(folder, ['localhost', host]);
  const pem = { cert: readFileSync(files.cert), key: readFileSync(files.key) };
  const tls = { ca: pem.cert };
  const certificates = new Certificates({ files: [files], log: silentLog });
  let server: SipServer;
  let waiting: Server;
  let phone: UdpPeer;
  let node: ChildProcess;

  const start = (tlsPort: number, port = 0): Promise<SipServer> => {
    const tag = `tls://${host}:${(waiting.address() as AddressInfo).port}`;
    const admin = { host, port: 0, tlsPort, secret };
    return startSipServer({ host, port, admin, certificates, requestHandlers: { message: tag } });
  };

  before(async () => {
    const app = new Srf() as unknown as Client & { listen(options: object): Server; endSession(holder: unknown): void };
    app.use('message', (_request, response) => response.send(202, {}, () => app.endSession(response)));
    waiting = app.listen({ host, port: 0, secret, tls: pem });
    if (!waiting.listening) await once(waiting, 'listening');
    server = await start(0);
    phone = await UdpPeer.open(server.port);
    const env = {
      ...{ ...process.env, NODE_EXTRA_CA_CERTS: files.cert, MEDIA_SERVERS: 'freeswitch://x@127.0.0.1' },
      ...{ REDIS_URL: 'redis://unused', DATABASE_URL: 'postgres://unused' },
      SIP_SERVERS: `drachtio+tls://${secret}@localhost:${server.adminTlsPort}`,
    };
    const arguments_ = ['--import', 'tsx', '--input-type=module', '--eval', NODE];
    node = spawn(process.execPath, arguments_, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  });
  after(async () => {
    node.kill();
    phone.close();
    await server.stop();
    waiting.close();
    certificates.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('an application that connects over TLS answers calls and places them', async () => {
    const client = new Srf() as unknown as Client;
    client.on('error', () => undefined);
    client.invite((request, response) => void client.createUAS(request, response, { localSdp: SDP }));
    client.connect({ host, port: server.adminTlsPort, secret, tls });
    assert.equal((await next(client, 'connect'))[0], null);
    const invite = phone.request('INVITE', `sip:bob@${host}:${server.port}`, {}, SDP);
    const ok = await phone.expect(/ 200 /);
    phone.inDialog('ACK', invite, ok, 1);
    phone.inDialog('BYE', invite, ok, 2);
    await phone.expect(/ 200 /);
    const calling = client.createUAC(`sip:alice@${host}:${phone.port}`, { localSdp: SDP });
    phone.answer(await phone.expect(/^INVITE/), '200 OK', {}, SDP);
    const call: Call = await calling;
    await phone.expect(/^ACK/);
    const ended = call.destroy();
    phone.answer(await phone.expect(/^BYE/), '200 OK');
    await ended;
    client.disconnect();
  });

  it('whoever speaks without TLS, or does not trust the certificate, is not connected, and nobody else suffers', async () => {
    const plain = connect(server.adminTlsPort ?? 0, host).on('error', () => undefined);
    plain.resume().write(`${LOGIN.length}#${LOGIN}`);
    await new Promise(resolve => plain.once('close', resolve));
    const doubtful = new SipServers([{ host, port: server.adminTlsPort ?? 0, secret, tls: true }], createLog('media-app', 'fatal')); // prettier-ignore
    const said = next(doubtful.list[0]?.srf ?? assert.fail(), 'error') as Promise<[NodeJS.ErrnoException]>;
    const nobody = (): void => undefined;
    void doubtful.start({ invite: nobody, register: nobody, options: nobody, subscribe: nobody });
    assert.equal((await said)[0].code, 'DEPTH_ZERO_SELF_SIGNED_CERT');
    doubtful.stop();
    assert.equal(doubtful.list[0]?.connected, false);
  });

  it('an application that waits for connections over TLS is connected to', async () => {
    phone.request('MESSAGE', `sip:bob@${host}:${server.port}`);
    assert.match((await phone.expect(/^SIP\/2\.0 [2-6]/)).start, / 202 /);
  });

  it('a media-app connects over TLS by its settings, and again after the server was away', async () => {
    const lines = createInterface({ input: node.stdout ?? assert.fail() });
    const place = `localhost:${server.adminTlsPort}`;
    const heard = lines[Symbol.asyncIterator]();
    const says = async (text: string): Promise<void> => assert.equal((await heard.next()).value, text);
    await says(`up ${place}`);
    const [tlsPort = 0, sipPort] = [server.adminTlsPort, server.port];
    await server.stop();
    await says(`down ${place}`);
    server = await start(tlsPort, sipPort);
    await says(`up ${place}`);
    phone.request('OPTIONS', `sip:${host}:${server.port}`);
    await phone.expect(/ 200 /);
  });
});
