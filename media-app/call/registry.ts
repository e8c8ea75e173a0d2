import type { ActiveflowSession } from '../activeflow/session.ts';
import type { Branch } from '../conference/branch.ts';
import type { ConferenceSession } from '../conference/session.ts';
import type { GroupcallSession } from '../groupcall/session.ts';
import type { RecordingSession } from '../recording/session.ts';
import type { CalleeEnd } from '../sip/inside-leg.ts';
import type { TransferSession } from '../transfer/session.ts';
import type { Bridge } from './bridge.ts';
import type { CallSession } from './session.ts';

/** The live sessions this node holds. A session enters when it is created and leaves when its last effect is done. */
export class CallRegistry {
  readonly calls = new Map<string, CallSession>();
  readonly groupcalls = new Map<string, GroupcallSession>();
  readonly activeflows = new Map<string, ActiveflowSession>();
  readonly conferences = new Map<string, ConferenceSession>();
  readonly recordings = new Map<string, RecordingSession>();
  /** Every bridge, by its own id. */
  readonly confbridges = new Map<string, Bridge>();
  /** What we have of conferences that live on other nodes, by the id of the conference. */
  readonly branches = new Map<string, Branch>();
  /** Calls that ask to come into one of those: conference and call. */
  readonly atTheDoor = new Set<string>();
  readonly transfers = new Map<string, TransferSession>();
  /** Our sides of calls between this node and another, by what the two call them. */
  readonly inside = new Map<string, CalleeEnd>();

  /** True when nothing is left: what a graceful stop and every test wait for. */
  get empty(): boolean {
    const { calls, groupcalls, activeflows, conferences, recordings, transfers } = this;
    return calls.size + groupcalls.size + activeflows.size + conferences.size + recordings.size + transfers.size === 0;
  }
}
