import { START_ACTION } from '#contract/action';
import type { Address } from '#contract/address';
import type { ReleaseCause } from '#contract/hangup';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import type { Services } from '../services.ts';
import type { InsideCallee } from '../sip/inside-leg.ts';
import { isAdmitted } from '../directory.ts';
import { isPaid } from './balance.ts';
import { ANONYMOUS } from './caller-id.ts';
import { CallSession } from './session.ts';

/** Numbers whose flows lead to each other in a circle are followed so often (RFC 3261 section 21.4.21). */
const MOST_HOPS = 5;

/** A call to a virtual number: who calls, and how often it has come round. */
export interface InsideCall {
  source: Address;
  destination: Address;
  withheld: boolean;
  hops: number;
}

/**
 * Starts the incoming side of a call inside the house: the number's flow, under the customer that owns the number
 * (accounts-and-plumbing 25.3). Resolves with its leg, or with why there is none: nobody has the number, or its customer takes
 * no calls or cannot pay for one (accounts-and-plumbing 14.7).
 */
export const startInside = async (
  services: Services,
  { source, destination, withheld, hops }: InsideCall,
  leg: InsideCallee,
): Promise<InsideCallee | ReleaseCause> => {
  if (hops >= MOST_HOPS) return 'failure';
  const flow = await services.directory.numberFlow(destination.target);
  if (!flow) return 'unallocated';
  if (!isAdmitted(flow.customer_status)) return 'network_out_of_order';
  if (!(await isPaid(services, flow.customer_id, 'call'))) return 'network_out_of_order';
  const now = timestamp();
  const caller = withheld ? { ...source, target: ANONYMOUS, target_name: '', name: '' } : source;
  const session = new CallSession(services, {
    leg,
    flow,
    privacy: withheld,
    hops: hops + 1,
    call: {
      id: newId(),
      customer_id: flow.customer_id,
      direction: 'incoming',
      status: 'ringing',
      source: caller,
      destination,
      action: START_ACTION,
      tm_create: now,
      tm_ringing: now,
    },
  });
  leg.ring();
  await session.create();
  return leg;
};
