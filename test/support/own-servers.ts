import { connect } from 'node:net';

/** Servers of one's own that the stacks of a test run use in place of the embedded engine. */
export interface OwnServers {
  SIP_SERVERS: string;
  MEDIA_SERVERS: string;
  /** Where phones reach the SIP server; loopback. */
  SIP_PORT: string;
  SIP_TLS_PORT: string;
  SIP_WS_PORT: string;
  SIP_WSS_PORT: string;
}

/**
 * `SIP_SERVERS` and `MEDIA_SERVERS` of the environment, with `SIP_PORT` (5060) and those of the other transports: tests then
 * run on a real drachtio-server and FreeSWITCH, file after file, because one server cannot serve two stacks at once.
 * Undefined: on the embedded engine.
 */
export const ownServers = (): OwnServers | undefined => {
  const { SIP_SERVERS, MEDIA_SERVERS, SIP_PORT = '5060' } = process.env;
  const { SIP_TLS_PORT = '5061', SIP_WS_PORT = '5066', SIP_WSS_PORT = '7443' } = process.env;
  const ports = { SIP_PORT, SIP_TLS_PORT, SIP_WS_PORT, SIP_WSS_PORT };
  return SIP_SERVERS && MEDIA_SERVERS ? { SIP_SERVERS, MEDIA_SERVERS, ...ports } : undefined;
};

/** What the first FreeSWITCH still has open, by its own word (`show channels count`); empty when nothing. */
export const channelsOf = (servers: OwnServers): Promise<string[]> =>
  new Promise((resolve, reject) => {
    const { hostname, port, password, username } = new URL(servers.MEDIA_SERVERS.split(',')[0] ?? '');
    const socket = connect({ host: hostname, port: Number(port || 8021) });
    let heard = '';
    socket.setTimeout(5_000, () => socket.destroy(new Error('the event socket does not answer')));
    socket.on('error', reject);
    socket.write(`auth ${password || username}\n\napi show channels count\n\n`);
    socket.on('data', (data: Buffer) => {
      heard += data.toString('utf8');
      const count = /(\d+) total\./.exec(heard)?.[1];
      if (count === undefined) return;
      socket.destroy();
      resolve(count === '0' ? [] : [`channels: ${count}`]);
    });
  });
