import { withDeadline } from '../media/deadline.ts';
import { askOnce, type SrfConnection } from './srf.ts';

/** Whether somebody answers OPTIONS in time, with whatever. Never rejects. */
export const answersOptions = async (
  srf: SrfConnection,
  uri: string,
  way: { proxy?: string; headers?: Record<string, string> },
  deadlineMs: number,
): Promise<boolean> => {
  try {
    const answer = await withDeadline(askOnce(srf, uri, { method: 'OPTIONS', ...way }), deadlineMs, 'OPTIONS');
    // An answer from no address was made up by the SIP server, because nobody could be asked (RFC 3261 section 8.1.3.1).
    return Boolean(answer.source_address);
  } catch {
    return false; // nobody answered, or nobody could be asked
  }
};
