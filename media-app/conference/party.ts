import type { Call } from '#contract/call';
import type { Services } from '../services.ts';

/** A call as a conference sees it: one of this node (`CallSession`) or of another (`Guest`). */
export interface Party {
  readonly id: string;
  readonly call: Call;
  readonly services: Services;
  /** Where its flow stands; none when it runs none. */
  readonly flow?:
    | { readonly runner: { holds(stackId: string): boolean; forwardNow(stackId: string, actionId: string): void } }
    | undefined;
}
