import { strict as assert } from 'node:assert';
import { connect } from 'node:net';
import type { Ban } from '#contract/ban';
import { newId } from '#contract/ids';
import { engineOnly } from '../support/engine-only.ts';
import { eventually } from '../support/eventually.ts';
import { Office } from '../support/office.ts';
import { sharedStack, superAdmin, type Stack } from '../support/stack.ts';
import { guess, Stranger } from '../support/stranger.ts';

const DOMAIN = 'trunkline.localhost';

describe('the guard', function () {
  this.timeout(30_000);
  let stack: Stack;
  let office: Office;
  let realm: string;
  let credentials: Record<string, string>;
  const strangers: Stranger[] = [];
  let host = 20;

  /** Every test has an address of its own, which nobody has banned yet. */
  const stranger = async (): Promise<Stranger> => {
    const one = await Stranger.start(`127.0.0.${(host += 1)}`, stack.sip);
    strangers.push(one);
    return one;
  };
  const bans = async (): Promise<Ban[]> =>
    (await stack.api<{ result: Ban[] }>('GET', '/bans', undefined, credentials)).body.result;
  const banOf = async (one: Stranger): Promise<Ban | undefined> =>
    (await bans()).find(ban => ban.source === one.address);
  const banned = async (one: Stranger): Promise<Ban> => {
    const ban = await eventually(
      `a ban of ${one.address}`,
      () => banOf(one),
      found => found !== undefined,
    );
    assert(ban);
    return ban;
  };
  const registerAs = (one: Stranger, username: string, password: string) =>
    one.attempt(
      { method: 'REGISTER', uri: `sip:${realm}`, from: `<sip:${username}@${realm}>` },
      { username, password },
    );
  const ping = (one: Stranger, patience_ms?: number) =>
    one.ask({ method: 'OPTIONS', uri: `sip:${DOMAIN}`, lines: ['Accept: application/sdp'] }, patience_ms);

  before(async () => {
    stack = await sharedStack();
    office = new Office(stack);
    realm = stack.welcome.extensions[0]?.domain_name ?? '';
    credentials = await superAdmin(stack);
  });
  afterEach(async () => {
    for (const one of strangers.splice(0)) one.close();
    await office.close();
    office = new Office(stack);
  });

  const ATTACKS: Record<string, { reason: string; most: number; once: (one: Stranger, count: number) => unknown }> = {
    'wrong passwords': { reason: 'bad_credentials', most: 12, once: one => registerAs(one, '1001', 'wrong') },
    'unknown users': { reason: 'bad_credentials', most: 12, once: (one, count) => registerAs(one, `9${count}`, 'x') },
    'unknown customers': {
      reason: 'bad_credentials',
      most: 12,
      once: one => {
        const uri = 'sip:zzzz.reg.trunkline.localhost';
        const from = '<sip:1001@zzzz.reg.trunkline.localhost>';
        return one.attempt({ method: 'REGISTER', uri, from }, { username: '1001', password: 'x' });
      },
    },
    'calls to numbers that do not exist': {
      reason: 'unknown_destinations',
      most: 12,
      once: (one, count) => one.ask({ method: 'INVITE', uri: `sip:+4930${count}@sip.${DOMAIN}` }),
    },
    'requests without credentials': {
      reason: 'probing',
      most: 300, // it leaks while they are asked, on a slow machine more
      once: (one, count) => one.ask({ uri: `sip:${realm}`, from: `<sip:${count}@${realm}>` }),
    },
  };
  for (const [what, { reason, most, once }] of Object.entries(ATTACKS))
    it(`${what} are answered, then with silence`, async () => {
      const one = await stranger();
      let answered = 0;
      for (let count = 0; count < most && !(await banOf(one)); count++) if (await once(one, count)) answered++;
      assert.equal((await banned(one)).reason, reason);
      assert(answered >= 5, `only ${answered} were answered`);
      await eventually(
        'silence',
        () => ping(one, 300),
        answer => answer === undefined,
      );
    });

  engineOnly('drachtio-server tells nobody of them', 'messages that cannot be read ban their sender', async () => {
    const one = await stranger();
    for (let count = 0; count < 15; count++) one.throw(`NOT SIP AT ALL ${count}\r\n\r\n`);
    assert.equal((await banned(one)).reason, 'malformed_messages');
  });

  it('a tool that only scans gets no answer at all', async () => {
    const one = await stranger();
    const uri = `sip:100@${realm}`;
    assert.equal(await one.ask({ method: 'OPTIONS', uri, lines: ['User-Agent: friendly-scanner'] }, 400), undefined);
    assert.equal((await banned(one)).reason, 'scanner');
  });

  it('calls of a tool that only scans leave nothing behind, neither early dialogs nor answers that come later', async () => {
    const one = await stranger();
    const calls = Array.from({ length: 20 }, (_, n) => ({ method: 'INVITE', uri: `sip:${100 + n}@${realm}` }));
    for (const call of calls) one.throw(one.write({ ...call, lines: ['User-Agent: friendly-scanner'] }));
    await banned(one);
    await eventually('nothing', () => stack.holds(), held => held.length === 0); // prettier-ignore
    assert.deepEqual(
      one.heard.filter(text => !text.startsWith('SIP/2.0 100 ')),
      [],
    );
  });

  it('a source is one over TCP and UDP: its connection gets no answer any more, nor do its datagrams', async () => {
    const one = await stranger();
    const socket = connect({ ...stack.sip, localAddress: one.address });
    const heard: string[] = [];
    socket.on('data', data => heard.push(data.toString('latin1')));
    const ask = (agent: string) => {
      const text = one.write({ method: 'OPTIONS', uri: `sip:${DOMAIN}`, lines: [`User-Agent: ${agent}`] });
      socket.write(text.replace('SIP/2.0/UDP', 'SIP/2.0/TCP'));
    };
    ask('a phone');
    await eventually(
      'an answer',
      () => heard.length,
      count => count > 0,
    );
    ask('sipvicious');
    assert.equal((await banned(one)).reason, 'scanner');
    heard.length = 0;
    ask('a phone');
    assert.equal(await ping(one, 300), undefined);
    assert.deepEqual(heard, []);
    socket.destroy();
  });

  it('one phone with a wrong password does not lock out the office behind the same address', async () => {
    host += 1;
    const phone = await office.registered('1001', { host: `127.0.0.${host}` });
    const wrong = await Stranger.start(`127.0.0.${host}`, stack.sip);
    strangers.push(wrong);
    for (let count = 0; count < 30; count++) assert.equal((await registerAs(wrong, '1002', 'old'))?.status, 403);
    for (let count = 0; count < 30; count++) wrong.throw('rubbish with forged source\r\n\r\n');
    await office.ring('1001', [{ type: 'beep' }]);
    (await phone.waitForCall()).answer();
    await phone.calls[0]?.ended();
    assert.equal(await banOf(wrong), undefined);
  });

  it('a super admin bans and lifts, and is told by events', async () => {
    const [one, heard] = [await stranger(), await office.listen()];
    const body = { address: one.address, detail: 'A test.', duration_s: 60 };
    const made = await stack.api<Ban>('POST', '/bans', body, credentials);
    assert.equal(made.status, 200, JSON.stringify(made.body));
    assert.equal((await stack.api('POST', '/bans', body, credentials)).status, 409);
    assert.equal(await ping(one, 300), undefined);
    assert.equal((await stack.api<Ban>('GET', `/bans/${made.body.id}`, undefined, credentials)).body.detail, 'A test.');
    assert.equal((await stack.api('DELETE', `/bans/${made.body.id}`, undefined, credentials)).status, 200);
    await eventually(
      'an answer',
      () => ping(one, 300),
      answer => answer?.status === 200,
    );
    assert.equal((await stack.api('DELETE', `/bans/${made.body.id}`, undefined, credentials)).status, 404);
    const told = () => heard.filter(event => event.data['id'] === made.body.id).map(event => event.event_type);
    await eventually('both events', told, types => types.length === 2);
    assert.deepEqual(told(), ['ban_created', 'ban_deleted']);
    const requests = heard.filter(event => event.data['id'] === made.body.id).map(event => event.request_id);
    assert(requests[0] && requests[1] && requests[0] !== requests[1], `by the requests ${requests.join(' and ')}`);
  });

  it('a ban ends by itself', async () => {
    const one = await stranger();
    await stack.api('POST', '/bans', { address: one.address, duration_s: 1 }, credentials);
    assert.equal(await ping(one, 300), undefined);
    await eventually(
      'an answer',
      () => ping(one, 300),
      answer => answer?.status === 200,
    );
    assert.equal(await banOf(one), undefined);
  });

  it('nobody else sees bans', async () => assert.equal((await stack.api('GET', '/bans')).status, 403));

  it('a known and an unknown user get the same answers, header by header', async () => {
    const one = await stranger();
    const shapes = [];
    for (const username of ['1001', '7777']) {
      const challenge = await one.ask({ uri: `sip:${realm}`, from: `<sip:u@${realm}>`, callId: newId() });
      const refusal = await registerAs(one, username, 'wrong');
      const shape = (text = '') =>
        text.replace(/(tag|branch|rport|nonce|Call-ID: |received)(=?"?)[^;"\s]+/g, '$1').replace(username, 'user');
      shapes.push([shape(challenge?.text), shape(refusal?.text).replaceAll(username, 'user')]);
    }
    assert.deepEqual(shapes[0], shapes[1]);
  });

  it('an answer that was heard before is worth nothing', async () => {
    const one = await stranger();
    const account = stack.welcome.extensions[0];
    const request = { method: 'REGISTER', uri: `sip:${realm}`, from: `<sip:1001@${realm}>` };
    const first = await one.ask(request);
    const line = guess(first?.text ?? '', { username: '1001', password: account?.password ?? '', ...request });
    const ask = { ...request, lines: [line, 'Expires: 0'] };
    assert.equal((await one.ask(ask))?.status, 200);
    const again = await one.ask(ask);
    assert.equal(again?.status, 401);
    assert.match(again.text, /stale=true/);
  });

  const HIJACKS: Record<string, (realm: string) => { uri: string; from: string; to?: string }> = {
    'another extension': realm => ({ uri: `sip:${realm}`, from: `<sip:1001@${realm}>`, to: `<sip:1002@${realm}>` }),
    'another domain': realm => ({ uri: `sip:${realm}`, from: '<sip:1001@aaaa.reg.trunkline.localhost>' }),
  };
  for (const [what, request] of Object.entries(HIJACKS))
    it(`a phone cannot register ${what}`, async () => {
      const one = await stranger();
      const { password = '' } = stack.welcome.extensions[0] ?? {};
      const answer = await one.attempt({ method: 'REGISTER', ...request(realm) }, { username: '1001', password });
      assert.equal(answer?.status, 403);
    });

  it('an answer made for one destination opens no other', async () => {
    const one = await stranger();
    const { password = '' } = stack.welcome.extensions[0] ?? {};
    const first = await one.ask({ method: 'INVITE', uri: `sip:1002@${realm}`, from: `<sip:1001@${realm}>` });
    const made = { username: '1001', password, method: 'INVITE', uri: `sip:1002@${realm}` };
    const other = { method: 'INVITE', uri: `sip:+900123456@${realm}`, from: `<sip:1001@${realm}>` };
    assert.equal((await one.ask({ ...other, lines: [guess(first?.text ?? '', made)] }))?.status, 403);
  });
});
