import type { Endpoint, EslEvent } from 'drachtio-fsmrf';
import { stripLineBreaks } from '#contract/address';
import { MAINTENANCE } from './conference.ts';
import { withDeadline } from './deadline.ts';
import { inQuotes } from './in-quotes.ts';

const COMMAND_DEADLINE_MS = 5000;
/** How long a media server may take to finish a file that it says it has stopped. */
const FLUSH_MS = 1000;

/**
 * Records a conference to a mono file, through a leg that sits in it. The media server says that it stops before the file is
 * whole, so its event is waited for; a connection hears of a conference without a channel only by a filter.
 */
export class ConferenceRecorder {
  readonly #endpoint: Endpoint;
  readonly #name: string;

  constructor(endpoint: Endpoint, name: string) {
    this.#endpoint = endpoint;
    this.#name = name;
  }

  /** Starts to record. Rejects when the media server does not. */
  async start(file: string): Promise<void> {
    this.#endpoint.conn?.filter('Conference-Name', this.#name);
    const answer = await this.#order('start', file);
    if (!answer.includes('Record file')) throw new Error(`the media server answered ${answer.trim()}`);
  }

  /** Stops; resolves when the file is whole. Rejects when the media server does not say so in time. */
  async stop(file: string): Promise<void> {
    const { conn } = this.#endpoint;
    let whole: () => void = () => undefined;
    const stopped = new Promise<void>(resolve => (whole = resolve));
    const hear = (event: EslEvent) => {
      if (event.getHeader('Action') === 'stop-recording' && event.getHeader('Path') === file) whole();
    };
    conn?.on(MAINTENANCE, hear);
    try {
      const answer = await this.#order('stop', file);
      if (answer.startsWith('-ERR')) return; // it had ended by itself
      await withDeadline(stopped, FLUSH_MS, 'the end of the recording');
    } finally {
      conn?.removeListener(MAINTENANCE, hear);
    }
  }

  async #order(what: 'start' | 'stop', file: string): Promise<string> {
    const order = `${this.#name} recording ${what} ${inQuotes(stripLineBreaks(file))}`;
    const event = await withDeadline(this.#endpoint.api('conference', order), COMMAND_DEADLINE_MS, 'recording');
    return event.getBody();
  }
}
