import type { Call } from '#contract/call';
import { PlatformError } from '#contract/errors';
import { type MuteDirection, muted, unmuted } from '#contract/mute';
import type { Speech } from '#flow/action';
import type { MediaEndpoint } from '../media/endpoint.ts';
import { Mailbox } from './mailbox.ts';
import type { CallSession } from './session.ts';

/** What a party hears that waits for somebody else to answer. */
export const RINGBACK = 'tone_stream://loops=-1;%(1000,4000,425)';

/** What a party hears while others see to a transfer. */
export type Aside = 'music' | 'ringback';

/** Whether a party is cut off from its call, and the sound that it hears in its place; silence without one. */
interface Instead {
  deaf: boolean;
  sound: string | undefined;
}

/** Refuses what cannot be done to a call in its status (voice-and-flows 10). */
const requireUp = ({ status }: Call): void => {
  if (status === 'hangup') throw new PlatformError('CALL_ALREADY_HANGUP', 'The call has ended already.');
  if (status === 'canceling' || status === 'terminating')
    throw new PlatformError('CALL_STATE_INVALID', 'The call is ending.');
};

const requireAnswered = (call: Call): void => {
  requireUp(call);
  if (call.status !== 'progressing') throw new PlatformError('CALL_STATE_INVALID', 'The call is not answered yet.');
};

/** `mute_direction` when the party shall not hear the other side either. */
const deafened = (now: MuteDirection): MuteDirection => (now === '' || now === 'in' ? 'in' : 'both');

/**
 * What the API does to the sound of a call beside its flow: hold, music, silence, mute and speech. The flow and a bridge
 * go on underneath; what the party hears in their place follows from the switches, the music before the silence, and
 * speech before both. One change at a time, in the order they were asked for.
 */
export class CallControls {
  readonly #session: CallSession;
  readonly #changes: Mailbox;
  readonly #switches = { held: false, music: false, silence: false };
  #aside: Aside | undefined;
  /** `mute_direction` before the party was set aside. */
  #mutedBefore: MuteDirection = '';
  /** What the party hears now in place of its call. */
  #instead: Instead = { deaf: false, sound: undefined };
  #speech: string | undefined;

  constructor(session: CallSession) {
    this.#session = session;
    this.#changes = new Mailbox(session.log);
  }

  /**
   * Holds the media towards the party, both ways, or resumes it. A phone that refuses the re-INVITE is held all the same:
   * it is sent silence, and what it sends is heard by nobody.
   */
  hold(on: boolean): Promise<void> {
    return this.#change(async () => {
      if (this.#switches.held === on) return;
      this.#switches.held = on;
      await this.#apply(this.#session.call.mute_direction);
      await this.#session.leg
        .hold(on)
        .catch((error: unknown) =>
          this.#session.log.warn({ error: String(error) }, 'the far end did not answer the re-INVITE'),
        );
    });
  }

  /** Music on hold, in place of whatever the party would hear. */
  music(on: boolean): Promise<void> {
    return this.#switch('music', on);
  }

  /** A silence stream, in place of whatever the party would hear. */
  silence(on: boolean): Promise<void> {
    return this.#switch('silence', on);
  }

  /** Mutes a direction, or opens it again. Writes `mute_direction` and tells `call_updated`. */
  mute(asked: MuteDirection, on: boolean): Promise<void> {
    return this.#change(async () => {
      const { mute_direction } = this.#session.call;
      const wanted = on ? muted(asked) : unmuted(mute_direction, asked);
      await this.#apply(wanted);
      await this.#session.update({ mute_direction: wanted });
    });
  }

  /**
   * Takes the party out of its conversation while a transfer is under way (voice-and-flows 19), or lets it back in. With
   * music it is muted too, which its record shows; a mute that it had before, or is given meanwhile, stays.
   */
  setAside(aside: Aside | undefined): Promise<void> {
    return this.#change(async () => {
      const { mute_direction: now } = this.#session.call;
      const before = this.#aside;
      this.#aside = aside;
      let wanted = now;
      if (aside === 'music' && before !== 'music') {
        this.#mutedBefore = now;
        wanted = deafened(now);
      } else if (aside !== 'music' && before === 'music' && now === deafened(this.#mutedBefore))
        wanted = this.#mutedBefore;
      await this.#apply(wanted);
      if (wanted !== now) await this.#session.update({ mute_direction: wanted });
    });
  }

  /**
   * Speaks to the party without moving the flow; answers the call first. Resolves when the speech begins; a new one ends
   * the one before.
   */
  async talk(speech: Speech): Promise<void> {
    requireUp(this.#session.call);
    await this.#answer();
    const file = await this.#session.services.speech.synthesize(speech, new AbortController().signal);
    await this.#change(async () => {
      if (this.#speech) await this.#endpoint().undisplace(this.#speech);
      await this.#endpoint().displace(file);
      this.#speech = file;
    });
  }

  async #answer(): Promise<void> {
    const { call } = this.#session;
    if (call.status === 'progressing') return;
    if (call.direction === 'outgoing') requireAnswered(call);
    await this.#session.answer().catch(() => requireAnswered(this.#session.call));
  }

  #switch(name: 'music' | 'silence', on: boolean): Promise<void> {
    return this.#change(async () => {
      this.#switches[name] = on;
      await this.#apply(this.#session.call.mute_direction);
    });
  }

  #change(change: () => Promise<void>): Promise<void> {
    return this.#changes.post(() => {
      requireAnswered(this.#session.call);
      return change();
    });
  }

  /** Brings the media in line with the switches. What is new is there before what was goes, so that nothing slips through. */
  async #apply(mute: MuteDirection): Promise<void> {
    const endpoint = this.#endpoint();
    const { sound: before } = this.#instead;
    const { deaf, sound } = await this.#wantedInstead(mute);
    if (deaf) await endpoint.deafen(true); // first: it silences what lies below it, and the sound must not
    if (sound && sound !== before) await endpoint.overlay(sound);
    this.#instead = { deaf, sound };
    if (before && before !== sound) await endpoint.undisplace(before);
    if (!deaf) await endpoint.deafen(false);
    await endpoint.mute(this.#switches.held || this.#aside === 'music' || mute === 'out' || mute === 'both');
  }

  async #wantedInstead(mute: MuteDirection): Promise<Instead> {
    const { held, music, silence } = this.#switches;
    if (this.#aside === 'ringback') return { deaf: true, sound: RINGBACK };
    if (music || this.#aside === 'music') return { deaf: true, sound: await this.#session.services.holdMusic() };
    return { deaf: held || silence || mute === 'in' || mute === 'both', sound: undefined };
  }

  #endpoint(): MediaEndpoint {
    const { endpoint } = this.#session;
    if (!endpoint?.alive) throw new PlatformError('CALL_STATE_INVALID', 'The call has no media any more.');
    return endpoint;
  }
}
