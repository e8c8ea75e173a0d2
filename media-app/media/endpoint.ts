import { EventEmitter } from 'node:events';
import type { Endpoint } from 'drachtio-fsmrf';
import { stripLineBreaks } from '#contract/address';
import type { MediaFacts } from '#contract/timeline';
import type { Log } from '#process/log';
import { deferred } from '../deferred.ts';
import { Applications } from './applications.ts';
import { type ForkRequest, startFork } from './audio-fork.ts';
import { ConferenceSeat } from './conference.ts';
import { ConferenceRecorder } from './conference-recorder.ts';
import { withDeadline } from './deadline.ts';
import { mediaFacts } from './media-facts.ts';
import { gatherWrites } from './gather-writes.ts';
import { inQuotes } from './in-quotes.ts';
import { knowsTelephoneEvent, unnamed } from './sdp.ts';
import { closeLink, type MediaLink } from './link.ts';

export type { ForkMix } from './audio-fork.ts';

const COMMAND_DEADLINE_MS = 5000;
/** What is only nice to know must not hold up the release of a leg. */
const FACTS_DEADLINE_MS = 1000;
/** How long a media server may take to finish a file that it says it does not record. */
const FLUSH_MS = 1000;
/** How long a leg that was told to hang up may take. */
const STUCK_MS = 1000;

/**
 * One media leg on a media server. fsmrf's habits stop here: every operation has a deadline or ends when the endpoint
 * ends, line breaks never reach the event socket, and `destroy` cannot hang.
 *
 * Events: `digit` (one key, at its end), `gone` (the media server dropped the leg).
 */
export class MediaEndpoint extends EventEmitter {
  /** `host:port` of the media server that holds it. */
  readonly server: string;
  readonly #endpoint: Endpoint;
  readonly #log: Log;
  readonly #ended = deferred<void>();
  /** Files being recorded; a promise once one is being finished. */
  readonly #recordings = new Map<string, Promise<void> | undefined>();
  readonly #applications: Applications;
  readonly #openLink: (to: string) => Promise<MediaLink>;
  /** What it is bridged over with a leg on another media server; both of them hold it. */
  #link: MediaLink | undefined;
  #destroyed = false;

