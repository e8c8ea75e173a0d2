import { strict as assert } from 'node:assert';
import { randomBytes } from 'node:crypto';
import { eventually } from '../support/eventually.ts';
import { withOffice, type Office, type PhoneAccount } from '../support/office.ts';
import { otherCustomer } from '../support/other-customer.ts';
import { Stranger } from '../support/stranger.ts';

const UNSUBSCRIBE = (event: string): string[] => [`Event: ${event}`, 'Expires: 0'];

/** A phone that subscribes, and answers what it is told. */
class Lamp {
  readonly #line: Stranger;
  readonly #account: PhoneAccount;
  #answered = 0;
  readonly #open: (() => Promise<{ status: number } | undefined>)[] = [];

  constructor(line: Stranger, account: PhoneAccount) {
    this.#line = line;
    this.#account = account;
  }

  /** The answer to a SUBSCRIBE, its challenge answered, and what it takes to go on with that subscription. */
  async subscribe(user: string, event: string, { domain = this.#account.domain_name, lines = [] as string[] } = {}) {
    const { username, password, domain_name } = this.#account;
    const [callId, tag] = [randomBytes(8).toString('hex'), randomBytes(4).toString('hex')];
    const uri = `sip:${user}@${domain}`;
    const from = `<sip:${username}@${domain_name}>`;
    const given = { method: 'SUBSCRIBE', uri, from, to: `<${uri}>`, callId, tag };
    const answer = await this.#line.attempt(
      { ...given, lines: [...(event ? [`Event: ${event}`] : []), ...lines] },
      { username, password },
    );
    const to = /^To: (.*)$/im.exec(answer?.text ?? '')?.[1] ?? '';
    const again = (more: string[]) => this.#line.ask({ ...given, to, cseq: 9, lines: [`Event: ${event}`, ...more] });
    if (answer?.status === 202)
      this.#open.push(() => this.#line.ask({ ...given, to, cseq: 99, lines: UNSUBSCRIBE(event) }));
    return { ...answer, again };
  }

