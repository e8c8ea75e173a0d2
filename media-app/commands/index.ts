import { activeflowCreate } from './activeflow-create.ts';
import { activeflowStop } from './activeflow-stop.ts';
import { callCreate } from './call-create.ts';
import { callHangup } from './call-hangup.ts';
import type { CommandHandlers } from './catalogue.ts';
import { conferenceCreate } from './conference-create.ts';
import { conferenceDelete } from './conference-delete.ts';
import { conferenceUpdate } from './conference-update.ts';
import { conferencecallKick } from './conferencecall-kick.ts';
import { extensionUnregister } from './extension-unregister.ts';

/** Every command and who obeys it. */
export const handlers: CommandHandlers = {
  'call.create': callCreate,
  'call.hangup': callHangup,
  'activeflow.create': activeflowCreate,
  'activeflow.stop': activeflowStop,
  'conference.create': conferenceCreate,
  'conference.update': conferenceUpdate,
  'conference.delete': conferenceDelete,
  'conferencecall.kick': conferencecallKick,
  'extension.unregister': extensionUnregister,
};
