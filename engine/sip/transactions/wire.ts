import type { Hop } from '../hop.ts';
import type { SipTimers } from '../timers.ts';

/** What a transaction needs from the stack around it. */
export interface Wire {
  timers: SipTimers;
  send: (message: Buffer, hop: Hop, failed: (error: Error) => void) => void;
  connected: (hop: Hop) => boolean;
  probe: (hop: Hop, refused: (error: Error) => void) => void;
}
