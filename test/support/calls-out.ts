import { strict as assert } from 'node:assert';
import type { Call } from '#contract/call';
import type { SipHeader } from '../../scripts/phone/sip-message.ts';
import { OWN_NUMBER, withCarriers, type CarrierDesk } from './carrier.ts';
import type { Office } from './office.ts';
import type { PhoneCall } from './phone-call.ts';
import type { TestPhone } from './phone.ts';
import type { ApiAnswer, Stack } from './stack.ts';

/** Whom calls to the world go to, unless a test names somebody else. */
export const CALLEE = '+12125550123';

/** The address of a telephone. */
export const tel = (target: string, more = {}) => ({ type: 'tel', target, ...more });

/** Actions of a call that stays. */
export const waiting = [{ type: 'sleep', option: { duration: 60_000 } }];

/** What `POST /calls` says. */
export interface Placed {
  calls: Call[];
  error?: { reason: string; message: string };
}

/** Calls that an office places to the world. */
export class CallsOut {
  readonly #office: Office;

  constructor(office: Office) {
    this.#office = office;
  }

  /** POST /calls from the own number to the callee, whatever comes of it. */
  place(body: Record<string, unknown> = {}): Promise<ApiAnswer<Placed>> {
    const usual = { source: tel(OWN_NUMBER), destinations: [tel(CALLEE)], actions: waiting };
    return this.#office.stack.api<Placed>('POST', '/calls', { ...usual, ...body });
  }

  /** The call that this placed. */
  async placed(body: Record<string, unknown> = {}): Promise<Call> {
    const answer = await this.place(body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const [call] = answer.body.calls;
    assert(call);
    return call;
  }

  /** Hangs up; the call once it is over. */
  async hangUp(call: Call): Promise<Call> {
    await this.#office.stack.api('POST', `/calls/${call.id}/hangup`);
    return this.#office.ended(call.id);
  }
}

/** Gives each test of a describe an office that calls the world, and a desk for carriers. */
export const withCallsOut = (
  opened: (office: Office, desk: CarrierDesk, out: CallsOut) => void,
  start?: () => Promise<Stack>,
): void => withCarriers((office, desk) => opened(office, desk, new CallsOut(office)), start);

/** How many INVITEs a carrier got, repeats aside. */
export const invites = (carrier: TestPhone): number =>
  new Set(carrier.messages('INVITE', 'received').map(one => one.message.headers.find(h => h.name === 'via')?.value))
    .size;

/** Refuses a call with headers of one's own. */
export const rejectWith = (call: PhoneCall, status: number, headers: SipHeader[]): void =>
  (call.inner.sip as unknown as { reject(code: number, headers: SipHeader[]): void }).reject(status, headers);
