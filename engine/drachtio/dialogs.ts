import { Alarms } from '../sip/timers.ts';
import type { Dialog } from './records.ts';

type Begun = Omit<Dialog, 'state' | 'begunBy' | 'invite' | 'update' | 'held' | 'description' | 'session' | 'alarms'>;

/** A dialog that has just begun: early, and nothing has happened in it. */
export const begunDialog = (given: Begun): Dialog => ({
  ...given,
  ...{ state: 'early', begunBy: undefined, invite: undefined, update: undefined },
  ...{ held: [], description: Buffer.alloc(0), session: undefined, alarms: new Alarms() },
});

/** The wait is over, one way or the other. */
export function runHeld(dialog: Dialog): void {
  for (const run of dialog.held.splice(0)) run();
}

/** Every live dialog, by the id applications use and by what arrives on the wire. */
export class Dialogs {
  readonly #byId = new Map<string, Dialog>();
  readonly #byTag = new Map<string, Dialog>();

  get size(): number {
    return this.#byId.size;
  }

  add(dialog: Dialog): void {
    this.#byId.set(dialog.id, dialog);
    this.#byTag.set(wireKey(dialog.callId, dialog.localTag), dialog);
    dialog.app?.dialogs.add(dialog);
  }

  /** By the id that applications know, `<Call-ID>;from-tag=<tag>`. */
  byId(id: string): Dialog | undefined {
    return this.#byId.get(id);
  }

  /** RFC 3261 12.2.2: Call-ID and both tags. A dialog whose peer has not been heard yet takes any remote tag. */
  find(callId: string, localTag: string, remoteTag: string | undefined): Dialog | undefined {
    const dialog = this.#byTag.get(wireKey(callId, localTag));
    const same = dialog?.remoteTag === undefined || dialog.remoteTag === remoteTag;
    return same ? dialog : undefined;
  }

  /** Before the first response an application may choose its own To tag. */
  retag(dialog: Dialog, localTag: string): void {
    this.#byTag.delete(wireKey(dialog.callId, dialog.localTag));
    dialog.local = dialog.local.replace(`;tag=${dialog.localTag}`, `;tag=${localTag}`);
    dialog.localTag = localTag;
    this.#byTag.set(wireKey(dialog.callId, localTag), dialog);
  }

  /** It is over. Whoever waited for something in it goes on and sees that. */
  remove(dialog: Dialog): void {
    dialog.state = 'ended';
    dialog.app?.dialogs.delete(dialog);
    if (this.#byId.get(dialog.id) === dialog) this.#byId.delete(dialog.id);
    const key = wireKey(dialog.callId, dialog.localTag);
    if (this.#byTag.get(key) === dialog) this.#byTag.delete(key);
    dialog.alarms.clearAll();
    runHeld(dialog);
    // An INVITE of ours remembers its dialog for 64*T1, in case of further answers; what went on in it is of no interest any more.
    dialog.begunBy = dialog.invite = dialog.update = undefined;
    dialog.description = NOTHING;
  }

  /** Nothing rings any more. */
  stop(): void {
    for (const dialog of this.#byId.values()) dialog.alarms.clearAll();
  }
}

const NOTHING = Buffer.alloc(0);

const wireKey = (callId: string, localTag: string): string => `${callId} ${localTag}`;