  /** @param openLink a link from its media server to another */
  constructor(endpoint: Endpoint, server: string, log: Log, openLink: (to: string) => Promise<MediaLink>) {
    super();
    this.server = server;
    this.#endpoint = endpoint;
    this.#log = log;
    this.#openLink = openLink;
    this.#applications = new Applications(endpoint, this.over, log);
    void this.over.then(() => this.#link && closeLink(this.#link));
    gatherWrites(endpoint.conn?.socket);
    endpoint.on('dtmf', ({ dtmf }: { dtmf: string }) => this.emit('digit', dtmf));
    endpoint.once('destroy', () => this.#end());
  }

  get uuid(): string {
    return this.#endpoint.uuid;
  }

  get localSdp(): string {
    return unnamed(this.#endpoint.local.sdp);
  }

  get alive(): boolean {
    return !this.#destroyed && this.#endpoint.connected;
  }

  /** Resolves when the media server holds nothing of it any more, or is lost. */
  get over(): Promise<void> {
    return this.#ended.promise;
  }

  /** Its media server is lost, and has not said so. */
  lose(): void {
    this.#end();
    this.#endpoint.conn?.disconnect();
  }

  /** Gives the media server the far end's SDP and resolves with its answer; what FreeSWITCH says of itself lags behind it. */
  async modify(sdp: string): Promise<string> {
    const answer = unnamed(await this.#ordered('modify', this.#endpoint.modify(sdp)));
    await this.takeKeysOf(sdp);
    return answer;
  }

  /** Takes the keys of a far end that does not know telephone-event (RFC 4733) from the tones in its audio. Never rejects. */
  async takeKeysOf(sdp: string): Promise<void> {
    if (knowsTelephoneEvent(sdp)) return;
    await this.#ordered('start_dtmf', this.#endpoint.execute('start_dtmf')).catch((error: unknown) =>
      this.#log.debug({ uuid: this.uuid, error: String(error) }, 'keys in the audio are not heard'),
    );
  }

  /** Plays files, tones or URLs one after the other; resolves at the end, when aborted, or when the leg is gone. */
  async play(files: string[], signal?: AbortSignal): Promise<void> {
    for (const file of files) {
      if (signal?.aborted || !this.alive) return;
      const event = await this.#applications.run('playback', stripLineBreaks(file), signal);
      if (event?.getHeader('Application-Response') === 'FILE NOT FOUND') throw new Error(`cannot play ${file}`);
    }
  }

  /** Sends the party's own audio back until aborted. */
  async echo(signal: AbortSignal): Promise<void> {
    await this.#applications.run('echo', '', signal);
  }

  /** Sends telephone events; `duration` of one tone in milliseconds. */
  async sendDigits(digits: string, duration: number): Promise<void> {
    const allowed = digits.replace(/[^0-9A-Da-d*#]/g, '');
    await this.#ordered('send_dtmf', this.#endpoint.execute('send_dtmf', `${allowed}@${duration}`));
  }

  /** Joins the audio of two legs, over a link of ours when they are on different media servers. */
  async bridge(other: MediaEndpoint): Promise<void> {
    if (other.server === this.server) return this.#join(other);
    const link = await this.#openLink(other.server);
    this.#link = other.#link = link;
    await Promise.all([this.#join(link.near), other.#join(link.far)]);
  }

  async #join(other: MediaEndpoint): Promise<void> {
    // Without these a media server drops the one leg when the other hangs up.
    const variables = '^^^hangup_after_bridge=false^park_after_bridge=true';
    for (const leg of [this, other]) await leg.#ordered('multiset', leg.#endpoint.execute('multiset', variables));
    await this.#ordered('bridge', other.#ordered('bridge', this.#endpoint.bridge(other.#endpoint)));
  }

  /** Takes the legs of a bridge apart; harmless when the bridge is gone. */
  async unbridge(): Promise<void> {
    const link = this.#link;
    this.#link = undefined;
    if (link) return closeLink(link);
    if (!this.alive) return;
    await this.#ordered('unbridge', this.#endpoint.unbridge()).catch((error: unknown) =>
      this.#log.debug({ uuid: this.uuid, error: String(error) }, 'unbridge refused'),
    );
  }

  /** Sits in a conference of its media server; resolves when it is out: put out, aborted, or the leg is gone. */
  async conference(
    name: string,
    signal: AbortSignal,
    joined: () => void,
    flags: readonly string[] = [],
  ): Promise<void> {
    if (signal.aborted || !this.alive) return;
    const seat = new ConferenceSeat(this.#endpoint, name, flags, joined);
    const stuck = deferred<void>();
    const leave = () => {
      void seat
        .leave()
        .catch((error: unknown) => this.#log.debug({ uuid: this.uuid, error: String(error) }, 'no seat'));
      setTimeout(() => stuck.resolve(), COMMAND_DEADLINE_MS).unref();
    };
    signal.addEventListener('abort', leave, { once: true });
    try {
      await Promise.race([seat.sit(), this.#ended.promise, stuck.promise]);
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  /** Records everybody in a conference that this leg sits in. Rejects when the media server does not. */
  async recordConference(name: string, file: string): Promise<void> {
    if (!this.alive) throw new Error('the leg is gone');
    await new ConferenceRecorder(this.#endpoint, name).start(file);
  }

  /** Ends the recording of a conference; resolves when its file is whole, or the leg gone. Never rejects. */
  async stopConferenceRecording(name: string, file: string): Promise<void> {
    if (!this.alive) return;
    const stop = new ConferenceRecorder(this.#endpoint, name).stop(file);
    await Promise.race([stop, this.#ended.promise]).catch((error: unknown) =>
      this.#log.debug({ uuid: this.uuid, file, error: String(error) }, 'the recording had ended'),
    );
  }

  /**
   * Lets the party hear a file in place of everything else, until its end or `undisplace`; what it hides goes on unheard.
   * FreeSWITCH lets nobody hear meanwhile what the party says.
   */
  displace(file: string): Promise<void> {
    return this.#displace(file, '');
  }

  /** Lets the party hear a file on top of everything else, again and again, until `undisplace`. */
  overlay(file: string): Promise<void> {
    return this.#displace(file, ' 0 lm');
  }

  async #displace(file: string, how: string): Promise<void> {
    const answer = await this.#command('uuid_displace', `start ${inQuotes(stripLineBreaks(file))}${how}`);
    if (!answer.startsWith('+OK')) throw new Error(`cannot displace with ${file}: ${answer.trim()}`);
  }

  /** Ends a displacement; harmless when the file has ended by itself. */
  async undisplace(file: string): Promise<void> {
    if (this.alive) await this.#command('uuid_displace', `stop ${inQuotes(stripLineBreaks(file))}`);
  }

  /** Whether the party is cut off from what it would hear; what is put in its place or on top afterwards is heard. */
  async deafen(on: boolean): Promise<void> {
    await this.#command('uuid_audio', `start write mute ${on ? 1 : 0}`);
  }

  /** Whether others hear the party. */
  async mute(on: boolean): Promise<void> {
    await this.#command('uuid_audio', `start read mute ${on ? 1 : 0}`);
  }

  /** Forks the audio to a WebSocket, which may speak to the party. Rejects when the leg is gone or has too many forks. */
  async fork(request: ForkRequest): Promise<void> {
    if (!this.alive) throw new Error('the leg has no media');
    await this.#ordered('audio fork', startFork(this.#endpoint, request));
  }

  /** Ends a fork; harmless when there is none of this name. */
  async stopFork(name: string): Promise<void> {
    if (!this.alive) return;
    await this.#ordered('stop fork', this.#endpoint.forkAudioStop(name)).catch((error: unknown) =>
      this.#log.debug({ uuid: this.uuid, error: String(error) }, 'no fork to stop'),
    );
  }

  /** RTP packets received so far. */
  async packetsReceived(): Promise<number> {
    await this.#ordered('media stats', this.#endpoint.api('uuid_set_media_stats', this.uuid));
    return Number.parseInt(await this.#command('uuid_getvar', 'rtp_audio_in_packet_count'), 10) || 0;
  }

  /** What the media server counted so far; `undefined` when it does not say. Never rejects. */
  async facts(): Promise<MediaFacts | undefined> {
    if (!this.alive) return undefined;
    try {
      return mediaFacts(await withDeadline(this.#endpoint.getChannelVariables(true), FACTS_DEADLINE_MS, 'facts'));
    } catch (error) {
      this.#log.debug({ uuid: this.uuid, error: String(error) }, 'the media server did not say what it counted');
      return undefined;
    }
  }

  /**
   * Records both sides of the leg to a stereo file, left what the party says, right what it hears, beside whatever else
   * it does. Resolves when it records, or when the media server says that it does.
   * @param limitSeconds after which the media server ends it by itself; 0 for no limit
   */
  async record(file: string, limitSeconds: number): Promise<void> {
    if (!this.alive) throw new Error('the leg is gone');
    await this.#command('uuid_setvar_multi', 'RECORD_STEREO=true;record_sample_rate=8000');
    const limit = limitSeconds > 0 ? ` ${limitSeconds}` : '';
    this.#recordings.set(file, undefined);
    const answer = await this.#command('uuid_record', `start ${inQuotes(stripLineBreaks(file))}${limit}`);
    if (answer.startsWith('+OK')) return;
    this.#recordings.delete(file);
    throw new Error(`the media server answered ${answer.trim()}`);
  }

  /** Ends a recording; resolves when its file is whole, or the leg gone; at once when there is none. Never rejects. */
  stopRecording(file: string): Promise<void> {
    if (!this.#recordings.has(file)) return Promise.resolve();
    const stopping = this.#recordings.get(file) ?? this.#finishRecording(file);
    this.#recordings.set(file, stopping);
    return stopping;
  }

  /** Releases the leg, with the last of what it records in the files; never rejects, never hangs. */
  async destroy(): Promise<void> {
    if (this.#destroyed) return;
    this.#destroyed = true;
    if (this.#recordings.size > 0)
      await Promise.all([...this.#recordings.keys()].map(file => this.stopRecording(file)));
    const release = this.#endpoint.destroy();
    await withDeadline(this.#released(release), COMMAND_DEADLINE_MS, 'destroy').catch((error: unknown) => {
      this.#log.warn(
        { uuid: this.uuid, error: String(error) },
        'the media server did not confirm the release; closing its socket',
      );
      this.#endpoint.conn?.disconnect();
    });
    this.#ended.resolve();
  }

  /** FreeSWITCH runs no application, `hangup` neither, on a leg whose bridge met a hang-up (CS_RESET); it can be killed. */
  async #released(release: Promise<unknown>): Promise<void> {
    const kill = (): void => void this.#endpoint.api('uuid_kill', this.uuid).catch(() => undefined); // gone meanwhile
    const stuck = setTimeout(kill, STUCK_MS);
    await release.finally(() => clearTimeout(stuck));
  }

  async #finishRecording(file: string): Promise<void> {
    const stop = this.#command('uuid_record', `stop ${inQuotes(stripLineBreaks(file))}`).then(async answer => {
      // It ended by itself a moment ago, or the leg is on its way out: its file is whole when the leg is gone.
      if (!answer.startsWith('+OK')) await withDeadline(this.#ended.promise, FLUSH_MS, 'the end of the leg');
    });
    await Promise.race([stop, this.#ended.promise]).catch((error: unknown) =>
      this.#log.debug({ uuid: this.uuid, file, error: String(error) }, 'the recording had ended'),
    );
  }

  /** A command about this leg; resolves with what the media server says. */
  async #command(name: string, argument: string): Promise<string> {
    const event = await this.#ordered(name, this.#endpoint.api(name, `${this.uuid} ${argument}`));
    return event.getBody();
  }

  /**
   * What the media server was told to do. Rejects when the leg is gone, whose orders it never answers, or it does not
   * answer in time: who waits for one leg must not wait for ever.
   */
  #ordered<T>(what: string, order: Promise<T>): Promise<T> {
    const gone = this.#ended.promise.then(() => Promise.reject(new Error(`${what}: the leg is gone`)));
    return withDeadline(Promise.race([order, gone]), COMMAND_DEADLINE_MS, what);
  }

  #end(): void {
    this.#ended.resolve();
    if (this.#destroyed) return;
    this.#destroyed = true;
    this.emit('gone');
  }
}
