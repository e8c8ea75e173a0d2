import type { ActiveflowSession } from '../activeflow/session.ts';
import type { Confbridge } from '../conference/confbridge.ts';
import type { ConferenceSession } from '../conference/session.ts';
import type { GroupcallSession } from '../groupcall/session.ts';
import type { CallSession } from './session.ts';

/** The live sessions this node holds. A session enters when it is created and leaves when its last effect is done. */
export class CallRegistry {
  readonly calls = new Map<string, CallSession>();
  readonly groupcalls = new Map<string, GroupcallSession>();
  readonly activeflows = new Map<string, ActiveflowSession>();
  readonly conferences = new Map<string, ConferenceSession>();
  /** Every bridge, by its own id. */
  readonly confbridges = new Map<string, Confbridge>();

  /** True when nothing is left: what a graceful stop and every test wait for. */
  get empty(): boolean {
    return this.calls.size + this.groupcalls.size + this.activeflows.size + this.conferences.size === 0;
  }
}
