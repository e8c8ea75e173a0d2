import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { eventually } from './eventually.ts';
import type { Stack } from './stack.ts';

/** What an upgrade was refused with. */
export interface Refused {
  status: number;
  reason: string;
}

type Collection = 'calls' | 'conferences';

/** Samples of a tone at 8 kHz, 16-bit little-endian, in frames of 20 ms. */
export const toneFrames = (hz: number, ms: number): Buffer[] =>
  Array.from({ length: ms / 20 }, (_, frame) => {
    const samples = Buffer.alloc(320);
    for (let at = 0; at < 160; at++)
      samples.writeInt16LE(Math.round(8000 * Math.sin((2 * Math.PI * hz * (frame * 160 + at)) / 8000)), at * 2);
    return samples;
  });

/** A client of a media stream. */
export class MediaClient {
  readonly frames: Buffer[] = [];
  readonly socket: WebSocket;
  closed: { code: number } | undefined;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data: Buffer, isBinary: boolean) => assert(isBinary) ?? this.frames.push(data));
    socket.on('close', code => (this.closed = { code }));
  }

  /** Opens a stream of a call or conference; resolves with the refusal when it is refused. */
  static async open(stack: Stack, id: string, query: string, of: Collection = 'calls'): Promise<MediaClient | Refused> {
    const url = `${stack.baseUrl.replace(/^http/, 'ws')}/v1.0/${of}/${id}/media_stream?${query}`;
    const socket = new WebSocket(url);
    const client = new MediaClient(socket);
    const refused = once(socket, 'unexpected-response').then(async ([, response]: unknown[]): Promise<Refused> => {
      const { statusCode = 0 } = response as IncomingMessage;
      const chunks: Buffer[] = [];
      for await (const chunk of response as IncomingMessage) chunks.push(chunk as Buffer);
      const body = JSON.parse(Buffer.concat(chunks).toString()) as { error: { reason: string } };
      return { status: statusCode, reason: body.error.reason };
    });
    refused.catch(() => undefined); // it was opened
    return Promise.race([once(socket, 'open').then(() => client), refused]);
  }

  /** The same with the home customer's accesskey, which must succeed. */
  static async connect(
    stack: Stack,
    id: string,
    encapsulation: string,
    of: Collection = 'calls',
  ): Promise<MediaClient> {
    const client = await MediaClient.open(
      stack,
      id,
      `encapsulation=${encapsulation}&accesskey=${stack.welcome.accesskey}`,
      of,
    );
    assert(client instanceof MediaClient, JSON.stringify(client));
    return client;
  }

  /** The next frames, this many. */
  async hears(count: number): Promise<Buffer[]> {
    const from = this.frames.length;
    await eventually(
      `${count} frames`,
      () => this.frames.length,
      length => length >= from + count,
    );
    return this.frames.slice(from, from + count);
  }

  /** Sends frames, one every 20 ms. */
  async says(frames: Buffer[]): Promise<void> {
    for (const frame of frames) {
      this.socket.send(frame);
      await new Promise(resolve => setTimeout(resolve, 20));
    }
  }

  /** Resolves with the close code when the other side has closed. */
  async ends(): Promise<number> {
    await eventually(
      'the end of the stream',
      () => this.closed,
      closed => closed !== undefined,
    );
    return this.closed?.code ?? 0;
  }

  close(): void {
    this.socket.close();
  }
}
