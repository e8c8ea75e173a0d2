import { normalizeAddress } from '#contract/address';
import type { Groupcall } from '#contract/groupcall';
import { Dialer } from '../call/dialer.ts';
import type { CallRequest } from '../call/request.ts';
import type { Services } from '../services.ts';
import { groupcallOf, type GroupcallPlan, GroupcallSession } from './session.ts';

/** What a groupcall is asked for with. */
export type GroupcallRequest = CallRequest & Pick<GroupcallPlan, 'ring_method' | 'answer_method'>;

/**
 * Places a groupcall (voice-and-flows 11.2): all destinations at once, or the first that can be dialled. Resolves when
 * its records are written; the INVITEs are on their way by then.
 * @throws PlatformError why the last destination failed, when none could be dialled
 */
export const createGroupcall = async (services: Services, request: GroupcallRequest): Promise<Groupcall> => {
  const { ring_method, answer_method } = request;
  const destinations = request.destinations.map(normalizeAddress);
  const dialer = new Dialer(services, request);
  const dials = await dialer.admitted(async () =>
    ring_method === 'linear' ? [await dialer.next(destinations, 0)] : dialer.all(destinations),
  );
  const [only] = ring_method === 'ring_all' && destinations.length === 1 ? dials : [];
  const session = only
    ? groupcallOf(services, dialer, request, only, { answer_method })
    : new GroupcallSession(services, dialer, request, { destinations, ring_method, answer_method });
  if (!only) session.ring(dials);
  const created = session.create();
  const made = session.groupcall;
  await created;
  await dialer.chain(session.calls);
  return made; // as it was made, whatever has become of it meanwhile
};
