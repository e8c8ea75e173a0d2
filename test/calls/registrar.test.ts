import { strict as assert } from 'node:assert';
import { randomBytes } from 'node:crypto';
import type { PhoneAccount } from '../support/office.ts';
import { engineOnly } from '../support/engine-only.ts';
import { otherCustomer } from '../support/other-customer.ts';
import { sharedStack, type Stack } from '../support/stack.ts';
import { guess, Stranger } from '../support/stranger.ts';

/** A REGISTER, and what is answered to it. */
interface Step {
  /** What stands in Contact; empty for none. */
  contact?: string;
  lines?: string[];
  /** Same Call-ID as the step before, with this CSeq. */
  cseq?: number;
  /** Who is registered, when it is not who proves itself. */
  to?: string;
  password?: string;
  status: number;
  says?: RegExp;
  /** The contacts that the answer names, in order. */
  lists?: string[];
}

const at = (user: string, parameters = ''): string => `<sip:${user}@192.0.2.9:5070>${parameters}`;
const INSTANCE = ';+sip.instance="<urn:uuid:00000000-0000-1000-8000-000a95a0e128>"';
const OUTBOUND = 'Supported: path, outbound';

/** RFC 3261 10.2.1.1 wants it; drachtio-server refuses such a REGISTER by itself. */
const NO_EXPIRES = 'an Expires that is no number is none';

const ROWS: Record<string, Step[]> = {
  'who says no time gets an hour': [{ contact: at('a'), status: 200, says: /;expires=(3600|3599)\b/ }],
  'who wants more than two hours gets two': [
    { contact: at('a', ';expires=99999'), status: 200, says: /;expires=7(200|199)\b/ },
  ],
  'less than a minute is refused, with the least': [
    { contact: at('a', ';expires=59'), status: 423, says: /^Min-Expires: 60\r$/im },
    { contact: '', status: 200, lists: [] },
  ],
  'a contact’s own time comes before that of all': [
    { contact: at('a', ';expires=120'), lines: ['Expires: 600'], status: 200, says: /;expires=1(20|19)\b/ },
    { contact: at('a'), lines: ['Expires: 600'], status: 200, says: /;expires=(600|599)\b/ },
  ],
  'a time that is no number is none': [
    { contact: at('a', ';expires=soon'), status: 200, says: /;expires=(3600|3599)\b/ },
  ],
  [NO_EXPIRES]: [{ contact: at('a'), lines: ['Expires: later'], status: 200, says: /;expires=(3600|3599)\b/ }],
  'several contacts at once, with their preferences': [
    {
      contact: `${at('a', ';q=0.5')}, "B; q=0.1, of ;expires=7" ${at('b', ';q=1.0')}`,
      status: 200,
      lists: ['a', 'b'],
      says: /a@[^,]*;q=0\.5[^]*b@[^,]*;q=1\.0/,
    },
  ],
  'a fourth contact takes the place of the oldest': [
    { contact: at('a'), status: 200 },
    { contact: at('b'), status: 200 },
    { contact: at('c'), status: 200, lists: ['a', 'b', 'c'] },
    { contact: at('a'), status: 200 },
    { contact: at('d'), status: 200, lists: ['c', 'a', 'd'] },
  ],
  'of more than three at once three are kept': [
    { contact: ['a', 'b', 'c', 'd'].map(user => at(user)).join(', '), status: 200, lists: ['b', 'c', 'd'] },
  ],
  'no contact asks what there is': [
    { contact: at('a'), status: 200 },
    { contact: '', status: 200, lists: ['a'] },
  ],
  'one of several leaves': [
    { contact: `${at('a')}, ${at('b')}`, status: 200 },
    { contact: at('a', ';expires=0'), status: 200, lists: ['b'] },
    { contact: at('nobody', ';expires=0'), status: 200, lists: ['b'] },
  ],
  '* takes away all': [
    { contact: `${at('a')}, ${at('b')}`, status: 200 },
    { contact: '*', lines: ['Expires: 0'], status: 200, lists: [] },
  ],
  '* needs Expires 0 and stands alone, else nothing changes': [
    { contact: at('a'), status: 200 },
    { contact: '*', status: 400 },
    { contact: '*', lines: ['Expires: 600'], status: 400 },
    { contact: `*, ${at('b')}`, lines: ['Expires: 0'], status: 400 },
    { contact: '', status: 200, lists: ['a'] },
  ],
  'what is no SIP address is refused, and so is one that brings headers': [
    { contact: '<tel:+493012345>', status: 400 },
    { contact: '<sip:a@192.0.2.9?Route=%3Csip:evil%3E>', status: 400 },
    { contact: `${at('a')}, <https://example.org>`, status: 400 },
    { contact: Array.from({ length: 11 }, (_, n) => at(`n${n}`)).join(', '), status: 400 },
    { contact: '', status: 200, lists: [] },
  ],
  'one that was overtaken changes nothing': [
    { contact: at('a'), cseq: 20, status: 200 },
    { contact: at('a', ';expires=0'), cseq: 10, status: 500 },
    { contact: '*', lines: ['Expires: 0'], cseq: 10, status: 500 },
    { contact: at('a', ';expires=0'), cseq: 30, status: 200, lists: [] },
  ],
  'nobody registers somebody else': [{ contact: at('a'), to: '1001', status: 403 }],
  'a wrong password is refused without a word': [{ contact: at('a'), password: 'wrong', status: 403 }],
  'a Path comes back, and one that is none does no harm': [
    {
      contact: at('a'),
      lines: ['Path: <sip:edge.example;lr>'],
      status: 200,
      says: /^Path: <sip:edge\.example;lr>\r$/im,
    },
    { contact: at('a'), lines: ['Path: <sip:edge.example;lr>, nonsense'], status: 200 },
  ],
  'outbound: a device is one binding by each way': [
    { contact: at('a', `${INSTANCE};reg-id=1`), lines: [OUTBOUND], status: 200, says: /^Require: outbound\r$/im },
    {
      contact: at('b', `${INSTANCE};reg-id=1`),
      lines: [OUTBOUND],
      status: 200,
      lists: ['b'],
      says: /^Flow-Timer: \d+\r$/im,
    },
    { contact: at('c', `${INSTANCE};reg-id=2`), lines: [OUTBOUND], status: 200, lists: ['b', 'c'] },
  ],
  'outbound that was not asked for is none': [
    { contact: at('a', `${INSTANCE};reg-id=1`), status: 200 },
    { contact: at('b', `${INSTANCE};reg-id=1`), status: 200, lists: ['a', 'b'] },
  ],
};

