import { strict as assert } from 'node:assert';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { apiOfTests } from '../support/api.ts';

describe('the first start', () => {
  const api = apiOfTests();

  it('writes the facts to a file that only its owner reads', async () => {
    const { mode } = await stat(join(api.dataDir, 'welcome.json'));
    assert.equal(mode & 0o777, 0o600);
    assert.equal(api.welcome.base_url, `${api.url}/v1.0`);
    assert.match(api.welcome.number, /^\+899(?!000)\d{9}$/);
    assert.deepEqual(
      api.welcome.extensions.map(each => each.extension),
      ['1001', '1002'],
    );
  });

  it('makes an accesskey that works, a number that runs the welcome flow and two extensions', async () => {
    const numbers = await api.request('GET', '/v1.0/numbers');
    const [number] = numbers.body['result'] as Record<string, unknown>[];
    assert.equal(number?.['number'], api.welcome.number);
    assert.equal(number?.['call_flow_id'], api.welcome.flow_id);
    const extensions = await api.request('GET', '/v1.0/extensions');
    const shown = (extensions.body['result'] as Record<string, unknown>[]).map(each => each['password']);
    assert.deepEqual(
      shown.reverse(),
      api.welcome.extensions.map(each => each.password),
    );
  });

  it('makes an administrator who can log in', async () => {
    const { username, password } = api.welcome;
    const answer = await api.request('POST', '/auth/login', { username, password }, { credentials: {} });
    assert.equal(answer.status, 200);
    const token = String(answer.body['token']);
    const flows = await api.request('GET', '/v1.0/flows', undefined, { credentials: { token } });
    assert.equal(flows.status, 200);
  });
});
