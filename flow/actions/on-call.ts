import type { ActionContext, CallPort } from '../action.ts';

/** The call of an action that needs one. The runner skips such actions elsewhere, so absence is a programming error. */
export const callOf = (context: ActionContext): CallPort => {
  if (!context.call) throw new Error(`${context.action.type} needs a call`);
  return context.call;
};

/** Answers the call when it is not progressing yet. */
export const answered = async (call: CallPort): Promise<void> => {
  if (call.record().status !== 'progressing') await call.answer();
};
