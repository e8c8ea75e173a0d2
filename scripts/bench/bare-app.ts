import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Mrf, { type Endpoint, type MediaServer } from 'drachtio-fsmrf';
import { createSrf, type SrfConnection } from '../../media-app/sip/srf.ts';
import { audioOffer } from '../../media-app/media/sdp.ts';
import { BENCH_TONE } from './plan.ts';

/**
 * The yardstick: the same work done by a script that uses drachtio-srf and drachtio-fsmrf directly, with no database, no
 * queue, no state and no events. It answers every INVITE with a tone, and POST /calls {uri} dials.
 * Arguments: admin port, admin secret, event socket port, event socket password. Prints its HTTP port.
 */
const [adminPort = '', secret = '', eventSocketPort = '', password = ''] = process.argv.slice(2);

const answer = async (srf: SrfConnection, media: MediaServer): Promise<void> => {
  srf.invite((request, response) => {
    void (async () => {
      const endpoint = await media.createEndpoint({ remoteSdp: request.body });
      endpoint.conn?.socket?.setNoDelay(true);
      const dialog = await srf.createUAS(request, response, { localSdp: endpoint.local.sdp });
      dialog.on('destroy', () => void endpoint.destroy());
      if (!dialog.connected) return endpoint.destroy(); // ACK and BYE came in one breath
      await endpoint.execute('playback', BENCH_TONE);
    })();
  });
};

const dial = async (srf: SrfConnection, media: MediaServer, uri: string): Promise<void> => {
  const endpoint: Endpoint = await media.createEndpoint();
  endpoint.conn?.socket?.setNoDelay(true);
  try {
    const offer = { localSdp: audioOffer(endpoint.local.sdp), headers: {} };
    const dialog = await srf.createUAC(uri, offer, { cbRequest: () => undefined, cbProvisional: () => undefined });
    dialog.on('destroy', () => void endpoint.destroy());
    await endpoint.modify(dialog.remote.sdp);
  } catch {
    await endpoint.destroy(); // refused, as the bench's phone does
  }
};

const srf = createSrf();
srf.on('error', () => undefined); // the engine stops before we do
await new Promise(resolve => {
  srf.once('connect', resolve);
  void srf.connect({ host: '127.0.0.1', port: Number(adminPort), secret });
});
const media = await new Mrf(srf).connect({
  address: '127.0.0.1',
  port: Number(eventSocketPort),
  secret: password,
  listenAddress: '127.0.0.1',
});
media.conn.socket?.setNoDelay(true);
await answer(srf, media);

const server = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk: Buffer) => (body += chunk.toString()));
  request.on('end', () => {
    void dial(srf, media, (JSON.parse(body) as { uri: string }).uri);
    response.end('{}');
  });
});
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ ready: (server.address() as AddressInfo).port })));
