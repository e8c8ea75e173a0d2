import { strict as assert } from 'node:assert';
import type { Call } from '#contract/call';
import type { Transfer } from '#contract/transfer';
import type { Welcome } from '#contract/welcome';
import { header, type SipHeader, type SipResponse } from '../../scripts/phone/sip-message.ts';
import { eventually } from './eventually.ts';
import { withOffice, type Office } from './office.ts';
import type { PhoneCall } from './phone-call.ts';
import type { TestPhone } from './phone.ts';
import { startStack, type Stack } from './stack.ts';

/** Tones of the parties: each names the ones it hears. */
export const HZ = { alice: 500, bob: 900, carol: 1300, dave: 1700 };
const EXTENSIONS = { alice: '1001', bob: '1002', carol: '1003', dave: '1004' };
export type Who = keyof typeof HZ;

/** Two in conversation: their phones' calls and the platform's records. */
export interface Conversation {
  caller: PhoneCall;
  callee: PhoneCall;
  records: { caller: Call; callee: Call };
}

/** Makes the extensions that the first start does not. */
export const addExtensions = async (stack: Stack): Promise<void> => {
  for (const extension of [EXTENSIONS.carol, EXTENSIONS.dave]) {
    const { status, body } = await stack.api<Welcome['extensions'][number]>('POST', '/extensions', {
      extension,
      password: 'a long password',
    });
    assert.equal(status, 200, JSON.stringify(body));
    stack.welcome.extensions.push({ ...body, password: 'a long password' });
  }
};

/** Gives each test of a describe an office whose people hand conversations on; who does not answer is given up after 2.5 s. */
export const withTransfers = (opened: (transfers: Transfers, office: Office) => void): void => {
  withOffice(
    office => opened(new Transfers(office), office),
    async () => {
      const stack = await startStack({ env: { DIAL_TIMEOUT_MS: '2500' } });
      await addExtensions(stack);
      return stack;
    },
  );
};

/** People of an office who hand their conversations on. */
export class Transfers {
  readonly #office: Office;

  constructor(office: Office) {
    this.#office = office;
  }

  /** The registered phones of these people, each with its tone. */
  phones<W extends Who>(...who: W[]): Promise<{ [name in W]: TestPhone }> {
    const made = who.map(async name => [name, await this.#office.registered(EXTENSIONS[name], { tone: HZ[name] })]);
    return Promise.all(made).then(pairs => Object.fromEntries(pairs) as { [name in W]: TestPhone });
  }

  /** One dials the other, who answers; resolves when they hear each other. */
  async talk(one: TestPhone, other: TestPhone): Promise<Conversation> {
    const caller = await one.dial(other.name);
    const callee = await other.waitForCall();
    callee.answer();
    await caller.answered();
    await Promise.all([caller.hears(HZ[nameOf(other)]), callee.hears(HZ[nameOf(one)])]);
    const [leg, first] = await this.#office.calls(2);
    assert(leg && first?.id === leg.master_call_id);
    return { caller, callee, records: { caller: first, callee: leg } };
  }

  /** POST /transfers to extensions, or whatever else is given. */
  async order(type: Transfer['type'], call: Call, ...to: (TestPhone | { type: string; target: string })[]) {
    const transferee_addresses = to.map(one =>
      'name' in one ? { type: 'extension', target: one.name, target_name: one.name } : one,
    );
    const body = { transfer_type: type, transferer_call_id: call.id, transferee_addresses };
    return this.#office.stack.api<Transfer & { error?: { reason: string } }>('POST', '/transfers', body);
  }

  /** The same, which works. */
  async begin(type: Transfer['type'], call: Call, ...to: TestPhone[]): Promise<Transfer> {
    const { status, body } = await this.order(type, call, ...to);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }
}

const nameOf = (phone: TestPhone): Who =>
  (Object.keys(EXTENSIONS) as Who[]).find(name => EXTENSIONS[name] === phone.name) ?? 'alice';

/** Sends a REFER within a call. */
export const refer = async (call: PhoneCall, to: string, more: SipHeader[] = []): Promise<SipResponse> => {
  const answer = await call.inner.sip.request('REFER', [
    { name: 'refer-to', value: to },
    { name: 'contact', value: '<sip:phone@127.0.0.1>' },
    ...more,
  ]);
  assert(answer, 'REFER was not answered');
  return answer;
};

/** What NOTIFY told a phone of its REFERs: the status lines, the last with how the subscription ended. */
export const newsOf = (phone: TestPhone): string[] =>
  phone.messages('NOTIFY', 'received').map(({ message }) => {
    const state = header(message, 'subscription-state') ?? '';
    const line = message.body.trim().replace('SIP/2.0 ', '');
    return state.startsWith('terminated') ? `${line}, over` : line;
  });

/** Waits for the last NOTIFY. */
export const newsOver = (phone: TestPhone): Promise<string[]> =>
  eventually(
    'the last NOTIFY',
    () => newsOf(phone),
    news => news.at(-1)?.endsWith(', over') ?? false,
  );

/** A Replaces value that names the dialog of a phone's call, as its far end would see it. */
export const dialogOf = (call: PhoneCall): { call_id: string; to_tag: string; from_tag: string } => {
  const { call_id, localTag, remoteTag } = call.inner.sip.dialog;
  return { call_id, to_tag: remoteTag ?? '', from_tag: localTag };
};

/** The Replaces header that names the dialog of a call as its far end sees it. */
export const replacesOf = (call: PhoneCall): string => {
  const { call_id, to_tag, from_tag } = dialogOf(call);
  return `${call_id};to-tag=${to_tag};from-tag=${from_tag}`;
};
