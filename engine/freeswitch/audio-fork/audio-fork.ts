import type { AudioTap } from '../../media/audio-leg.ts';
import type { Channel } from '../channel.ts';
import type { ForkStart } from './arguments.ts';
import { ForkFrames } from './fork-frames.ts';
import { ForkSocket } from './fork-socket.ts';
import type { ForkMessage } from './messages.ts';
import { markReport, readMessage } from './messages.ts';
import { extensionFor, PlayFiles } from './play-files.ts';
import { StreamedVoice } from './streamed-voice.ts';

const backlogSeconds = 2;
const maxWaitingTexts = 64;
/** What a far end may send in a second: so many messages of 16 kB, fewer of larger ones. */
const messagesPerSecond = 1000;
const messageBytes = 16 * 1024;
const ticksPerSecond = 50;

/** How a pause sounds at the far end: nothing is sent, or silence is. */
export type PauseKind = 'blank' | 'silence';

/**
 * One fork of a channel's audio to a WebSocket: 20 ms frames out, and text, files and streamed audio back in (protocol
 * page §10). Whatever happens is told by `mod_audio_fork::…` events of the channel.
 */
export class AudioFork implements AudioTap {
  readonly name: string;
  /** False once the far end is gone or never came; the fork stays until it is stopped. */
  alive = true;
  readonly #channel: Channel;
  readonly #options: ForkStart;
  readonly #frames: ForkFrames;
  readonly #socket: ForkSocket;
  readonly #voice: StreamedVoice | null;
  readonly #files: PlayFiles;
  readonly #nextFile: () => number;
  readonly #removeTap: () => void;
  readonly #maxBacklog: number;
  #removeOverlay: (() => void) | null = null;
  #waitingTexts: string[] = [];
  #paused: PauseKind | null = null;
  #graceful = false;
  #announced = false;
  #stopped = false;
  #overran = false;
  #messages = 0;
  #ticks = 0;
  #storing: Promise<void> | null = null;

  /** Begins to connect. `nextFile` numbers the channel's temporary files. */
  constructor(channel: Channel, options: ForkStart, nextFile: () => number) {
    this.name = options.name;
    this.#channel = channel;
    this.#options = options;
    this.#nextFile = nextFile;
    this.#frames = new ForkFrames(options.mix, options.rate);
    this.#maxBacklog = backlogSeconds * options.rate * (options.mix === 'stereo' ? 4 : 2);
    this.#files = new PlayFiles(`${channel.core.options.cacheDir}-forks`);
    this.#voice = options.streamRate === null ? null : this.#openVoice(options.streamRate);
    this.#socket = this.#connect();
    this.#removeTap = channel.leg.addTap(this);
  }

  /** True when the far end may stream audio into the call. */
  get streams(): boolean {
    return this.#voice !== null;
  }

  /** Takes 20 ms of the call. */
  frame(said: Int16Array, heard: Int16Array): void {
    this.#voice?.tick();
    this.#ticks += 1;
    if (this.#ticks % ticksPerSecond === 0) this.#nextSecond();
    if (!this.#socket.isOpen) return;
    this.#sendAudio(said, heard);
    this.#announce();
  }

  /** Sends a text frame, as soon as the connection is open. Nothing when it is over. */
  sendText(text: string): void {
    if (this.#socket.isOpen) this.#socket.send(text);
    else if (this.alive && this.#waitingTexts.length < maxWaitingTexts) this.#waitingTexts.push(text);
  }

  /** Stops sending what is said until `resume`. */
  pause(kind: PauseKind): void {
    this.#paused = kind;
  }

  /** Sends on. */
  resume(): void {
    this.#paused = null;
  }

  /** Says by an empty frame that no more audio comes, and leaves it to the far end to close. */
  shutDown(): void {
    this.#graceful = true;
    this.#socket.send(Buffer.alloc(0));
  }

  /** Throws away what the far end has streamed and the caller has not heard yet. */
  stopPlay(): void {
    this.#voice?.clear(true);
  }

  /** Ends it all, after a last text: the socket closes with 1000, streamed audio falls silent, files are deleted. */
  stop(text: string | null): void {
    if (text !== null) this.#socket.send(text);
    this.#stopped = true;
    this.alive = false;
    this.#removeTap();
    this.#removeOverlay?.();
    this.#voice?.clear(false);
    this.#socket.close();
    this.#files.close().catch((error: unknown) => this.#warn(error, 'temporary sound cannot be deleted'));
  }

  #connect(): ForkSocket {
    const channel = this.#channel;
    const username = channel.get('MOD_AUDIO_BASIC_AUTH_USERNAME');
    const password = channel.get('MOD_AUDIO_BASIC_AUTH_PASSWORD');
    const allows = (name: string): boolean => channel.get(`MOD_AUDIO_FORK_${name}`) === 'true';
    const options = {
      credentials: username === undefined ? null : { username, password: password ?? '' },
      allowSelfSigned: allows('ALLOW_SELFSIGNED'),
      allowExpired: allows('ALLOW_EXPIRED'),
      skipHostnameCheck: allows('SKIP_SERVER_CERT_HOSTNAME_CHECK'),
    };
    return new ForkSocket(this.#options.url, options, {
      opened: () => this.#opened(),
      text: text => this.#received(text.length) && this.#onText(text),
      audio: bytes => this.#received(bytes.length) && this.#voice?.write(bytes),
      closed: () => this.#closed(),
      failed: reason => this.#failed(reason),
    });
  }

  #openVoice(rate: number): StreamedVoice {
    const voice = new StreamedVoice(rate, this.#channel.leg.rate, {
      begins: () => {
        this.#removeOverlay?.();
        this.#removeOverlay = this.#channel.leg.addVoice(voice);
      },
      mark: (name, end) => this.#socket.send(markReport(name, end)),
      overrun: () => this.#raise('buffer_overrun'),
    });
    return voice;
  }

