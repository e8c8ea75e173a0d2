import type { Socket } from 'node:net';
import { commands } from './commands.ts';
import type { EslEvent, EventFormat } from './encode.ts';
import { commandReply, disconnectNotice, encodeEvent, lingerNotice } from './encode.ts';
import type { EslMessage } from './reader.ts';
import { EslReader } from './reader.ts';
import { Subscriptions } from './subscriptions.ts';

const maxUnread = 16 * 1024 * 1024;
/** Before the password everything is refused in a few words. */
const maxUnreadByStrangers = 64 * 1024;
const maxWaiting = 1000;

/** What the media server offers to every connection. */
export interface EslHost {
  /** Runs an api command and gives its text; an unknown one gives `-ERR … Command not found!`. Never rejects. */
  api(command: string, args: string): string | Promise<string>;
  /** Takes a `sendmsg` for a channel and gives the Reply-Text. */
  sendMessage(uuid: string, message: EslMessage): string;
  /** Raises an event of no channel, such as BACKGROUND_JOB. */
  raise(event: EslEvent): void;
}

/** The channel that an outbound connection controls. */
export interface ControlledSession {
  uuid: string;
  name: string;
  /** The whole answer to `connect`. */
  channelData(): string;
  variable(name: string): string | undefined;
}

/** Everything one command may touch. */
export interface CommandContext {
  host: EslHost;
  subscriptions: Subscriptions;
  session: ControlledSession | null;
  connection: EslConnection;
}

/** Options of one connection; an inbound one has a `password`, an outbound one a `session`. */
export interface EslConnectionOptions {
  host: EslHost;
  authenticate?: (secret: string) => boolean;
  session?: ControlledSession;
  onClose?: () => void;
}

/**
 * One event socket connection, inbound or outbound: reads commands one after the other, answers in their order and
 * writes the events subscribed to, those of a command after its reply. Every message is one write.
 */
export class EslConnection {
  readonly subscriptions = new Subscriptions();
  /** Seconds to stay after the channel's end; null without `linger`. */
  linger: number | null = null;
  /** False until `auth` succeeded; outbound connections need none. */
  authenticated: boolean;
  /** True once the client said `event` or `myevents`. */
  subscribed = false;
  readonly #socket: Socket;
  readonly #reader = new EslReader();
  readonly #options: EslConnectionOptions;
  readonly #waiting: EslMessage[] = [];
  #busy = false;
  /** Events of what a command did at once: they follow its reply. Null while no command runs. */
  #held: string[] | null = null;
  #closing = false;
  #closed = false;
  /** The leave that is taken later: the end of `linger`, then that of a peer that does not close its half. */
  #leaving: NodeJS.Timeout | undefined;

  constructor(socket: Socket, options: EslConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.authenticated = options.authenticate === undefined;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('error', () => this.#onClosed()); // a reset is an ordinary end of a connection
    socket.on('end', () => socket.end());
    socket.on('close', () => this.#onClosed());
  }

  /** The channel of an outbound connection, or null. */
  get session(): ControlledSession | null {
    return this.#options.session ?? null;
  }

  /** True while the peer can still be written to. */
  get open(): boolean {
    return !this.#closing && !this.#closed;
  }

  /** Checks the secret of `auth`. */
  authenticate(secret: string): boolean {
    this.authenticated = this.#options.authenticate?.(secret) ?? true;
    return this.authenticated;
  }

  /** Writes one ready-made message. A client that reads nothing is cut off. */
  write(text: string): void {
    if (text === '' || this.#closed || !this.#socket.writable) return;
    this.#gather();
    this.#socket.write(text);
    if (this.#socket.writableLength > (this.authenticated ? maxUnread : maxUnreadByStrangers)) this.destroy();
  }

  /** What is written in one turn, a reply and its events, leaves as one segment. */
  #gather(): void {
    if (this.#socket.writableCorked > 0) return;
    this.#socket.cork();
    process.nextTick(() => this.#socket.uncork());
  }

  /** Writes an event if the connection wants it; `encoded` keeps the text for the next connection. */
  offer(event: EslEvent, encoded: Map<EventFormat, string>): void {
    if (!this.open || !this.authenticated || !this.subscriptions.matches(event)) return;
    this.#writeEvent(event, encoded);
  }

  /** Writes an event whether or not it was subscribed to. */
  force(event: EslEvent): void {
    if (this.open && this.authenticated) this.#writeEvent(event, new Map());
  }

  /** Takes leave: the disconnect notice, then the end of the connection. */
  goodbye(): void {
    if (this.#closing) return;
    this.#closing = true;
    this.write(disconnectNotice(this.session?.uuid));
    this.#socket.end();
    clearTimeout(this.#leaving);
    this.#leaving = setTimeout(() => this.#socket.destroy(), 5000).unref();
  }

  /** The channel has ended: takes leave at once, or stays as long as `linger` asked. */
  sessionEnded(): void {
    const session = this.session;
    if (this.linger === null || !session || !this.open) return this.goodbye();
    this.write(lingerNotice(session.uuid, session.name, this.linger));
    this.#leaving ??= setTimeout(() => this.goodbye(), this.linger * 1000);
  }

  /** Closes without a word. */
  destroy(): void {
    this.#socket.destroy();
    this.#onClosed();
  }

  #writeEvent(event: EslEvent, encoded: Map<EventFormat, string>): void {
    const format = this.subscriptions.format;
    const text = encoded.get(format) ?? encodeEvent(event, format);
    encoded.set(format, text);
    if (this.#held) this.#held.push(text);
    else this.write(text);
  }

  #onData(chunk: Buffer): void {
    if (!this.open) return;
    let messages: EslMessage[];
    try {
      messages = this.#reader.push(chunk);
    } catch {
      return this.destroy(); // larger than we keep: nothing after it can be understood
    }
    this.#waiting.push(...messages);
    if (this.#waiting.length > maxWaiting) this.#socket.pause();
    if (!this.#busy) this.#work();
  }

  #work(): void {
    for (;;) {
      const message = this.open ? this.#waiting.shift() : undefined;
      if (!message) return;
      if (this.#socket.isPaused() && this.#waiting.length === 0) this.#socket.resume();
      this.#held = [];
      const reply = this.#execute(message);
      const held = this.#held;
      this.#held = null;
      if (typeof reply === 'string') this.write(reply);
      for (const event of held) this.write(event);
      if (typeof reply === 'string') continue;
      this.#busy = true;
      void reply.then(text => this.#answerLate(text));
      return;
    }
  }

  #answerLate(text: string): void {
    this.#busy = false;
    this.write(text);
    this.#work();
  }

  #execute(message: EslMessage): string | Promise<string> {
    const [word = ''] = message.command.split(/\s/, 1);
    const command = commands.get(word.toLowerCase());
    const session = this.session;
    const refused =
      !command || (!this.authenticated && !command.unauthenticated) || (command.outbound === true && !session);
    if (refused) return commandReply(command?.outbound ? command.refusal : '-ERR command not found');
    const rest = message.command.slice(word.length);
    return command.run(
      { host: this.#options.host, subscriptions: this.subscriptions, session, connection: this },
      rest,
      message,
    );
  }

  #onClosed(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#leaving); // nothing may keep the channel, which is large
    this.#waiting.length = 0;
    this.#options.onClose?.();
  }
}
