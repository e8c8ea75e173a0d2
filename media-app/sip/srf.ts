import type { EventEmitter } from 'node:events';
import Srf from 'drachtio-srf';
import { readSeenMessage, type SeenMessage } from './seen-message.ts';

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
  /** Answers challenges of requests inside the dialog. */
  auth?: { username: string; password: string };
  /** `uac` when we sent its INVITE, and so own its Call-ID. */
  type: 'uac' | 'uas';
  sip: { callId: string; localTag: string; remoteTag: string };
  local: { uri: string; sdp: string; contact: string };
  remote: { uri: string; sdp: string };
  destroy(options?: { headers?: Record<string, string> }): Promise<unknown>;
  request(options: { method: string; headers?: Record<string, string>; body?: string }): Promise<SipResponse>;
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

/** How a failed `createUAC` says what the far end answered. */
export interface SipError extends Error {
  status?: number;
  res?: SipResponse;
}

/** A request outside of any dialog. */
export interface OutOfDialog {
  method: string;
  headers?: Record<string, string>;
  /** Next hop when it is not where the URI points. */
  proxy?: string;
}

export type RequestHandler = (request: SipRequest, response: SipResponse) => void;

export interface SrfConnection extends EventEmitter {
  connect(options: { host: string; port: number; secret: string; enablePing?: boolean }): Promise<string> | void;
  disconnect(): void;
  invite(handler: RequestHandler): void;
  register(handler: RequestHandler): void;
  options(handler: RequestHandler): void;
  subscribe(handler: RequestHandler): void;
  request(uri: string, options: OutOfDialog, sent: (error: unknown, request: SipRequest) => void): void;
  /** Requests inside it are nobody's any more. */
  removeDialog(dialog: Dialog): void;
  createUAC(uri: string, options: UacOptions, progress: UacProgress): Promise<Dialog>;
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
    srf.request(uri, options, (error, request) => {
      if (error) return reject(error instanceof Error ? error : new Error('the SIP server sent nothing'));
      sent(request);
      request.on('response', (response: SipResponse) => response.status >= 200 && resolve(response));
    });
  });

/**
 * Hears every SIP message that crosses the server of a connection, after drachtio-srf has handled it; call it once
 * `connect` was called. drachtio-srf shows applications only part of what it sends, so this listens where it reads.
 */
export const watchMessages = (srf: SrfConnection, hear: (message: SeenMessage) => void): void => {
  const { app } = srf as unknown as { app: { client: { wp: EventEmitter } } };
  app.client.wp.on('msg', (_socket: unknown, message: string) => {
    const seen = readSeenMessage(message);
    if (seen) hear(seen);
  });
};
