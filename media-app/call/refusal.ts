import type { Address } from '#contract/address';
import { type Reason, PlatformError } from '#contract/errors';
import type { ReleaseCause } from '#contract/hangup';
import { newId } from '#contract/ids';
import type { DestinationRefusal, TimelineNote } from '#contract/timeline';
import { placeOf } from '../carrier/country.ts';

/** Why a destination is not dialled, where the reason of the API alone does not tell what a caller is told. */
export class RefusedDestination extends PlatformError {
  readonly cause_told: ReleaseCause;

  /** @param cause_told what a phone that asked for the destination is refused with */
  constructor(reason: Reason, cause_told: ReleaseCause, message: string) {
    super(reason, message);
    this.cause_told = cause_told;
  }
}

/** A country that the customer has not named (accounts-and-plumbing 16). */
export class OutsideWhitelist extends RefusedDestination {}

const TOLD: Partial<Record<Reason, ReleaseCause>> = {
  PERMISSION_DENIED: 'outgoing_barred',
  IDENTITY_VERIFICATION_REQUIRED: 'outgoing_barred',
  INSUFFICIENT_BALANCE: 'network_out_of_order',
  INVALID_ARGUMENT: 'unallocated',
  RESOURCE_LIMIT_EXCEEDED: 'temporary_failure',
  RATE_LIMIT_EXCEEDED: 'temporary_failure',
  SERVICE_UNAVAILABLE: 'temporary_failure',
};

/**
 * What a phone hears that asked for somebody who was not dialled, by the codes of accounts-and-plumbing 20.3: 404 where
 * nothing leads there, 403 what it may not call, 500 where the account cannot pay or is closed, 503 beyond a ceiling.
 */
export const causeToldOf = (error: unknown): ReleaseCause => {
  if (error instanceof RefusedDestination) return error.cause_told;
  return (error instanceof PlatformError && TOLD[error.reason]) || 'failure';
};

/** The entry of the timeline of the call that asked for a destination: why it was not dialled, and what would have been. */
export const refusalNote = (
  call: { id: string; customer_id: string },
  destination: Address,
  error: unknown,
): Omit<TimelineNote, 'timestamp'> => {
  const refusal: DestinationRefusal = {
    customer_id: call.customer_id,
    call_id: call.id,
    destination,
    destination_country: (destination.type === 'tel' && placeOf(destination.target)?.country) || '',
    reason: error instanceof PlatformError ? error.reason : 'INTERNAL',
    sentence: error instanceof PlatformError ? error.message : 'The destination could not be dialled.',
  };
  const event_type = error instanceof OutsideWhitelist ? 'outbound_whitelist_rejected' : 'destination_rejected';
  return { id: newId(), event_type, data: { ...refusal } };
};
