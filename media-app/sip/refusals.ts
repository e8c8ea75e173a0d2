import type { RefusedInvite } from '#contract/events';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import type { Log } from '#process/log';
import type { Notices } from '../notices.ts';
import type { SipRequest } from './srf.ts';
import { uriOf } from './uri.ts';

/** So many refusals a customer is told of in a minute by one node; a phone that tries for ever must not fill its events. */
const MOST_TOLD = 20;
const WINDOW_MS = 60_000;
/** Of how many customers is remembered what they were told. */
const MOST_CUSTOMERS = 10_000;

const shown = (text: string): string => text.replace(/[^\x20-\x7e\u00a0-\uffff]/g, '?').slice(0, 255);

/**
 * Tells customers of INVITEs that were refused before there was a call: `invite_refused` says what did not match, and what
 * would have. What cannot be laid to a customer's door stands in the log alone.
 */
export class Refusals {
  readonly #notices: Pick<Notices, 'tell'>;
  readonly #log: Log;
  readonly #told = new Map<string, { since: number; count: number }>();

  constructor(notices: Pick<Notices, 'tell'>, log: Log) {
    this.#notices = notices;
    this.#log = log;
  }

  /**
   * Without waiting, so that a refusal takes no longer for one reason than for another.
   * @param sentence what did not match, and what would have
   */
  tell(request: SipRequest, customer_id: string, sip_status: number, sentence: string): void {
    if (!this.#mayTell(customer_id)) return;
    const id = newId();
    const data: RefusedInvite = {
      id,
      customer_id,
      from: shown(uriOf(request.get('from') ?? '')),
      to: shown(request.uri),
      source_address: request.source_address,
      source_port: Number(request.source_port),
      sip_call_id: shown(request.get('call-id') ?? ''),
      sip_status,
      sentence,
      tm_create: timestamp(),
    };
    this.#notices
      .tell({ customer_id, event_type: 'invite_refused', resource: 'invite', resource_id: id, data: { ...data } })
      .catch((error: unknown) => this.#log.warn({ customer_id, error: String(error) }, 'a refusal could not be told'));
  }

  #mayTell(customerId: string): boolean {
    const now = Date.now();
    const told = this.#told.get(customerId);
    if (told && now - told.since < WINDOW_MS) return (told.count += 1) <= MOST_TOLD;
    if (this.#told.size >= MOST_CUSTOMERS) this.#told.clear();
    this.#told.set(customerId, { since: now, count: 1 });
    return true;
  }
}
