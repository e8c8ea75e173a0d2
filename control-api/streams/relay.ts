import type { Log } from '#process/log';
import type { WebSocket } from 'ws';

/** Bytes that may wait for one who reads too slowly: two seconds of audio. Beyond it frames are left out. */
const MOST_BACKLOG = 2 * 50 * 332;

const forward = (from: WebSocket, to: WebSocket): void => {
  from.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary && to.readyState === to.OPEN && to.bufferedAmount < MOST_BACKLOG) to.send(data);
  });
};

/** Hands audio on between a client and the node that holds the call; either one's end is the other's. */
export class Relay {
  readonly #client: WebSocket;
  readonly #node: WebSocket;
  #heard = Date.now();

  /** `node` is paused and goes on when both ways are open. */
  constructor(client: WebSocket, node: WebSocket, log: Log) {
    [this.#client, this.#node] = [client, node];
    forward(client, node);
    forward(node, client);
    client.on('pong', () => (this.#heard = Date.now()));
    client.once('close', () => node.close(1000));
    node.once('close', (code: number) =>
      code === 1000 ? client.close(1000, 'the stream is over') : client.close(1011, 'the call is out of reach'),
    );
    for (const socket of [client, node])
      socket.on('error', error => log.debug({ err: error }, 'a media stream broke the protocol'));
    node.resume();
  }

  /** Asks for a sign of life, or ends a client that gave none for so many milliseconds. */
  checkAlive(silenceMs: number): void {
    if (Date.now() - this.#heard > silenceMs) this.#client.terminate();
    else this.#client.ping();
  }

  close(code: number, reason: string): void {
    this.#client.close(code, reason);
    this.#node.close(1000);
  }
}
