import { responseTo } from '../sip/message.ts';
import type { App } from './app.ts';
import { endByServer } from './in-dialog.ts';
import { refuse, release } from './incoming.ts';
import type { Core, Dialog } from './records.ts';

/**
 * An application's connection is gone. Its calls may go on for the grace time, then answered ones get a BYE, unanswered
 * incoming ones 480 and outgoing ones a CANCEL. drachtio-server leaves them hanging; a caller should not hear silence.
 */
export function abandon(core: Core, app: App): void {
  core.apps.remove(app);
  const dialogs = [...app.dialogs];
  for (const dialog of dialogs) dialog.app = undefined;
  for (const incoming of [...app.incoming]) {
    if (incoming.request.method === 'INVITE') continue;
    incoming.transaction.respond(responseTo(incoming.request, incoming.request.method === 'BYE' ? 200 : 503));
    release(core, incoming);
  }
  if (dialogs.length === 0 && app.incoming.size === 0) return;
  core.log.warn({ calls: dialogs.length }, 'an application has gone; its calls end after the grace time');
  core.alarms.set(`orphans ${++abandoned}`, core.orphanGraceMs, () => end(core, app, dialogs));
}

let abandoned = 0;

function end(core: Core, app: App, dialogs: Dialog[]): void {
  for (const incoming of [...app.incoming]) refuse(core, incoming, 480);
  for (const outgoing of [...core.outgoing.values()]) if (outgoing.app === app) outgoing.transaction.cancel();
  for (const dialog of dialogs) {
    if (dialog.state !== 'confirmed') continue;
    if (dialog.method === 'INVITE') endByServer(core, dialog, 'Application lost', 'system-error-initiated-termination');
    else core.dialogs.remove(dialog);
  }
}