  /** What it was told so far, each answered with 200, or as `status` says. */
  told(status = '200 OK'): string[] {
    const notifies = this.#line.heard.filter(text => text.startsWith('NOTIFY '));
    for (; this.#answered < notifies.length; this.#answered++)
      this.#line.answer(notifies[this.#answered] ?? '', status);
    return notifies;
  }

  /** The next thing it is told that looks like this. */
  async hears(pattern: RegExp, status?: string): Promise<string> {
    const told = await eventually(
      `a NOTIFY with ${pattern.source}`,
      () => this.told(status),
      all => all.some(text => pattern.test(text)),
    );
    const found = told.find(text => pattern.test(text)) ?? '';
    return found;
  }

  /** Its subscriptions are over already. */
  forget(): void {
    this.#open.length = 0;
  }

  /** Unsubscribes from everything, hears the end of each, and goes. */
  async close(): Promise<void> {
    for (const unsubscribe of this.#open) {
      const answer = await unsubscribe();
      assert([202, 481].includes(answer?.status ?? 0), `unsubscribing was answered ${answer?.status}`);
    }
    const ended = () => this.told().filter(text => /^Subscription-State: terminated/im.test(text)).length;
    await eventually('the end of every subscription', ended, count => count === this.#open.length);
    this.#line.close();
  }
}

describe('phones subscribe', function () {
  this.timeout(30_000);
  let office: Office;
  const lamps: Lamp[] = [];

  const lamp = async (account?: PhoneAccount): Promise<Lamp> => {
    const own = account ?? office.stack.welcome.extensions.find(({ extension }) => extension === '1001');
    assert(own);
    const one = new Lamp(await Stranger.start('127.0.0.1', office.stack.sip), own);
    lamps.push(one);
    return one;
  };

  afterEach(async () => {
    for (const one of lamps.splice(0)) await one.close();
  });
  withOffice(opened => (office = opened));

  it('to what there is, and are told so; the rest is refused with its reason', async () => {
    const other = await otherCustomer(office.stack);
    const { domain_name } = await other.extension('1002');
    const one = await lamp();
    const refusals: [
      what: string,
      status: number,
      says: RegExp,
      answer: Promise<{ status?: number; text?: string }>,
    ][] = [
      ['an unknown package', 489, /allow-events:.*dialog/i, one.subscribe('1002', 'weather')],
      ['no package', 489, /allow-events/i, one.subscribe('1002', '')],
      ['nobody', 404, / /, one.subscribe('4711', 'presence')],
      ['somebody of another customer', 403, / /, one.subscribe('1002', 'presence', { domain: domain_name })],
      ['messages of somebody else', 403, / /, one.subscribe('1002', 'message-summary')],
      ['what it cannot read', 406, / /, one.subscribe('1002', 'dialog', { lines: ['Accept: text/plain'] })],
      ['too short a while', 423, /min-expires: 60/i, one.subscribe('1002', 'dialog', { lines: ['Expires: 10'] })],
    ];
    for (const [what, status, says, asked] of refusals) {
      const answer = await asked;
      assert.equal(answer.status, status, what);
      assert.match(answer.text ?? '', says, what);
    }
    assert.deepEqual(one.told(), []);
  });

  it('to their messages, of which there are none', async () => {
    const one = await lamp();
    const { status } = await one.subscribe('1001', 'message-summary', { lines: ['Expires: 600'] });
    assert.equal(status, 202);
    const told = await one.hears(/Messages-Waiting: no\r\n/);
    assert.match(told, /^Subscription-State: active;expires=(600|599)\r$/im);
    assert.match(told, /Voice-Message: 0\/0/);
    assert.match(told, /^Event: message-summary\r$/im);
    assert.match(told, /^Contact: <sip:/im);
  });

  it('to a colleague, and hear when that one comes, rings, talks, hangs up and goes', async () => {
    const [dialog, presence] = [await lamp(), await lamp()];
    await Promise.all([dialog.subscribe('1002', 'dialog;id=7'), presence.subscribe('1002', 'presence')]);
    await presence.hears(/<basic>closed<\/basic>/);
    const nothing = await dialog.hears(/<dialog-info [^>]*version="0"[^>]*>\s*<\/dialog-info>/);
    assert.match(nothing, /^Event: dialog;id=7\r$/im);
    const phone = await office.registered('1002');
    await presence.hears(/<basic>open<\/basic>[\s\S]*<rpid:activities><\/rpid:activities>/);
    const call = await office.ring('1002', [{ type: 'sleep', option: { duration: 10_000 } }]);
    const incoming = await phone.waitForCall();
    await dialog.hears(/direction="recipient"><state>early</);
    incoming.answer();
    await dialog.hears(/direction="recipient"><state>confirmed</);
    await presence.hears(/<rpid:on-the-phone\/>/);
    await incoming.hangup();
    await office.ended(call.id);
    await eventually(
      'a dark lamp',
      () => dialog.told().at(-1),
      last => !last?.includes('<dialog id'),
    );
    await phone.unregister();
    await eventually(
      'an absent colleague',
      () => presence.told().at(-1),
      last => last?.includes('closed') === true,
    );
  });

  it('to a colleague who is called, and pick the call up by what they are told; what is answered stays where it is', async () => {
    const light = await lamp();
    await light.subscribe('1002', 'dialog');
    const [alice, bob] = [await office.registered('1001', { tone: 500 }), await office.registered('1002')];
    const caller = await alice.dial('1002');
    const ringing = await bob.waitForCall();
    const told = await light.hears(/<dialog [^>]*call-id="[^"]+"[^>]*><state>early</);
    const [, callId, localTag, remoteTag] =
      /call-id="([^"]+)" local-tag="([^"]+)" remote-tag="([^"]+)"/.exec(told) ?? [];
    assert.deepEqual(
      bob.log.filter(({ message }) => JSON.stringify(message).includes(callId ?? '-')),
      [],
      'nothing of the legs themselves is told',
    );
    const replaces = { name: 'replaces', value: `${callId};to-tag=${localTag};from-tag=${remoteTag}` };
    const carol = await office.phone('1001', { tone: 900 });
    const picked = await carol.dial('1002', [replaces]);
    await Promise.all([picked.answered(), caller.answered(), ringing.ended()]);
    await Promise.all([picked.hearsOnly([500]), caller.hearsOnly([900])]);
    assert.equal((await (await carol.dial('1002', [replaces])).ended()).status, 481, 'it rings no more');
    await caller.hangup();
    await picked.ended();
    const next = await alice.dial('1002');
    const answered = await bob.waitForCall();
    const anew = await light.hears(new RegExp(`<dialog [^>]*call-id="(?!${callId})[^"]+"[^>]*><state>early<`));
    answered.answer();
    await next.answered();
    const value = replaces.value.replace(callId ?? '-', /call-id="([^"]+)"/.exec(anew)?.[1] ?? '');
    assert.equal((await (await carol.dial('1002', [{ name: 'replaces', value }])).ended()).status, 486);
    await next.hangup();
    await answered.ended();
  });

  it('again and no more; who asks for no time at all is told once', async () => {
    const one = await lamp();
    const { again } = await one.subscribe('1002', 'presence');
    await one.hears(/expires=3600/);
    const refreshed = await again(['Expires: 120']);
    assert.match(refreshed?.text ?? '', /^expires: 120\r$/im);
    await one.hears(/active;expires=1(20|19)/);
    const once = await lamp();
    await once.subscribe('1002', 'presence', { lines: ['Expires: 0'] });
    await once.hears(/^Subscription-State: terminated;reason=timeout/im);
    const count = once.told().length;
    await office.registered('1002');
    await one.hears(/<basic>open/);
    assert.equal(once.told().length, count, 'it is told no more');
  });

  it('and are let go when they do not know of it any more', async () => {
    const [one, other] = [await lamp(), await lamp()];
    const { again } = await one.subscribe('1002', 'presence');
    await other.subscribe('1002', 'presence');
    await one.hears(/<basic>closed/, '481 Call/Transaction Does Not Exist');
    await other.hears(/<basic>closed/);
    await office.registered('1002');
    await other.hears(/<basic>open/);
    assert.equal(one.told().length, 1, 'it is told no more');
    assert.equal((await again(['Expires: 600']))?.status, 481);
    one.forget();
  });
});
