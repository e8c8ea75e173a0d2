import type { ActionDefinition } from '../action.ts';
import { amd } from './amd.ts';
import { answer } from './answer.ts';
import { beep } from './beep.ts';
import { block } from './block.ts';
import { branch } from './branch.ts';
import { call } from './call.ts';
import { conditionCallDigits } from './condition_call_digits.ts';
import { conditionCallStatus } from './condition_call_status.ts';
import { conditionDatetime } from './condition_datetime.ts';
import { conditionVariable } from './condition_variable.ts';
import { confbridgeJoin } from './confbridge_join.ts';
import { conferenceJoin } from './conference_join.ts';
import { connect } from './connect.ts';
import { digitsReceive } from './digits_receive.ts';
import { digitsSend } from './digits_send.ts';
import { echo } from './echo.ts';
import { externalMediaStart } from './external_media_start.ts';
import { externalMediaStop } from './external_media_stop.ts';
import { fetch } from './fetch.ts';
import { fetchFlow } from './fetch_flow.ts';
import { goto } from './goto.ts';
import { hangup } from './hangup.ts';
import { mute } from './mute.ts';
import { play } from './play.ts';
import { recordingStart } from './recording_start.ts';
import { recordingStop } from './recording_stop.ts';
import { sleep } from './sleep.ts';
import { stop } from './stop.ts';
import { talk } from './talk.ts';
import { unavailableActions } from './unavailable.ts';
import { variableSet } from './variable_set.ts';
import { webhookSend } from './webhook_send.ts';

/** Every action type a flow may contain. */
export const actions: readonly ActionDefinition[] = [
  amd,
  answer,
  beep,
  block,
  branch,
  call,
  conditionCallDigits,
  conditionCallStatus,
  conditionDatetime,
  conditionVariable,
  confbridgeJoin,
  conferenceJoin,
  connect,
  digitsReceive,
  digitsSend,
  echo,
  externalMediaStart,
  externalMediaStop,
  fetch,
  fetchFlow,
  goto,
  hangup,
  mute,
  play,
  recordingStart,
  recordingStop,
  sleep,
  stop,
  talk,
  variableSet,
  webhookSend,
  ...unavailableActions,
];

/** The same by type, as the runner takes them. */
export const registry: ReadonlyMap<string, ActionDefinition> = new Map(
  actions.map(definition => [definition.type, definition]),
);
