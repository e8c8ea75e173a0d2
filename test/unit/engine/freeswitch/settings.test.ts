import { strict as assert } from 'node:assert';
import { readSettings } from '../../../../engine/config.ts';

const secrets = { ENGINE_ADMIN_SECRET: 'a', ENGINE_EVENT_SOCKET_PASSWORD: 'b' };

describe('settings of the engine', () => {
  it('have defaults for everything but the secrets', () => {
    const settings = readSettings(secrets);
    assert.deepEqual([settings.host, settings.sipPort, settings.rtpPorts], ['127.0.0.1', 5060, [20000, 24999]]);
    assert.deepEqual([settings.admin.port, settings.eventSocket.port, settings.mediaSip.port], [9022, 8021, 5080]);
  });

  it('are all checked at once, each mistake with a sentence', () => {
    const wrong = { SIP_PORT: '70000', RTP_PORTS: '30000-20000', ADVERTISED_ADDRESS: 'x', LOG_LEVEL: 'loud' };
    assert.throws(
      () => readSettings(wrong),
      (error: Error) =>
        [
          'SIP_PORT',
          'RTP_PORTS',
          'ADVERTISED_ADDRESS',
          'LOG_LEVEL',
          'ENGINE_ADMIN_SECRET must be set.',
          'ENGINE_EVENT_SOCKET_PASSWORD',
        ].every(one => error.message.split('\n').some(line => line.startsWith(one))),
    );
  });

  it('list the codecs that are spoken in any case, each once, and no other', () => {
    const codecs = (text: string) => readSettings({ ...secrets, ENGINE_CODECS: text }).codecs;
    assert.deepEqual(codecs('g722, Opus,PCMU'), ['G722', 'opus', 'PCMU']);
    assert.deepEqual(codecs(''), ['PCMU', 'PCMA', 'opus', 'G722']);
    for (const wrong of ['G729', 'PCMU,PCMU', 'PCMU,'])
      assert.throws(() => codecs(wrong), /^Error: ENGINE_CODECS is wrong: must be some of/);
  });

  it('take an empty text for unset', () => {
    assert.equal(readSettings({ ...secrets, HOST: '', ADVERTISED_ADDRESS: '' }).host, '127.0.0.1');
  });
});
