import { activeflowContinue } from './activeflow-continue.ts';
import { activeflowCreate } from './activeflow-create.ts';
import { activeflowStop } from './activeflow-stop.ts';
import { banCreate, banLift } from './bans.ts';
import { callCreate } from './call-create.ts';
import { callHangup } from './call-hangup.ts';
import { callHold, callMoh, callMute, callSilence, callTalk } from './call-controls.ts';
import { callRecordingStart } from './call-recording-start.ts';
import { callRecordingStop } from './call-recording-stop.ts';
import { callMediaStream } from './call-media-stream.ts';
import type { CommandHandlers } from './catalogue.ts';
import { conferenceCreate } from './conference-create.ts';
import { conferenceDelete } from './conference-delete.ts';
import { conferenceMediaStream } from './conference-media-stream.ts';
import { conferenceRecordingStart } from './conference-recording-start.ts';
import { conferenceRecordingStop } from './conference-recording-stop.ts';
import { conferenceUpdate } from './conference-update.ts';
import { conferencecallKick } from './conferencecall-kick.ts';
import { extensionUnregister } from './extension-unregister.ts';
import { groupcallCreate, groupcallHangup } from './groupcall.ts';
import { recordingStop } from './recording-stop.ts';
import { transferCreate } from './transfer-create.ts';

/** Every command and who obeys it. */
export const handlers: CommandHandlers = {
  'call.create': callCreate,
  'call.hangup': callHangup,
  'call.hold': callHold,
  'call.moh': callMoh,
  'call.silence': callSilence,
  'call.mute': callMute,
  'call.talk': callTalk,
  'groupcall.create': groupcallCreate,
  'groupcall.hangup': groupcallHangup,
  'call.recording_start': callRecordingStart,
  'call.recording_stop': callRecordingStop,
  'recording.stop': recordingStop,
  'call.media_stream': callMediaStream,
  'activeflow.create': activeflowCreate,
  'activeflow.stop': activeflowStop,
  'activeflow.continue': activeflowContinue,
  'conference.create': conferenceCreate,
  'conference.update': conferenceUpdate,
  'conference.delete': conferenceDelete,
  'conference.recording_start': conferenceRecordingStart,
  'conference.recording_stop': conferenceRecordingStop,
  'conference.media_stream': conferenceMediaStream,
  'conferencecall.kick': conferencecallKick,
  'transfer.create': transferCreate,
  'ban.create': banCreate,
  'ban.lift': banLift,
  'extension.unregister': extensionUnregister,
};
