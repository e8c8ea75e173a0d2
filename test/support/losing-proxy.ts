import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Stands between a client and a Redis, and can lose the answers to what it handed on. */
export class LosingProxy {
  connections = 0;
  #losing = false;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  private constructor(target: URL) {
    this.#server = createServer(client => {
      this.connections += 1;
      const server = connect(Number(target.port), target.hostname);
      for (const socket of [client, server]) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined); // 'close' follows
        socket.on('close', () => [client, server].forEach(each => each.destroy()));
      }
      client.on('data', data => server.write(data));
      server.on('data', data => this.#back(client, data));
    });
  }

  static async start(target: URL): Promise<LosingProxy> {
    const proxy = new LosingProxy(target);
    await new Promise<void>(resolve => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The next answer does not arrive: in its place the connection ends. What comes after it is handed on. */
  loseAnswers(): void {
    this.#losing = true;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise(resolve => this.#server.close(resolve));
  }

  #back(client: Socket, data: Buffer): void {
    if (!this.#losing) return void client.write(data);
    this.#losing = false;
    client.destroy();
  }
}