describe('the registrar (accounts-and-plumbing 19.2)', function () {
  this.timeout(30_000);
  let stack: Stack;
  let line: Stranger;
  let account: PhoneAccount;

  before(async () => {
    stack = await sharedStack();
    line = await Stranger.start('127.0.0.1', stack.sip);
    account = await (await otherCustomer(stack)).extension('2000');
  });
  after(() => line.close());

  const requestOf = (
    { username, domain_name }: PhoneAccount,
    { contact, lines = [], to = username }: Partial<Step>,
  ) => ({
    method: 'REGISTER',
    uri: `sip:${domain_name}`,
    from: `<sip:${username}@${domain_name}>`,
    to: `<sip:${to}@${domain_name}>`,
    lines,
    ...(contact === undefined ? {} : { contact }),
  });

  for (const [title, steps] of Object.entries(ROWS)) {
    const row = async (): Promise<void> => {
      await line.attempt({ ...requestOf(account, { contact: '*' }), lines: ['Expires: 0'] }, account);
      const callId = randomBytes(8).toString('hex');
      for (const [count, step] of steps.entries()) {
        const { username, password } = { ...account, ...(step.password ? { password: step.password } : {}) };
        const dialog = step.cseq === undefined ? {} : { callId, cseq: step.cseq };
        const answer = await line.attempt({ ...requestOf(account, step), ...dialog }, { username, password });
        assert.equal(answer?.status, step.status, `step ${count + 1}: ${answer?.text}`);
        if (step.says) assert.match(answer.text, step.says, `step ${count + 1}`);
        if (step.lists) assert.deepEqual(listed(answer.text), step.lists, `step ${count + 1}`);
      }
    };
    if (title === NO_EXPIRES) engineOnly('drachtio-server says 400', title, row);
    else it(title, row);
  }

  it('an answer to a challenge is good once; the next count of the same nonce is good too', async () => {
    const request = requestOf(account, { contact: '' });
    const challenge = await line.ask(request);
    assert.match(challenge?.text ?? '', /^WWW-Authenticate: Digest realm="[^"]+", nonce="[^"]+", algorithm=MD5/im);
    const answers = ['00000001', '00000001', '00000002'].map(nc =>
      guess(challenge?.text ?? '', { ...account, ...request, nc }),
    );
    const replies = [];
    for (const answer of answers) replies.push(await line.ask({ ...request, lines: [answer] }));
    assert.deepEqual(
      replies.map(reply => reply?.status),
      [200, 401, 200],
    );
    assert.match(replies[1]?.text ?? '', /stale=true/i);
  });

  it('a nonce made up by somebody is no nonce', async () => {
    const request = requestOf(account, { contact: '' });
    const own = `WWW-Authenticate: Digest realm="${account.domain_name}", nonce="made.up.nonce"`;
    const reply = await line.ask({ ...request, lines: [guess(own, { ...account, ...request })] });
    assert.equal(reply?.status, 401);
  });

  it('OPTIONS is answered 200, with what we understand', async () => {
    const reply = await line.ask({ method: 'OPTIONS', uri: `sip:${account.domain_name}` });
    assert.equal(reply?.status, 200);
    assert.match(reply.text, /^Allow: .*SUBSCRIBE/im);
    assert.match(reply.text, /^Allow-Events: message-summary, presence, dialog\r$/im);
  });
});

/** The users of the contacts an answer names. */
const listed = (text: string): string[] =>
  text
    .split('\r\n')
    .filter(line => /^Contact:/i.test(line))
    .flatMap(line => [...line.matchAll(/<sip:([^@>]+)@/g)].map(([, user]) => user ?? ''));
