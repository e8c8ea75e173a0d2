import { RtpPeer } from './rtp-peer.ts';
import { SipCaller } from './sip-caller.ts';
import type { Block } from './transcript.ts';

interface Dialog {
  sip: SipCaller;
  peer: RtpPeer;
  answer: string;
}

/** Where nobody listens. */
const nowhere = '127.0.0.1:1';

/** The SIP server of a recording, as its media server sees it: one dialog for each endpoint, with the telephone's sound. */
export class TranscriptCallers {
  readonly #dialogs: Dialog[] = [];
  readonly #target: number;
  readonly #told: (message: string) => void;
  #application: string;

  /** `target` is the media server's SIP port, `application` where it finds drachtio-fsmrf; `told` gets what it says, once. */
  constructor(target: number, application: string, told: (message: string) => void) {
    this.#target = target;
    this.#application = application;
    this.#told = told;
  }

  /** The telephone of the first call. */
  get first(): RtpPeer | undefined {
    return this.#dialogs[0]?.peer;
  }

  /** From now on the application is not there for new calls. */
  refuse(): void {
    this.#application = nowhere;
  }

  /** Sends what the recorded SIP server sent; answers send themselves. `later` tells whose call a BYE ends. */
  async play({ text }: Block, later: Block[]): Promise<void> {
    const [first = ''] = text.split('\n');
    const [, body = ''] = text.split('\n\n');
    if (first.startsWith('INVITE') && first.includes('transport=udp')) await this.#modify(body);
    else if (first.startsWith('INVITE'))
      await this.#invite(body, body === '' && /10 lines cut|Content-Length: 0/.test(text));
    else if (first.startsWith('ACK')) this.#acknowledge(/^a=recvonly/m.test(text) || /5\d lines cut/.test(first));
    else if (first.startsWith('BYE')) this.#bye(later, /^Reason: (.*)$/m.exec(text)?.[1]);
  }

  /** The telephones' sound ends before the ports that it goes to. */
  fallSilent(): void {
    for (const { peer } of this.#dialogs) peer.close();
  }

  close(): void {
    for (const { sip } of this.#dialogs) sip.close();
  }

  async #invite(body: string, offerless: boolean): Promise<void> {
    const peer = await RtpPeer.open();
    const sip = await SipCaller.open(this.#target, message => {
      const repeated = sip.received.filter(one => one === message).length > 1;
      if (!repeated) this.#told(message);
    });
    sip.description = peer.sdp();
    const dialog: Dialog = { sip, peer, answer: '' };
    this.#dialogs.push(dialog);
    const headers = { 'User-Agent': 'drachtio-fsmrf:some-id', 'X-esl-outbound': this.#application };
    dialog.answer = await answerTo(sip.invite(offerless ? '' : offer(body, peer), headers, false));
    peer.listenTo(dialog.answer);
    if (!offerless) peer.saying = 300;
  }

  async #modify(body: string): Promise<void> {
    const dialog = this.#dialogs.at(-1);
    if (!dialog) return;
    await answerTo(dialog.sip.invite(offer(body, dialog.peer), {}, false));
    dialog.peer.saying = 300;
  }

  /** Where the offer came with the 200, drachtio-fsmrf sends the same back, as `recvonly` (protocol page §4). */
  #acknowledge(answers: boolean): void {
    const dialog = this.#dialogs.at(-1);
    dialog?.sip.ack(answers ? dialog.answer.replace('t=0 0\r\n', 't=0 0\r\na=recvonly\r\n') : '');
  }

  #bye(later: Block[], reason?: string): void {
    const ends = later.filter(one => one.change === 'closed' && one.connection.startsWith('OUT'));
    const dialogs = ends.map(one => this.#dialogs[Number(one.connection.slice(3)) - 1]);
    const { sip } = dialogs.find(one => one && !one.sip.ended) ?? {};
    sip?.bye(reason === undefined ? {} : { Reason: reason });
  }
}

/** The description that an INVITE was answered with; a refusal is told as any other message. */
const answerTo = (invite: Promise<string>): Promise<string> => invite.catch(() => '');

/** The recorded offer with the telephone's port; where it was cut, the telephone's own. */
function offer(body: string, peer: RtpPeer): string {
  if (body === '') return peer.sdp();
  return `${body.replace(/^m=audio \d+/m, `m=audio ${peer.port}`).replaceAll('\n', '\r\n')}\r\n`;
}
