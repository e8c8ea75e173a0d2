import type { ActionDefinition } from '../action.ts';
import { aiSummary } from './ai_summary.ts';
import { aiTalk } from './ai_talk.ts';
import { aiTask } from './ai_task.ts';
import { amd } from './amd.ts';
import { answer } from './answer.ts';
import { beep } from './beep.ts';
import { block } from './block.ts';
import { branch } from './branch.ts';
import { call } from './call.ts';
import { caseCreate } from './case_create.ts';
import { conditionCallDigits } from './condition_call_digits.ts';
import { conditionCallStatus } from './condition_call_status.ts';
import { conditionDatetime } from './condition_datetime.ts';
import { conditionVariable } from './condition_variable.ts';
import { confbridgeJoin } from './confbridge_join.ts';
import { conferenceJoin } from './conference_join.ts';
import { connect } from './connect.ts';
import { conversationSend } from './conversation_send.ts';
import { digitsReceive } from './digits_receive.ts';
import { digitsSend } from './digits_send.ts';
import { echo } from './echo.ts';
import { emailSend } from './email_send.ts';
import { externalMediaStart } from './external_media_start.ts';
import { externalMediaStop } from './external_media_stop.ts';
import { fetch } from './fetch.ts';
import { fetchFlow } from './fetch_flow.ts';
import { goto } from './goto.ts';
import { hangup } from './hangup.ts';
import { messageSend } from './message_send.ts';
import { mute } from './mute.ts';
import { play } from './play.ts';
import { queueJoin } from './queue_join.ts';
import { recordingStart } from './recording_start.ts';
import { recordingStop } from './recording_stop.ts';
import { sleep } from './sleep.ts';
import { stop } from './stop.ts';
import { streamEcho } from './stream_echo.ts';
import { talk } from './talk.ts';
import { transcribeRecording } from './transcribe_recording.ts';
import { transcribeStart } from './transcribe_start.ts';
import { transcribeStop } from './transcribe_stop.ts';
import { variableSet } from './variable_set.ts';
import { webhookSend } from './webhook_send.ts';

/** Every action type a flow may contain. */
export const actions: readonly ActionDefinition[] = [
  aiSummary,
  aiTalk,
  aiTask,
  amd,
  answer,
  beep,
  block,
  branch,
  call,
  caseCreate,
  conditionCallDigits,
  conditionCallStatus,
  conditionDatetime,
  conditionVariable,
  confbridgeJoin,
  conferenceJoin,
  connect,
  conversationSend,
  digitsReceive,
  digitsSend,
  echo,
  emailSend,
  externalMediaStart,
  externalMediaStop,
  fetch,
  fetchFlow,
  goto,
  hangup,
  messageSend,
  mute,
  play,
  queueJoin,
  recordingStart,
  recordingStop,
  sleep,
  stop,
  streamEcho,
  talk,
  transcribeRecording,
  transcribeStart,
  transcribeStop,
  variableSet,
  webhookSend,
];

/** The same by type, as the runner takes them. */
export const registry: ReadonlyMap<string, ActionDefinition> = new Map(
  actions.map(definition => [definition.type, definition]),
);
