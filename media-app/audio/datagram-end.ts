import { createSocket, type Socket } from 'node:dgram';
import { EventEmitter } from 'node:events';
import type { FarEnd } from './stream.ts';

/** A UDP address as the far end of a stream: a datagram is a frame, and only that address is heard. */
export class DatagramEnd extends EventEmitter<{ frame: [frame: Buffer]; closed: [] }> implements FarEnd {
  readonly #socket: Socket;
  #open = true;

  private constructor(socket: Socket) {
    super();
    this.#socket = socket;
    socket.on('message', data => this.emit('frame', data));
    socket.on('error', () => undefined); // nobody listens there yet (ICMP); frames are lost like any others
    socket.once('close', () => this.emit('closed'));
  }

  /** Binds a port towards an address that was checked. */
  static async connect(address: string, family: number, port: number): Promise<DatagramEnd> {
    const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.connect(port, address, () => (socket.off('error', reject), resolve()));
    });
    return new DatagramEnd(socket);
  }

  send(frame: Buffer): void {
    if (this.#open) this.#socket.send(frame);
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#socket.close();
  }
}
