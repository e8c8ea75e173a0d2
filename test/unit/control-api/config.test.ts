import { strict as assert } from 'node:assert';
import { privateTargetsAllowed } from '#outbound/guarded-fetch';
import { SettingsError } from '#process/settings';
import { readConfig } from '../../../control-api/config.ts';

const needed = { DATABASE_URL: 'postgres://u:p@127.0.0.1:5432/t', REDIS_URL: 'redis://127.0.0.1:6379' };

describe('the settings of control-api', () => {
  it('have defaults for everything but the stores', () => {
    const config = readConfig({ ...needed, HTTP_PORT: '' });
    assert.deepEqual([config.HTTP_PORT, config.HOST, config.SIP_DOMAIN], [8080, '127.0.0.1', 'trunkline.localhost']);
  });

  it('tell all mistakes at once, a sentence each', () => {
    const wrong = { HTTP_PORT: 'web', SIP_DOMAIN: 'Über', LOG_LEVEL: 'loud', DATABASE_URL: 'mysql://x' };
    assert.throws(
      () => readConfig(wrong),
      (error: unknown) => {
        assert.ok(error instanceof SettingsError);
        const names = error.message.split('\n').map(sentence => sentence.split(' ')[0]);
        assert.deepEqual(names, ['HTTP_PORT', 'DATABASE_URL', 'REDIS_URL', 'SIP_DOMAIN', 'LOG_LEVEL'].sort(byField));
        return true;
      },
    );
  });

  const FIELDS = [
    'HTTP_PORT',
    'HOST',
    'DATABASE_URL',
    'REDIS_URL',
    'DATA_DIR',
    'SIP_DOMAIN',
    'PUBLIC_URL',
    'LOG_LEVEL',
  ];
  const byField = (a: string, b: string): number => FIELDS.indexOf(a) - FIELDS.indexOf(b);

  for (const [host, choice, allowed] of [
    ['127.0.0.1', 'auto', true],
    ['::1', 'auto', true],
    ['0.0.0.0', 'auto', false],
    ['0.0.0.0', 'yes', true],
    ['127.0.0.1', 'no', false],
  ] as const)
    it(`webhooks may ${allowed ? '' : 'not '}reach private addresses on ${host} with ${choice}`, () => {
      const config = readConfig({ ...needed, HOST: host, ALLOW_PRIVATE_TARGETS: choice });
      assert.equal(privateTargetsAllowed(config), allowed);
    });
});
