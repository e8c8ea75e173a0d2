import { strict as assert } from 'node:assert';
import { newId } from '#contract/ids';
import { settingsSchema } from '../../media-app/config.ts';
import { MAX_CONTACTS } from '../../media-app/sip/contacts.ts';
import { apiOfTests, clientOf, refusalOf } from '../support/api.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Row by row accounts-and-plumbing 31 and platform-api, Limits: how long things last, as the running API says. */
describe('how long things last, and how much there may be (31)', () => {
  const api = apiOfTests();

  const lasts = (expire: string | undefined): number =>
    Date.parse(String(expire).replace(' ', 'T').replace(/Z?$/, 'Z')) - Date.now();
  const linkOf = async (purpose: string): Promise<number> => {
    const row = await api.database
      .db('link_tokens')
      .where({ purpose })
      .orderBy('tm_create', 'desc')
      .first<{ tm_expire: string }>();
    return lasts(row.tm_expire);
  };
  const login = () => {
    const { username, password } = api.welcome;
    return api.request('POST', '/auth/login', { username, password }, { credentials: {} });
  };
  const claimsOf = (token: string): { expire: string } =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { expire: string };
  const signup = () =>
    clientOf(api, {}).call('signup', { body: { email: `${newId()}@example.com`, accepted_tos: true } });

  const LASTING: [what: string, milliseconds: number, measure: () => Promise<number>][] = [
    ['a login token', 7 * DAY_MS, async () => lasts(claimsOf(String((await login()).body['token'])).expire)],
    [
      'the cookie of a login',
      7 * DAY_MS,
      async () => Number(/Max-Age=(\d+)/.exec((await login()).headers.get('set-cookie') ?? '')?.[1]) * SECOND_MS,
    ],
    [
      'a delegate token',
      8 * HOUR_MS,
      async () => {
        const { customer } = await signup();
        const body = { customer_id: customer?.id ?? '', reason: 'to look at a limit' };
        const token = String((await login()).body['token']);
        return lasts((await clientOf(api, { token }).call('delegate', { body })).expire);
      },
    ],
    [
      'a direct token',
      4 * HOUR_MS,
      async () => {
        const widget = { name: 'w', session_flow_id: api.welcome.flow_id };
        const { direct_hash } = await clientOf(api).call('create_webchat_widget', { body: widget });
        return lasts((await clientOf(api, {}).call('boot', { body: { direct_hash } })).expire);
      },
    ],
    [
      'the link that confirms an address',
      24 * HOUR_MS,
      async () => {
        await signup();
        return linkOf('verify');
      },
    ],
    [
      'the link to a new password',
      HOUR_MS,
      async () => {
        await clientOf(api, {}).call('password_forgot', { body: { username: api.welcome.username } });
        return linkOf('password');
      },
    ],
    ['the accesskey of a signup', 365 * DAY_MS, async () => lasts((await signup()).accesskey?.tm_expire)],
    [
      'a provisioning token',
      10 * MINUTE_MS,
      async () => {
        const [extension] = (await clientOf(api).call('list_extensions')).result;
        const params = { id: extension?.id ?? '' };
        return lasts((await clientOf(api).call('extension_provisioning_token', { params })).expire);
      },
    ],
  ];
  for (const [what, milliseconds, measure] of LASTING)
    it(`${what}: ${milliseconds / MINUTE_MS} minutes`, async () => {
      const measured = await measure();
      assert.ok(measured <= milliseconds && measured > milliseconds - 20 * SECOND_MS, `${measured / HOUR_MS} h`);
    });

  const { MAX_CALL_MS, DIAL_TIMEOUT_MS, CARRIER_CHECK_MS } = settingsSchema.shape;
  for (const [what, is, should] of [
    ['a call: an hour', MAX_CALL_MS.parse(undefined), HOUR_MS],
    ['ringing: a minute', DIAL_TIMEOUT_MS.parse(undefined), MINUTE_MS],
    [
      'the silence until a carrier is asked whether it is there: a minute',
      CARRIER_CHECK_MS.parse(undefined),
      MINUTE_MS,
    ],
    ['contacts of an extension: three', MAX_CONTACTS, 3],
  ] as const)
    it(what, () => assert.equal(is, should));

  const codecs = (length: number): string => 'PCMU,'.repeat(60).slice(0, length).replace(/,$/, 'U');
  const SIZES: [what: string, fits: () => Promise<unknown>, breaks: () => Promise<unknown>, reason: string][] = [
    [
      'codecs of an outbound config: 255 characters',
      () => clientOf(api).call('create_outbound_config', { body: { codecs: codecs(255) } }),
      () => clientOf(api).call('create_outbound_config', { body: { codecs: codecs(256) } }),
      'INVALID_ARGUMENT',
    ],
    [
      'tag_ids of a list of agents: 100',
      () => clientOf(api).call('list_agents', { query: { tag_ids: Array.from({ length: 100 }, newId).join() } }),
      () => clientOf(api).call('list_agents', { query: { tag_ids: Array.from({ length: 101 }, newId).join() } }),
      'INVALID_TAG_IDS',
    ],
  ];
  for (const [what, fits, breaks, reason] of SIZES)
    it(what, async () => {
      await fits();
      assert.equal(await refusalOf(breaks()), reason);
    });

  it('a direct hash has no end', async () => {
    const columns = Object.keys(await api.database.db('directs').columnInfo());
    assert.deepEqual(
      columns.filter(name => name.includes('expire')),
      [],
    );
  });
});
