import { strict as assert } from 'node:assert';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSettings } from '../../../scripts/phone/config.ts';

describe('npm run phone', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'phone-'));
    const one = (extension: string) => ({
      extension,
      username: extension,
      password: `p${extension}`,
      domain_name: 'a.reg.test',
    });
    writeFileSync(join(folder, 'welcome.json'), JSON.stringify({ extensions: [one('1001'), one('1002')] }));
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  it('is extension 1001 of the data folder, at HOST and SIP_PORT, and sends a tone of its own', async () => {
    const settings = await readSettings([], { DATA_DIR: folder, HOST: '0.0.0.0', SIP_PORT: '5099' });
    assert.deepEqual([settings?.username, settings?.password, settings?.domain], ['1001', 'p1001', 'a.reg.test']);
    assert.deepEqual(settings?.server, { host: '127.0.0.1', port: 5099 });
    assert.equal(settings.tone, 410);
  });

  it('can be another extension, over TCP, with another tone', async () => {
    const argv = [
      '--welcome',
      join(folder, 'welcome.json'),
      '--extension',
      '1002',
      '--transport',
      'tcp',
      '--tone',
      '0',
    ];
    const settings = await readSettings(argv, {});
    assert.deepEqual([settings?.username, settings?.transport, settings?.tone], ['1002', 'tcp', 0]);
  });

  it('registers anywhere with an address and a password; names under .localhost are this machine', async () => {
    const argv = ['--register', 'sip:7:geheim@b.reg.trunkline.localhost'];
    const settings = await readSettings(argv, { SIP_PORT: '5070' });
    assert.deepEqual(
      [settings?.username, settings?.password, settings?.domain],
      ['7', 'geheim', 'b.reg.trunkline.localhost'],
    );
    assert.deepEqual(settings?.server, { host: '127.0.0.1', port: 5070 });
    const elsewhere = await readSettings(['--register', 'sip:7@pbx.test', '--server', '192.0.2.9:5080'], {
      PHONE_PASSWORD: 'x',
    });
    assert.deepEqual(elsewhere?.server, { host: '192.0.2.9', port: 5080 });
  });

  const mistakes: [string, string[], NodeJS.ProcessEnv, RegExp][] = [
    ['no data folder', [], { DATA_DIR: '/nowhere' }, /\/nowhere\/welcome\.json does not exist\. Start Trunkline once/],
    ['an extension that does not exist', ['--extension', '9'], {}, /knows no extension 9, only 1001, 1002/],
    ['a port that is none', [], { SIP_PORT: 'sip' }, /SIP_PORT must be a port number/],
    ['an unknown option', ['--loud'], {}, /--loud/],
    ['a transport that is none', ['--transport', 'pigeon'], {}, /--transport must be one of udp, tcp, tls, ws, wss/],
    ['an address that is none', ['--register', 'bob'], {}, /--register wants an address/],
    ['a missing password', ['--register', 'sip:7@b.localhost'], {}, /Give the password/],
  ];
  for (const [name, argv, environment, expected] of mistakes) {
    it(`says in one sentence what is wrong about ${name}`, async () => {
      await assert.rejects(readSettings(argv, { DATA_DIR: folder, ...environment }), expected);
    });
  }
});
