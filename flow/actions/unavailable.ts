import type { ActionType } from '#contract/action';
import { defineAction, type ActionDefinition } from '../action.ts';
import { nothing } from './options.ts';

/**
 * Types that flows may contain but this version cannot run yet. Each fails when it is reached, by its row of
 * voice-and-flows 4.7, and the runner's log line names it. An action moves out of here when it gets a file of its own.
 */
const ROWS: [ActionDefinition['onError'], ActionDefinition['needs'], ActionType[]][] = [
  ['stop', 'any', ['ai_summary', 'ai_talk', 'ai_task', 'message_send']],
  ['stop', 'call', ['queue_join']],
  ['next', 'any', ['case_create', 'conversation_send', 'email_send', 'transcribe_recording']],
  ['next', 'call', ['stream_echo', 'transcribe_start', 'transcribe_stop']],
];

const unavailable = (
  type: ActionType,
  onError: ActionDefinition['onError'],
  needs: ActionDefinition['needs'],
): ActionDefinition =>
  defineAction({
    type,
    summary: 'Accepted in flows; this version cannot run it and treats it as failed.',
    needs,
    onError,
    option: nothing,
    async run() {
      throw new Error(`${type} is not available in this version`);
    },
  });

export const unavailableActions: ActionDefinition[] = ROWS.flatMap(([onError, needs, types]) =>
  types.map(type => unavailable(type, onError, needs)),
);
