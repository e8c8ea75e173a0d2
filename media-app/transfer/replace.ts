import type { CallSession } from '../call/session.ts';
import type { Services } from '../services.ts';
import type { DialogName } from '../sip/replaces.ts';
import { unchain } from './chain.ts';

/** The dialog a Replaces names, among the calls of this node. */
export const callOfDialog = ({ registry }: Services, dialog: DialogName): CallSession | undefined =>
  [...registry.calls.values()].find(({ leg }) => leg.isDialog(dialog));

/**
 * A new call, whose flow leads into the bridge of another, takes its place there: once it is in, the other is hung up
 * (RFC 3891 section 3). When it never comes in, nothing changes.
 */
export const takePlace = (call: CallSession, replaced: CallSession): void => {
  const { bridge } = replaced;
  const { flow_id } = call.call;
  if (!bridge) return; // it hung up a moment ago; the new call finds nobody and ends
  const joined = (who: CallSession) => {
    if (who === call) void succeed(bridge.calls, call, replaced);
  };
  bridge.welcome(flow_id, replaced);
  bridge.on('joined', joined);
  call.once('ended', () => {
    bridge.off('joined', joined);
    bridge.turnAway(flow_id);
  });
};

/** Whether somebody waits for this call to be answered, whom another phone may talk to instead. */
export const canBePickedUp = (call: CallSession): boolean =>
  (call.call.status === 'dialing' || call.call.status === 'ringing') && call.listenerCount('picked_up') > 0;

/** A new call takes one that rings; whoever waits for that one joins the two (`Connect`). One that came too late ends. */
export const pickUp = (call: CallSession, ringing: CallSession): void => {
  call.log.info({ picked_up: ringing.id }, 'picks up a call that rings elsewhere');
  if (!canBePickedUp(ringing) || !ringing.emit('picked_up', call)) void call.hangup('normal_clearing');
};

/** Those who were chained to the replaced call must outlive it. */
const succeed = async (calls: CallSession[], call: CallSession, replaced: CallSession): Promise<void> => {
  call.log.info({ replaced: replaced.id }, 'took the place of another call');
  for (const other of calls) if (other !== call) await unchain(replaced, other);
  await replaced.hangup('normal_clearing');
};
