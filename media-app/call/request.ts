import type { Address, Anonymous } from '#contract/address';
import type { Call } from '#contract/call';
import type { FlowTemplate } from '#contract/flow';
import type { Groupcall } from '#contract/groupcall';
import type { CallSession } from './session.ts';

/** What outgoing calls are asked for with. */
export interface CallRequest {
  customer_id: string;
  source: Address;
  destinations: Address[];
  /** Run by each answered call; none for the far legs of a connect. */
  flow?: FlowTemplate;
  variables?: Record<string, string>;
  master_call_id?: string;
  /** Whether telephone numbers may learn who calls (voice-and-flows 9.3). */
  anonymous?: Anonymous;
  /** Telephone numbers go through this provider and no other (accounts-and-plumbing 24). */
  provider_id?: string | undefined;
  /** How often the call that leads to these has come round inside the house. */
  hops?: number;
  /** The call that leads to these came withheld. */
  privacy?: boolean;
  early_execution?: boolean;
  /** Take the media of the ringing side, so that it can be heard before the answer. */
  early_media?: boolean;
  request_id?: string;
  /** Whoever asks joins another phone that picks one of them up while it rings (`CallSession.pickedUp`). */
  may_be_picked_up?: boolean;
  /** Media server the legs should be on, so that they can be bridged. */
  media_server?: string;
}

export interface CreatedCalls {
  /** Every call made, the legs of groupcalls included (they carry `groupcall_id`). */
  calls: Call[];
  groupcalls: Groupcall[];
  sessions: CallSession[];
}
