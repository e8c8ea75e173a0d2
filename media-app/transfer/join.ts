import { PlatformError } from '#contract/errors';
import { EMPTY_ID, newId } from '#contract/ids';
import { transferMachine } from '#contract/machines/transfer';
import { timestamp } from '#contract/time';
import { newTransfer } from '#contract/transfer';
import type { Address } from '#contract/address';
import { ConnectBridge } from '../call/connect-bridge.ts';
import type { CallSession } from '../call/session.ts';
import { unchain } from './chain.ts';
import type { Elsewhere } from './elsewhere.ts';
import { flowInto, partyOf, takePlace } from './replace.ts';
import { conversationOf } from './session.ts';

const cannot = (why: string) => new PlatformError('CALL_STATE_INVALID', why);

/** A call's conversation with exactly one other. */
const pairOf = (call: CallSession): { bridge: ConnectBridge; other: CallSession } => {
  const bridge = conversationOf(call);
  const [other, ...more] = bridge.calls.filter(one => one !== call);
  if (!(bridge instanceof ConnectBridge) || !other || more.length > 0)
    throw cannot('Only a conversation of two can be joined with another.');
  return { bridge, other };
};

/**
 * Somebody with two calls joins whom it talks with in both, and is out of both (RFC 5589 section 7: an attended transfer
 * made by a phone). Resolves when the two hear each other; the calls of the transferer are still to be hung up.
 * @throws PlatformError CALL_STATE_INVALID when they cannot be joined
 */
export const joinConversations = async (first: CallSession, second: CallSession): Promise<void> => {
  const [one, two] = [pairOf(first), pairOf(second)];
  if (one.bridge === two.bridge) throw cannot('The two calls are with each other.');
  const bridges = [one.bridge, two.bridge];
  for (const bridge of bridges) bridge.inTransfer = true;
  two.bridge.keepOpen(true);
  try {
    await Promise.all([unchain(first, one.other), unchain(second, two.other)]);
    if (!(await one.bridge.takeOver(two.other, two.bridge, first))) throw cannot('One of the calls has just ended.');
    await note(first, partyOf(two.other), two.other.id, one.bridge.id);
  } finally {
    for (const bridge of bridges) bridge.inTransfer = false;
    two.bridge.keepOpen(false);
  }
};

/**
 * The same where the second call is on another node: a call to that node takes the place of the first one, and its other side
 * the place of the second, which that node then hangs up.
 * @throws PlatformError CALL_STATE_INVALID when they cannot be joined
 */
export const joinElsewhere = async (first: CallSession, second: Elsewhere): Promise<void> => {
  const { bridge, other } = pairOf(first);
  const { party, party_call_id } = second.vacancy;
  bridge.inTransfer = true;
  try {
    const flow = flowInto(bridge, first.call.customer_id);
    const given = { to: second, source: partyOf(other), media_server: bridge.server, flow };
    const call = first.services.callElsewhere(given);
    const came = takePlace(call, first);
    await call.create();
    if (!(await came)) throw cannot('One of the calls has just ended.');
    await note(first, party, party_call_id, bridge.id);
  } finally {
    bridge.inTransfer = false;
  }
};

/** Writes the transfer as what it was. */
const note = async (
  { call, services }: CallSession,
  transferee: Address,
  transferee_call_id: string,
  confbridge_id: string,
): Promise<void> => {
  const made = newTransfer({
    id: newId(),
    customer_id: call.customer_id,
    type: 'attended',
    transferer_call_id: call.id,
    transferee_addresses: [transferee],
    groupcall_id: EMPTY_ID,
    confbridge_id,
    tm_create: timestamp(),
  });
  const record = services.store.create('transfer', made);
  await services.store.commit(record, made, { events: [] });
  const step = transferMachine.step('calling', 'connect');
  const completed = { ...made, status: 'completed', transferee_call_id } as const;
  await services.store.commit(record, completed, { events: [], step });
};
