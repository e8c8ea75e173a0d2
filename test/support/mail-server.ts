import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** A letter as it came. */
export interface Received {
  from: string;
  to: string[];
  /** Who logged in to send it; empty: nobody. */
  user: string;
  secure: boolean;
  /** The message, header lines unfolded and quoted-printable undone. */
  text: string;
}

/** What the server answers to a recipient; nothing takes it. */
export type Judge = (recipient: string) => { code: number; text: string } | undefined;

/** An SMTP server of a test on loopback. */
export interface TestMailServer {
  port: number;
  received: Received[];
  /** How often somebody was named as a recipient. */
  tries: string[];
  judge: Judge;
  stop(): Promise<void>;
}

const refusal = ({ code, text }: { code: number; text: string }): Error =>
  Object.assign(new Error(text), { responseCode: code });

const readable = (message: string): string =>
  message
    .replace(/\r\n/g, '\n')
    .replace(/\n[ \t]+/g, ' ')
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

/** Starts an SMTP server (smtp-server) that takes every letter that `judge` does not refuse. */
export const startMailServer = async (options: SMTPServerOptions = {}, port = 0): Promise<TestMailServer> => {
  const mail: TestMailServer = { port, received: [], tries: [], judge: () => undefined, stop: () => Promise.resolve() };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    onRcptTo({ address }, _session, done) {
      mail.tries.push(address);
      const refused = mail.judge(address);
      done(refused ? refusal(refused) : null);
    },
    onData(stream, { envelope, user, secure }, done) {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        const from = envelope.mailFrom ? envelope.mailFrom.address : '';
        const to = envelope.rcptTo.map(({ address }) => address);
        const text = readable(Buffer.concat(parts).toString());
        mail.received.push({ from, to, user: String(user ?? ''), secure, text });
        done();
      });
    },
    ...options,
  });
  // A client that goes in the middle of a handshake is what some tests are about.
  server.on('error', () => undefined);
  server.listen(port, '127.0.0.1');
  await once(server.server, 'listening');
  mail.port = (server.server.address() as AddressInfo).port;
  mail.stop = () => new Promise(resolve => server.close(() => resolve()));
  return mail;
};
