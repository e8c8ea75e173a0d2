import { connect } from 'node:net';
import type { ControlledSession, EslHost } from './connection.ts';
import { EslConnection } from './connection.ts';

const connectDeadlineMs = 3000;

/** Where and for whom an outbound connection is opened. */
export interface OutboundOptions {
  address: string;
  port: number;
  host: EslHost;
  session: ControlledSession;
  /** The connection is gone, whoever ended it. Called once, also when it never came about. */
  onClose: () => void;
}

/**
 * Opens the connection by which an application controls one channel. The application speaks first, with `connect`
 * (protocol page §5).
 */
export function openOutbound(options: OutboundOptions): EslConnection {
  const socket = connect({ host: options.address, port: options.port, noDelay: true, allowHalfOpen: true });
  const deadline = setTimeout(() => socket.destroy(), connectDeadlineMs);
  socket.once('connect', () => clearTimeout(deadline));
  socket.once('close', () => clearTimeout(deadline));
  return new EslConnection(socket, { host: options.host, session: options.session, onClose: options.onClose });
}
