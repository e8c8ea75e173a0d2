import type { EventEmitter } from 'node:events';
import { isIP, type Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import Srf from 'drachtio-srf';
import { socketHost, type ServerAddress } from '../config.ts';
import { readSeenMessage, type SeenMessage } from './seen-message.ts';
import { requestUri } from './uri.ts';

/**
 * The part of drachtio-srf that we use, typed by what it does (its own types are incomplete). Only this room knows the library.
 */
export interface SipMessage {
  body: string;
  source_address: string;
  source_port: string | number;
  protocol: string;
  headers: Record<string, string>;
  get(name: string): string | undefined;
  has(name: string): boolean;
}

export interface SipRequest extends SipMessage, EventEmitter {
  method: string;
  uri: string;
  raw?: string;
  cancel(options?: { headers?: Record<string, string> }, callback?: (error: unknown) => void): void;
}

export interface SipResponse extends SipMessage {
  status: number;
  reason: string;
  /** What it answers, where we sent that. */
  req: SipRequest;
  finalResponseSent: boolean;
  send(
    status: number,
    options?: { headers?: Record<string, string>; body?: string },
    callback?: (error: unknown) => void,
  ): void;
  send(status: number, reason: string, options?: { headers?: Record<string, string>; body?: string }): void;
}

export interface Dialog extends EventEmitter {
  id: string;
  connected: boolean;
  /** `uac` when we sent its INVITE, and so own its Call-ID. */
  type: 'uac' | 'uas';
  sip: { callId: string; localTag: string; remoteTag: string };
  local: { uri: string; sdp: string; contact: string };
  remote: { uri: string; sdp: string };
  destroy(options?: { headers?: Record<string, string> }): Promise<unknown>;
  request(options: InDialog): Promise<SipResponse>;
}

/** A request inside a dialog. */
export interface InDialog {
  method: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface UacOptions {
  proxy?: string;
  localSdp: string;
  headers: Record<string, string>;
}

export interface UacProgress {
  cbRequest: (error: unknown, request: SipRequest) => void;
  cbProvisional: (response: SipResponse) => void;
}

/** An offer in a 200; `ack` answers it, after which the dialog stands. */
export interface OpenOffer {
  sdp: string;
  ack: (answer: string) => Promise<Dialog>;
}

/** How a failed `createUAC` says what the far end answered. */
export interface SipError extends Error {
  status?: number;
  /** What the far end, or the SIP server in its place, said. */
  reason?: string;
  res?: SipResponse;
}

/** A request outside of any dialog. */
export interface OutOfDialog {
  method: string;
  headers?: Record<string, string>;
  /** Next hop when it is not where the URI points. */
  proxy?: string;
}

interface ConnectOptions {
  host: string;
  port: number;
  secret: string;
  tls?: ConnectionOptions;
  reconnect?: { maxAttempts: number };
}

export type RequestHandler = (request: SipRequest, response: SipResponse) => void;

export interface SrfConnection extends EventEmitter {
  connect(options: ConnectOptions): Promise<string> | void;
  disconnect(): void;
  invite(handler: RequestHandler): void;
  register(handler: RequestHandler): void;
  options(handler: RequestHandler): void;
  subscribe(handler: RequestHandler): void;
  request(uri: string, options: OutOfDialog, sent: (error: unknown, request: SipRequest) => void): void;
  /** Requests inside it are nobody's any more. */
  removeDialog(dialog: Dialog): void;
  createUAC(uri: string, options: UacOptions, progress: UacProgress): Promise<Dialog>;
  /** Without a description of ours: resolves with the one that the far end offers, which is yet to be answered. */
  createUAC(uri: string, options: { headers: Record<string, string>; noAck: true }): Promise<OpenOffer>;
  createUAS(
    request: SipRequest,
    response: SipResponse,
    options: { localSdp: string; headers?: Record<string, string> },
  ): Promise<Dialog>;
}

/** A new, unconnected drachtio-srf. */
export const createSrf = (): SrfConnection => new Srf() as unknown as SrfConnection;

/**
 * Sends a request outside of any dialog and resolves with its final answer; `sent` hears what went out. Rejects when it
 * cannot be sent.
 */
export const askOnce = (
  srf: SrfConnection,
  uri: string,
  options: OutOfDialog,
  sent: (request: SipRequest) => void = () => undefined,
): Promise<SipResponse> =>
  new Promise((resolve, reject) => {
    srf.request(requestUri(uri), options, (error, request) => {
      if (error) return reject(error instanceof Error ? error : new Error('the SIP server sent nothing'));
      sent(request);
      request.on('response', (response: SipResponse) => response.status >= 200 && resolve(response));
    });
  });

/** drachtio-srf's own connections, by what it holds for each. */
interface Agent {
  mapServer: Map<unknown, { pendingNetworkInvites: Map<string, unknown> }>;
}

/** Lets go of a request that gets no answer: drachtio-srf keeps an INVITE until it is answered. */
export const leaveUnanswered = (request: SipRequest): void => {
  const { agent, socket } = request as unknown as { agent: Agent; socket: unknown };
  if (request.method === 'INVITE')
    agent.mapServer.get(socket)?.pendingNetworkInvites.delete(request.get('call-id') ?? '');
};

/** How often a SIP server is asked whether it is there, and how often in a row it may fail to answer. */
const PING_MS = 1000;
const UNANSWERED_PINGS = 4;

/**
 * Closes the connection to a SIP server that has gone silent, which is then lost and connected to again; call it once
 * `connect` was called. drachtio-srf pings too, but nobody looks at the answers. Returns what ends the watch.
 */
export const closeWhenSilent = (srf: SrfConnection): (() => void) => {
  const { wp } = clientOf(srf);
  let socket: Socket | undefined;
  let unanswered = 0;
  wp.on('connect', (connected: Socket) => ([socket, unanswered] = [connected, 0]));
  wp.on('msg', () => (unanswered = 0));
  const timer = setInterval(() => {
    if (!socket || socket.destroyed) return;
    if (++unanswered > UNANSWERED_PINGS) return void socket.destroy(new Error('the SIP server does not answer'));
    const msgId = wp.send(socket, 'ping');
    wp.emit('ping', { msgId, socket }); // so that drachtio-srf knows the answer for what it is
  }, PING_MS);
  return () => clearInterval(timer);
};

interface Wire extends EventEmitter {
  /** Errors are told no more. */
  closing?: boolean;
  connect(options: ConnectOptions): void;
  send(socket: Socket, message: string): string;
}

/** How long a lost connection waits for the next one. */
const RECONNECT_MS = 250;

/**
 * Connects to a SIP server, and anew whenever that failed or the connection is lost, four times a second. drachtio-srf would do it
 * without TLS whatever the first connection had, and wait longer each time without a bound. Returns what ends it.
 */
export const keepConnected = (srf: SrfConnection, address: ServerAddress): (() => void) => {
  const { port, secret } = address;
  const host = socketHost(address);
  const tls = isIP(host) === 0 ? { servername: host } : {};
  const once = { maxAttempts: 1 };
  const options = { host, port, secret, reconnect: once, ...(address.tls === true ? { tls } : {}) };
  Promise.resolve(srf.connect(options)).catch(() => undefined); // told by the error event
  const { wp } = clientOf(srf);
  let socket: Socket | undefined;
  let timer: NodeJS.Timeout | undefined;
  wp.on('connect', (connected: Socket) => {
    socket = connected;
    if (wp.closing) socket.destroy();
  });
  wp.on('close', () => {
    socket = undefined;
    if (!wp.closing) timer = setTimeout(() => wp.connect(options), RECONNECT_MS);
  });
  return () => {
    wp.closing = true;
    clearTimeout(timer);
    socket?.end();
  };
};

/** drachtio-srf's own connection, which it does not show. */
const clientOf = (srf: SrfConnection): { wp: Wire } => (srf as unknown as { app: { client: { wp: Wire } } }).app.client;

/**
 * Hears every SIP message that crosses the server of a connection, after drachtio-srf has handled it; call it once
 * `connect` was called. drachtio-srf shows applications only part of what it sends, so this listens where it reads.
 */
export const watchMessages = (srf: SrfConnection, hear: (message: SeenMessage) => void): void => {
  clientOf(srf).wp.on('msg', (_socket: unknown, message: string) => {
    const seen = readSeenMessage(message);
    if (seen) hear(seen);
  });
};
