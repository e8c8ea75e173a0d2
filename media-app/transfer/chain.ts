import { EMPTY_ID } from '#contract/ids';
import type { CallSession } from '../call/session.ts';

/**
 * Ends the link between a master and a call chained to it, so that this one outlives it (voice-and-flows 8.8). False when
 * there was none, or the master is over.
 */
export const unchain = async (master: CallSession, call: CallSession): Promise<boolean> => {
  if (call.call.master_call_id !== master.id || master.released) return false;
  await master.update({ chained_call_ids: master.call.chained_call_ids.filter(id => id !== call.id) });
  await call.update({ master_call_id: EMPTY_ID });
  return true;
};

/** Links a call to its master again. */
export const chain = async (master: CallSession, call: CallSession): Promise<void> => {
  if (master.released) return;
  await master.update({ chained_call_ids: [...master.call.chained_call_ids, call.id] });
  await call.update({ master_call_id: master.id });
};
