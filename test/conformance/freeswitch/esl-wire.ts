import type { Socket } from 'node:net';

/** One message of the media server: its headers, and an event's own when it carries one as JSON. */
export interface EslMessage {
  headers: Record<string, string>;
  body: string;
}

/** The client's end of an event socket, in a dozen lines, so that the tests share no reader with the engine. */
export class EslWire {
  readonly messages: EslMessage[] = [];
  closed = false;
  /** Nothing is expected of it any more. */
  left = false;
  /** Commands that wait for their answers. */
  readonly commands: string[] = [];
  readonly socket: Socket;
  #rest = Buffer.alloc(0);

  constructor(socket: Socket, told: () => void) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on('data', data => {
      this.#rest = Buffer.concat([this.#rest, data]);
      while (this.#take()) told();
    });
    socket.on('close', () => {
      this.closed = true;
      told();
    });
    socket.on('error', () => undefined); // shows in `closed`
  }

  #take(): boolean {
    const end = this.#rest.indexOf('\n\n');
    if (end < 0) return false;
    const headers = readHeaders(this.#rest.subarray(0, end).toString());
    const length = headers['Event-Name'] === undefined ? Number(headers['Content-Length'] ?? 0) : 0;
    if (this.#rest.length < end + 2 + length) return false;
    this.messages.push({ headers, body: this.#rest.subarray(end + 2, end + 2 + length).toString() });
    this.#rest = this.#rest.subarray(end + 2 + length);
    return true;
  }
}

/** `Name: value` a line. */
export function readHeaders(text: string): Record<string, string> {
  const pairs = text.split('\n').map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]);
  return Object.fromEntries(pairs) as Record<string, string>;
}
