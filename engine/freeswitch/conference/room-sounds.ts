import type { FrameSource } from '../../media/audio-leg.ts';
import { LoopingSource } from '../../media/sources/looping-source.ts';
import type { Conference } from './conference.ts';
import type { Member } from './member.ts';
import { openSound } from './play-queue.ts';

/** A sound that marks an event, and whether it is played. */
interface Mark {
  file: string | null;
  on: boolean;
}

/**
 * What a conference plays by itself: a sound when somebody comes or goes, and music to one who waits alone or for the
 * moderator. Silent until told otherwise: by the commands `enter_sound`, `exit_sound` and `moh`, or by the channel
 * variables `conference_enter_sound`, `conference_exit_sound` (of whoever comes or goes) and `conference_moh_sound` (of
 * the first member).
 */
export class RoomSounds {
  readonly enter: Mark = { file: null, on: true };
  readonly exit: Mark = { file: null, on: true };
  readonly #room: Conference;
  #music: string | null;
  #musicOn = true;
  /** Ends the music that plays; null while there is none. */
  #stop: (() => void) | null = null;

  constructor(room: Conference, music: string | null) {
    this.#room = room;
    this.#music = music;
  }

  /** Somebody has come. The first one hears nothing of it. */
  entered({ channel }: Member): void {
    if (this.#room.size > 1 && this.enter.on) this.#play(channel.get('conference_enter_sound') ?? this.enter.file);
    this.listen();
  }

  /** Somebody has gone. */
  left({ channel }: Member): void {
    const own = channel.get('conference_exit_sound');
    if (this.#room.size > 0 && (this.exit.on || own !== undefined)) this.#play(own ?? this.exit.file);
    this.listen();
  }

  /** `on`, `off`, `toggle`, `reset` (no music), or what to play from now on. */
  setMusic(what: string): void {
    if (what === 'toggle') this.#musicOn = !this.#musicOn;
    else if (what === 'on' || what === 'off') this.#musicOn = what === 'on';
    else this.#music = what === 'reset' ? null : what;
    this.end();
    this.listen();
  }

  /** Starts or ends the music, as whoever is there needs it. */
  listen(): void {
    const wanted = this.#musicOn && this.#music !== null && this.#room.waits;
    if (wanted && !this.#stop) this.#begin(this.#music as string);
    else if (!wanted) this.end();
  }

  /** Ends the music. */
  end(): void {
    this.#stop?.();
    this.#stop = null;
  }

  #begin(file: string): void {
    let ended = false;
    let silence: (() => void) | null = null;
    const stop = (): void => {
      ended = true;
      silence?.();
    };
    this.#stop = stop;
    const open = (): Promise<FrameSource> => openSound(this.#room, file);
    open().then(
      first => {
        if (!ended) silence = this.#room.mixer.play(new LoopingSource(first, open), () => undefined);
      },
      (error: unknown) => this.#missing(file, error),
    );
  }

  #play(file: string | null): void {
    if (file === null || file === '') return;
    openSound(this.#room, file).then(
      source => {
        if (!this.#room.over) this.#room.plays.add(file, source, false);
      },
      (error: unknown) => this.#missing(file, error),
    );
  }

  #missing(file: string, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.#room.core.options.log.warn({ conference: this.#room.name, file, reason }, 'sound cannot be played');
  }
}