  #opened(): void {
    if (this.#options.metadata !== '') this.#socket.send(this.#options.metadata);
    for (const text of this.#waitingTexts.splice(0)) this.#socket.send(text);
  }

  #sendAudio(said: Int16Array, heard: Int16Array): void {
    if (this.#graceful || this.#paused === 'blank') return;
    const frame = this.#paused === 'silence' ? this.#frames.silence(said) : this.#frames.frame(said, heard);
    if (this.#socket.backlog + frame.length <= this.#maxBacklog) return this.#socket.send(frame);
    if (!this.#overran) this.#raise('buffer_overrun');
    this.#overran = true;
  }

  #announce(): void {
    if (this.#announced) return;
    this.#announced = true;
    this.#raise('connect');
  }

  #closed(): void {
    this.alive = false;
    this.#announce();
    this.#voice?.finish();
    this.#inOrder(() => this.#raise('disconnect'));
  }

  #failed(reason: string): void {
    this.alive = false;
    this.#raise('connect_failed', JSON.stringify({ reason }));
  }

  /** Counts what comes in; a far end that floods us is not read for the rest of the second. */
  #received(bytes: number): boolean {
    this.#announce();
    this.#messages += Math.ceil((bytes + 1) / messageBytes);
    if (this.#messages >= messagesPerSecond) this.#socket.pause();
    return true;
  }

  #nextSecond(): void {
    if (this.#messages >= messagesPerSecond && !this.#storing) this.#socket.resume();
    this.#messages = 0;
  }

  #onText(text: string): void {
    const message = readMessage(text);
    const { log } = this.#channel.core.options;
    if (!message) log.debug({ uuid: this.#channel.uuid, fork: this.name }, 'text of a fork is ignored');
    else if (message.kind === 'play') this.#store(() => this.#offer(message.data, message.audio));
    else this.#inOrder(() => this.#obey(message));
  }

  /** At once, or after the sounds that are still being stored, so that the application is told everything in its order. */
  #inOrder(step: () => void): void {
    if (this.#storing) this.#store(step);
    else step();
  }

  /** One after the other; what comes meanwhile is not read. */
  #store(step: () => void | Promise<void>): void {
    this.#socket.pause();
    const done = (this.#storing ?? Promise.resolve()).then(step);
    const work = done
      .catch((error: unknown) => this.#warn(error, 'message of a fork is lost'))
      .then(() => {
        if (this.#storing !== work) return;
        this.#storing = null;
        this.#socket.resume();
      });
    this.#storing = work;
  }

  #obey(message: Exclude<ForkMessage, { kind: 'play' }>): void {
    if (message.kind === 'event') this.#raise(message.name, message.body === '' ? undefined : message.body);
    else if (message.kind === 'kill') this.#kill();
    else if (message.kind === 'mark') this.#voice?.mark(message.name);
    else this.#voice?.clearMarks();
  }

  #kill(): void {
    this.#channel.executions.breakPlayback();
    this.#raise('kill_audio');
    this.#voice?.clear(true);
  }

  /** Stores the sound and tells the application where it is; the application plays it. */
  async #offer(data: Record<string, unknown>, audio: string): Promise<void> {
    if (!this.#options.bidirectional || this.#voice) return;
    const extension = extensionFor(data['audioContentType'], data['sampleRate']);
    const bytes = Buffer.from(audio, 'base64');
    let file: string | undefined;
    try {
      if (extension !== null && bytes.length > 0)
        file = await this.#files.store(`${this.#channel.uuid}_${this.#nextFile()}${extension}`, bytes);
    } catch (error) {
      this.#warn(error, 'sound of a fork cannot be stored'); // told without a file, as a sound of unknown kind
    }
    this.#raise('play_audio', JSON.stringify(file === undefined ? data : { ...data, file }));
  }

  #raise(name: string, body?: string): void {
    if (this.#stopped) return;
    this.#channel.core.raiseCustomFor(this.#channel, `mod_audio_fork::${name}`, body);
  }

  #warn(error: unknown, text: string): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.#channel.core.options.log.warn({ uuid: this.#channel.uuid, fork: this.name, reason }, text);
  }
}
