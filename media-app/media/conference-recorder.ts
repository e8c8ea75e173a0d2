import type { Endpoint, EslEvent } from 'drachtio-fsmrf';
import { stripLineBreaks } from '#contract/address';
import { deferred } from '../deferred.ts';
import { MAINTENANCE } from './conference.ts';
import { withDeadline } from './deadline.ts';
import { inQuotes } from './in-quotes.ts';

const COMMAND_DEADLINE_MS = 5000;
/** How long a media server may take to finish a file that it says it has stopped. */
const FLUSH_MS = 1000;

/**
 * Records a conference to a mono file, through a leg that sits in it. The media server says that it records before the file is
 * there, and that it stops before the file is whole, so its events are waited for; a connection hears of a conference without
 * a channel only by a filter.
 */
export class ConferenceRecorder {
  readonly #endpoint: Endpoint;
  readonly #name: string;

  constructor(endpoint: Endpoint, name: string) {
    this.#endpoint = endpoint;
    this.#name = name;
  }

  /**
   * Starts to record, at 8 kHz whatever the members speak (platform-api, Recording); resolves when the file is open. Rejects when
   * the media server does not.
   */
  async start(file: string): Promise<void> {
    this.#endpoint.conn?.filter('Conference-Name', this.#name);
    await this.#command('uuid_setvar', `${this.#endpoint.uuid} record_sample_rate 8000`);
    await this.#hearing('start-recording', file, async opened => {
      const answer = await this.#order('start', file);
      if (!answer.includes('Record file')) throw new Error(`the media server answered ${answer.trim()}`);
      const reason = (await withDeadline(opened, COMMAND_DEADLINE_MS, 'the file of the recording')).getHeader('Error');
      if (reason) throw new Error(`the media server does not record: ${reason}`);
    });
  }

  /** Stops; resolves when the file is whole. Rejects when the media server does not say so in time. */
  stop(file: string): Promise<void> {
    return this.#hearing('stop-recording', file, async stopped => {
      const answer = await this.#order('stop', file);
      if (answer.startsWith('-ERR')) return; // it had ended by itself
      await withDeadline(stopped, FLUSH_MS, 'the end of the recording');
    });
  }

  /** Does something while listening for what the media server says afterwards of a file. */
  async #hearing(action: string, file: string, run: (told: Promise<EslEvent>) => Promise<void>): Promise<void> {
    const { conn } = this.#endpoint;
    const told = deferred<EslEvent>();
    const hear = (event: EslEvent) => {
      if (event.getHeader('Action') === action && event.getHeader('Path') === file) told.resolve(event);
    };
    conn?.on(MAINTENANCE, hear);
    try {
      await run(told.promise);
    } finally {
      conn?.removeListener(MAINTENANCE, hear);
    }
  }

  async #order(what: 'start' | 'stop', file: string): Promise<string> {
    const order = `${this.#name} recording ${what} ${inQuotes(stripLineBreaks(file))}`;
    return this.#command('conference', order);
  }

  async #command(name: string, argument: string): Promise<string> {
    const event = await withDeadline(this.#endpoint.api(name, argument), COMMAND_DEADLINE_MS, 'recording');
    return event.getBody();
  }
}
