import { answersOptions } from '../sip/options.ts';
import type { SipServers } from '../sip/servers.ts';

/** Whether a carrier answers OPTIONS in time (accounts-and-plumbing 22). Never rejects. */
export const carrierAnswers = async (sip: SipServers, hostname: string, deadlineMs: number): Promise<boolean> => {
  const server = sip.pick();
  return server ? answersOptions(server.srf, `sip:${hostname};transport=udp`, {}, deadlineMs) : false;
};
