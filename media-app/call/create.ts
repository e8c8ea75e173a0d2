import { groupcallOf, GroupcallSession } from '../groupcall/session.ts';
import type { Services } from '../services.ts';
import { type Dial, Dialer } from './dialer.ts';
import type { CallRequest, CreatedCalls } from './request.ts';
import { CallSession } from './session.ts';

/**
 * Places calls to every destination that can be dialled (voice-and-flows 9.1, 9.2): one call, or a groupcall for a
 * destination with several legs. Resolves when their records are written; the INVITEs are on their way by then.
 * @throws PlatformError why the last destination failed, when none could be dialled
 */
export const createCalls = async (services: Services, request: CallRequest): Promise<CreatedCalls> => {
  const dialer = new Dialer(services, request);
  const dials = await dialer.admitted(() => dialer.all(request.destinations));
  const placed = dials.map(dial => place(services, dialer, request, dial));
  const groupcalls = placed.filter(one => one instanceof GroupcallSession);
  const sessions = placed.flatMap(one => (one instanceof CallSession ? [one] : one.calls));
  for (const session of sessions) session.mayBePickedUp = request.may_be_picked_up ?? false;
  const created = Promise.all(placed.map(one => one.create()));
  const made = {
    sessions,
    calls: sessions.map(({ call }) => call),
    groupcalls: groupcalls.map(({ groupcall }) => groupcall),
  };
  await created;
  await dialer.chain(sessions);
  return made; // as they were made, whatever has become of them meanwhile
};

const place = (
  services: Services,
  dialer: Dialer,
  request: CallRequest,
  dial: Dial,
): CallSession | GroupcallSession => {
  const { way } = dial;
  const [target] = way.kind === 'call' ? way.targets : [];
  return target ? dialer.call(dial, target) : groupcallOf(services, dialer, request, dial);
};
