import type { Hop } from '../hop.ts';
import type { SipTimers } from '../timers.ts';

/** What a transaction needs from the stack around it. */
export interface Wire {
  timers: SipTimers;
  /** `failed` is called later, never before it returns. */
  send: (message: Buffer, hop: Hop, failed: (error: Error) => void) => void;
  /** Asks a peer over UDP that is silent; `refused` is called when its machine says that nobody listens there. */
  probe: (hop: Hop, refused: (error: Error) => void) => void;
}
