import { randomInt } from 'node:crypto';
import { header, headerOf, type SipResponse } from '../sip/message.ts';
import { isBusy } from './glare.ts';
import { dialogRequest, endByServer } from './in-dialog.ts';
import { launch } from './outcome.ts';
import type { Core, Dialog, Outgoing } from './records.ts';
import { sessionHeaders } from './session-timer.ts';
import { nextHop } from './target.ts';

const EXPIRED = 'Session timer expired';
/** How long a refresh waits for the end of something else that goes on in the dialog. */
const BUSY_MS = 1000;

/** The deeds of session timers: they need everything else. */
export class Sessions {
  readonly #whole: () => Core;

  /** @param whole the server, which holds this as a part of it */
  constructor(whole: () => Core) {
    this.#whole = whole;
  }

  get #core(): Core {
    return this.#whole();
  }

  /** Nobody refreshed: the other side is gone (RFC 4028 10). */
  expire(dialog: Dialog): void {
    endByServer(this.#core, dialog, EXPIRED, 'session-expired');
  }

  /** A re-INVITE with what we said last; without any such an UPDATE (RFC 4028 7.4). The application has no part in it. */
  refresh(dialog: Dialog): void {
    if (isBusy(dialog)) return this.#later(dialog, BUSY_MS);
    const method = dialog.description.length > 0 ? 'INVITE' : 'UPDATE';
    const headers = sessionHeaders(this.#core, dialog, method);
    if (method === 'INVITE') headers.push(header('Content-Type', 'application/sdp'));
    const request = dialogRequest(dialog, method, ++dialog.localSeq, headers, dialog.description);
    const hop = nextHop(this.#core, dialog);
    if (!hop) return this.expire(dialog);
    const own = (response: SipResponse): void => this.#answered(dialog, sent, response);
    const sent: Outgoing = launch(this.#core, { request, hop, dialog, own, app: undefined, initial: false });
  }

  #later(dialog: Dialog, ms: number): void {
    dialog.alarms.set('refresh', ms, () => this.refresh(dialog));
  }

  #answered(dialog: Dialog, sent: Outgoing, response: SipResponse): void {
    const { status } = response;
    if (status < 200 || dialog.state !== 'confirmed') return;
    if (status < 300) return sent.method === 'INVITE' ? this.#acknowledge(dialog, sent) : undefined;
    const longer = status === 422 ? Number(headerOf(response, 'min-se')) : NaN;
    if (dialog.session && longer > dialog.session.seconds) {
      dialog.session = { ...dialog.session, seconds: longer };
      return this.refresh(dialog);
    }
    if (status === 491) return this.#later(dialog, this.#backOff(dialog));
    endByServer(this.#core, dialog, EXPIRED, 'session-expired');
  }

  /** RFC 3261 14.1, in T1 of 500 ms: who began the call waits 2.1 to 4 s, the other up to 2, and they do not meet again. */
  #backOff({ begunBy }: Dialog): number {
    const { T1 } = this.#core.stack.timers;
    return Math.ceil(begunBy ? randomInt(0, 201) * T1 * 0.02 : randomInt(210, 401) * T1 * 0.02);
  }

  #acknowledge(dialog: Dialog, sent: Outgoing): void {
    const hop = nextHop(this.#core, dialog);
    if (!hop) return;
    const request = dialogRequest(dialog, 'ACK', sent.seq);
    sent.ack = { request, hop };
    this.#core.stack.send(request, hop);
  }
}
