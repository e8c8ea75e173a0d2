import type { Address } from '#contract/address';
import type { FlowTemplate } from '#contract/flow';
import { inlineFlow } from '../activeflow/session.ts';
import type { Bridge } from '../call/bridge.ts';
import type { CallSession } from '../call/session.ts';
import type { Services } from '../services.ts';
import { action } from '../sip/direct-actions.ts';
import { type DialogName, ringingCallOf } from '../sip/replaces.ts';
import { unchain } from './chain.ts';

/** The dialog a Replaces names, among the calls of this node. */
export const callOfDialog = ({ registry }: Services, dialog: DialogName): CallSession | undefined =>
  [...registry.calls.values()].find(({ leg }) => leg.isDialog(dialog));

/** What another call may have in place of the one that a Replaces names (RFC 3891 section 3). */
export interface Vacancy {
  /** Its part in a conversation, or the call itself while it rings. */
  kind: 'replaces' | 'picks_up';
  /** Whom one then talks with. */
  party: Address;
  party_call_id: string;
  /** Where the media of the conversation is. */
  media_server: string;
}

/** The same of a call of this node. */
export interface VacancyHere extends Vacancy {
  call: CallSession;
  /** Run by the call that takes the place; none for one that picks up. */
  flow?: FlowTemplate;
}

/** A dialog that is here, and that nobody may have: the response that says so. */
export interface NoVacancy {
  status: 486 | 488 | 603;
  why: string;
  call_id: string;
}

/** Whom a call is with. */
export const partyOf = ({ call }: CallSession): Address =>
  call.direction === 'incoming' ? call.source : call.destination;

/** A flow that leads into a bridge and nowhere else. */
export const flowInto = (bridge: Bridge, customerId: string): FlowTemplate =>
  inlineFlow(customerId, [action('confbridge_join', { confbridge_id: bridge.id })]);

/** What a call of this customer may have of a dialog; `undefined` when it is none of this node's, or another customer's. */
export const vacancyOf = (
  services: Services,
  dialog: DialogName,
  customerId: string,
): VacancyHere | NoVacancy | undefined => {
  const ringing = ringingCallOf(dialog);
  const call = ringing ? services.registry.calls.get(ringing) : callOfDialog(services, dialog);
  if (call?.call.customer_id !== customerId) return undefined;
  const { bridge, peer, id: call_id } = call;
  if (canBePickedUp(call)) {
    const media_server = call.endpoint?.server ?? '';
    return { kind: 'picks_up', call, party: call.call.source, party_call_id: call.call.master_call_id, media_server };
  }
  if (call.call.status !== 'progressing') return { status: 603, why: 'the dialog to replace is over', call_id };
  if (dialog.early_only || ringing) return { status: 486, why: 'the dialog to replace is answered', call_id };
  if (!bridge || !peer || bridge.inTransfer)
    return { status: 488, why: 'the call to replace is in no conversation of two', call_id };
  const flow = flowInto(bridge, customerId);
  const party = { party: partyOf(peer), party_call_id: peer.id };
  return { kind: 'replaces', call, ...party, media_server: bridge.server, flow };
};

/** Writes a new call that was made to have such a place, and gives it the place. */
export const createInPlace = async (session: CallSession, { kind, call }: VacancyHere): Promise<void> => {
  const came = kind === 'replaces' ? takePlace(session, call) : undefined;
  await session.create();
  if (kind === 'picks_up') pickUp(session, call);
  void came?.then(async joined => {
    if (joined) await call.hangup('normal_clearing');
  });
};

/**
 * A new call, whose flow leads into the bridge of another, takes its place there (RFC 3891 section 3). Resolves with whether
 * it came in: the other is then out of the conversation and waits to be hung up. When it never does, nothing changes.
 */
export const takePlace = (call: CallSession, replaced: CallSession): Promise<boolean> =>
  new Promise(resolve => {
    const { bridge } = replaced;
    const { flow_id } = call.call;
    if (!bridge) return resolve(false); // it hung up a moment ago; the new call finds nobody and ends
    const joined = (who: CallSession) => {
      if (who === call) void outlive(bridge.calls, call, replaced).then(() => resolve(true));
    };
    bridge.welcome(flow_id, replaced);
    bridge.on('joined', joined);
    call.once('ended', () => {
      bridge.off('joined', joined);
      bridge.turnAway(flow_id);
      resolve(false);
    });
  });

/** Those who were chained to the replaced call must outlive it. */
const outlive = async (calls: CallSession[], call: CallSession, replaced: CallSession): Promise<void> => {
  call.log.info({ replaced: replaced.id }, 'took the place of another call');
  for (const other of calls) if (other !== call) await unchain(replaced, other);
};

/** Whether somebody waits for this call to be answered, whom another phone may talk to instead. */
const canBePickedUp = (call: CallSession): boolean =>
  call.mayBePickedUp && (call.call.status === 'dialing' || call.call.status === 'ringing');

/** A new call takes one that rings; whoever waits for that one joins the two (`Connect`). One that came too late ends. */
const pickUp = (call: CallSession, ringing: CallSession): void => {
  call.log.info({ picked_up: ringing.id }, 'picks up a call that rings elsewhere');
  if (!canBePickedUp(ringing)) return void call.hangup('normal_clearing');
  ringing.mayBePickedUp = false; // by one
  ringing.pickedUp.resolve(call);
};
