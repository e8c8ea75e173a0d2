import type { EventEmitter } from 'node:events';
import type { Aside } from './controls.ts';
import type { CallSession } from './session.ts';

export interface BridgeEvents {
  joined: [call: CallSession];
  /** Also for a call that was not let in. */
  leaved: [call: CallSession];
  /** A key that one of them pressed in a conference. */
  digit: [digit: string];
  closed: [];
}

/**
 * What calls hear each other in (voice-and-flows 12): two that are connected (`ConnectBridge`), or the mixer of a
 * conference (`Confbridge`). While a call is in, its `bridge` says so.
 */
export interface Bridge extends EventEmitter<BridgeEvents> {
  readonly id: string;
  /** The media server that a leg must be on to come in. */
  readonly server: string;
  /** Everybody in it, in the order they came. */
  readonly calls: CallSession[];
  /** True while somebody is handing the conversation on: one at a time. */
  inTransfer: boolean;
  /** `no_auto_leave`: the bridge stands although only one is left in it, until it is no longer kept open. */
  keepOpen(on: boolean): void;
  /** Lets calls in that run this temporary flow; with `inPlaceOf`, one of them takes the place of that call. */
  welcome(flowId: string, inPlaceOf?: CallSession): void;
  /** Ends what `welcome` began. */
  turnAway(flowId: string): void;
  /** Takes a call in; resolves when it has left, for whatever reason, or the signal aborts. Rejects when it may not come. */
  join(call: CallSession, signal: AbortSignal): Promise<void>;
  /** Takes a call out of the conversation, or lets it back in. Never rejects: a call that is gone needs neither. */
  setAside(call: CallSession, aside: Aside | undefined): Promise<void>;
  /** Puts one call out. False when it is not in. */
  kick(callId: string): boolean;
  /** Puts everybody out and lets nobody in any more. */
  close(): void;
}

/** `Bridge.setAside` of a call that may be on its way out. */
export const setCallAside = async (call: CallSession, aside: Aside | undefined): Promise<void> => {
  await call.controls
    .setAside(aside)
    .catch((error: unknown) => call.log.debug({ error: String(error) }, 'a call on its way out is not set aside'));
};
