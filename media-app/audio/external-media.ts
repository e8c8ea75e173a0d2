import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { ExternalMediaRequest } from '#contract/external-media';
import type { CallSession } from '../call/session.ts';
import { DatagramEnd } from './datagram-end.ts';
import { encapsulationOf, type Encapsulation, FRAME_SAMPLES, rtpPackets, rtpPayload } from './encapsulation.ts';
import { decodeG711, encodeG711, type Law } from './g711.ts';
import { SocketEnd } from './socket-end.ts';
import { AudioStream, type FarEnd } from './stream.ts';

const CONNECT_MS = 5000;
const MOST_PAYLOAD = 64 * 1024;
/** RFC 3551. */
const LAW_TYPES: Record<Law, number> = { ulaw: 0, alaw: 8 };

const g711Rtp = (law: Law): Encapsulation => {
  const packet = rtpPackets(LAW_TYPES[law], FRAME_SAMPLES);
  return {
    encode: samples => packet(encodeG711(law, samples)),
    decode: frame => {
      const payload = rtpPayload(frame, LAW_TYPES[law]);
      return payload && decodeG711(law, payload);
    },
  };
};

/** AudioSocket only knows linear samples. */
const wrappingOf = ({ encapsulation, format }: ExternalMediaRequest): Encapsulation => {
  if (format === 'slin' || encapsulation === 'audiosocket') return encapsulationOf(encapsulation);
  if (encapsulation === 'rtp') return g711Rtp(format);
  return {
    encode: samples => encodeG711(format, samples),
    decode: frame => (frame.length > 0 ? decodeG711(format, frame) : undefined),
  };
};

type Resolve = (host: string) => Promise<{ address: string; family: number }>;

/** Connects to the address that was checked, whatever the name says a moment later. */
const openSocket = async (url: URL, resolve: Resolve): Promise<FarEnd> => {
  const { address, family } = await resolve(url.hostname);
  const socket = new WebSocket(url, {
    handshakeTimeout: CONNECT_MS,
    maxPayload: MOST_PAYLOAD,
    perMessageDeflate: false,
    lookup: (_host, options, done) => (options.all ? done(null, [{ address, family }]) : done(null, address, family)),
  });
  socket.on('error', () => undefined); // `once` below and `close` tell it
  await once(socket, 'open');
  return new SocketEnd(socket);
};

const openDatagrams = async (url: URL, resolve: Resolve): Promise<FarEnd> => {
  const port = Number(url.port);
  if (!port) throw new Error('external_host is no host:port');
  const { address, family } = await resolve(url.hostname);
  return DatagramEnd.connect(address, family, port);
};

/**
 * Connects a call with a server outside, until either ends or `external_media_stop`. Resolves when both are joined.
 * Rejects when the place is taken, the address may not be asked (#outbound), or nobody answers there.
 */
export const startExternalMedia = async (
  session: CallSession,
  request: ExternalMediaRequest,
  signal: AbortSignal,
): Promise<void> => {
  const { services, audio, log } = session;
  if (!URL.canParse(request.url)) throw new Error('the address of external media is none');
  const stream = new AudioStream({ of: session, audio, road: services.road, log, external: true });
  try {
    const open = request.transport === 'udp' ? openDatagrams : openSocket;
    const far = await open(new URL(request.url), services.resolve);
    if (signal.aborted) stream.end();
    await stream.join(far, wrappingOf(request), request);
  } catch (error) {
    stream.end();
    throw error;
  }
};
