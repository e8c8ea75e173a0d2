import type { Redis } from 'ioredis';
import type { Address } from '#contract/address';
import type { Call } from '#contract/call';
import type { ReleaseCause } from '#contract/hangup';
import { newId } from '#contract/ids';
import { keys } from '#contract/keys';
import type { ConferenceEntry } from '#flow/action';
import type { Log } from '#process/log';
import type { DialogName } from './sip/replaces.ts';
import type { NoVacancy, Vacancy } from './transfer/replace.ts';

/** A call on its way into a conference, in it or out of it. */
export interface GuestName {
  conference_id: string;
  call_id: string;
}

/** What one media-app asks another: name → what it says and what it hears. */
export interface Questions {
  /** May this call of mine come in? Its media is on `media_server`, if it has some. */
  'conference.admit': {
    says: { conference_id: string; node: string; media_server: string; call: Call };
    hears: Admission;
  };
  /** It is in the mixer. */
  'conference.entered': { says: GuestName; hears: { company: boolean } };
  /** It is not any more, or will never be. */
  'conference.left': { says: GuestName; hears: unknown };
  'conference.digit': { says: { conference_id: string; digit: string }; hears: unknown };
  /** Put this call of yours out, or past the conference. */
  'conference.put_out': { says: GuestName; hears: unknown };
  /** Whoever waits alone in a connect conference has company. */
  'conference.company': { says: { conference_id: string }; hears: unknown };
  /** How is this call of yours, and does its flow still come to the bridge? */
  'conference.look': { says: GuestName; hears: { there: boolean; comes: boolean } };
  /** Is this dialog yours, which a Replaces names, and what may a call of this customer have of it? */
  'dialog.look': { says: { dialog: DialogName; customer_id: string }; hears: Vacancy | NoVacancy | undefined };
  /** A call of mine, whose media is described by `offer`, wants the place of that dialog. Why may it not? */
  'inside.call': {
    says: { id: string; node: string; dialog: DialogName; customer_id: string; source: Address; offer: string };
    hears: ReleaseCause | undefined;
  };
  /** The called side of a call between us is answered, or heard before that. */
  'inside.hear': { says: { id: string; sdp: string; event: 'early' | 'answered' }; hears: unknown };
  /** My side of a call between us is over. */
  'inside.over': { says: { id: string; cause: ReleaseCause }; hears: unknown };
  /** Is your side of a call between us still there? */
  'inside.look': { says: { id: string }; hears: boolean };
}

/** How a call of another node comes in: as a participant of this conference, into this mixer on this media server. */
export type Admission = ConferenceEntry & { media_server: string; type: 'conference' | 'connect' };

type Question = keyof Questions;
type Says<Q extends Question> = Questions[Q]['says'];
type Hears<Q extends Question> = Questions[Q]['hears'];
type Answerers = { [Q in Question]?: (says: Says<Q>) => Promise<Hears<Q>> | Hears<Q> };

type Letter =
  | { id: string; from: string; question: Question; says: never }
  | { id: string; answer: unknown }
  | { id: string; error: string };

const DEADLINE_MS = 3000;

/**
 * How media-apps talk to each other: a question on the other's Redis channel, an answer on one's own. Nothing is kept, so
 * whoever asks must be able to live without an answer; what must not be lost is a live record.
 */
export class Neighbours {
  readonly #redis: Redis;
  readonly #ears: Redis;
  readonly #node: string;
  readonly #log: Log;
  readonly #answerers: Answerers = {};
  readonly #waiting = new Map<string, (letter: Letter) => void>();

  constructor(redis: Redis, node: string, log: Log) {
    this.#redis = redis;
    this.#ears = redis.duplicate();
    this.#ears.on('error', () => undefined); // told by the connection it is a copy of
    this.#node = node;
    this.#log = log;
  }

  /** Says how a question is answered; an Error becomes the asker's. */
  answer<Q extends Question>(question: Q, answerer: (says: Says<Q>) => Promise<Hears<Q>> | Hears<Q>): void {
    Object.assign(this.#answerers, { [question]: answerer });
  }

  /** Hears what other nodes ask from now on. */
  async start(): Promise<void> {
    this.#ears.on('message', (_channel, text) => void this.#hear(JSON.parse(text) as Letter));
    await this.#ears.subscribe(keys.neighbour(this.#node));
  }

  /** Hears nothing any more. */
  stop(): void {
    this.#ears.disconnect();
  }

  /** Whether another media-app lives, by its lease. */
  async lives(node: string): Promise<boolean> {
    return (await this.#redis.exists(keys.node(node))) === 1;
  }

  /**
   * Asks another media-app.
   * @throws Error as it says itself, or because it is not there or does not answer
   */
  async ask<Q extends Question>(node: string, question: Q, says: Says<Q>): Promise<Hears<Q>> {
    const id = newId();
    const answered = this.#answerTo(id, question);
    const heard = await this.#send(node, { id, from: this.#node, question, says: says as never });
    if (heard === 0) this.#waiting.get(id)?.({ id, error: `media-app ${node} is not there` });
    return await answered;
  }

  /** Asks all other media-apps at once. Resolves with the first answer that is one; undefined when nobody has one. */
  async find<Q extends Question>(
    question: Q,
    says: Says<Q>,
  ): Promise<{ node: string; answer: NonNullable<Hears<Q>> } | undefined> {
    const nodes = await this.#redis.smembers(keys.nodes);
    const asked = nodes
      .filter(node => node !== this.#node)
      .map(async node => {
        const answer = await this.ask(node, question, says);
        if (answer === undefined || answer === null) throw new Error('it has none');
        return { node, answer };
      });
    return Promise.any(asked).catch(() => undefined); // nobody has one, or they are not there
  }

  /** Like `ask` where nobody waits for the answer; never rejects. */
  tell<Q extends Question>(node: string, question: Q, says: Says<Q>): void {
    this.ask(node, question, says).catch((error: unknown) =>
      this.#log.info({ node, question, about: says, error: String(error) }, 'another media-app was not reached'),
    );
  }

  #answerTo(id: string, question: string): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const late = () => this.#waiting.get(id)?.({ id, error: `no answer to ${question} within ${DEADLINE_MS} ms` });
      const timer = setTimeout(late, DEADLINE_MS);
      this.#waiting.set(id, letter => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        if ('error' in letter) reject(new Error(letter.error));
        else resolve('answer' in letter ? letter.answer : undefined);
      });
    });
  }

  async #hear(letter: Letter): Promise<void> {
    if (!('question' in letter)) return this.#waiting.get(letter.id)?.(letter);
    const { id, from, question, says } = letter;
    try {
      const answer = await this.#answerers[question]?.(says);
      await this.#send(from, { id, answer: answer ?? null });
    } catch (error) {
      await this.#send(from, { id, error: error instanceof Error ? error.message : String(error) });
    }
  }

  /** Resolves with how many heard it; with 0 when Redis is away. */
  #send(node: string, letter: Letter): Promise<number> {
    return this.#redis.publish(keys.neighbour(node), JSON.stringify(letter)).catch(() => 0);
  }
}
