import { isSet } from '#contract/ids';
import { next, type Outcome } from '../action.ts';

/**
 * What a condition does: true goes on, false jumps (voice-and-flows 6.5).
 *
 * @throws Error when it is false and there is nowhere to jump
 */
export const decision = (holds: boolean, falseTargetId: string): Outcome => {
  if (holds) return next;
  if (!isSet(falseTargetId)) throw new Error('the condition is false and there is no false_target_id');
  return { kind: 'jump', target_id: falseTargetId };
};
