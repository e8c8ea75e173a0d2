import { withDeadline } from '../media/deadline.ts';
import type { SipServers } from '../sip/servers.ts';
import { askOnce } from '../sip/srf.ts';

/** Whether a SIP host answers OPTIONS in time, with whatever (accounts-and-plumbing 22). Never rejects. */
export const answersOptions = async (sip: SipServers, hostname: string, deadlineMs: number): Promise<boolean> => {
  const server = sip.pick();
  if (!server) return false;
  try {
    const asked = askOnce(server.srf, `sip:${hostname};transport=udp`, { method: 'OPTIONS' });
    const answer = await withDeadline(asked, deadlineMs, 'OPTIONS');
    // An answer from no address was made up by the SIP server, because nobody could be asked (RFC 3261 section 8.1.3.1).
    return Boolean(answer.source_address);
  } catch {
    return false; // nobody answered, or nobody could be asked
  }
};
