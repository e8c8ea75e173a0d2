import { strict as assert } from 'node:assert';
import { readSettings, StartError } from '../../../scripts/start/config.ts';

describe('the settings of npm start', () => {
  it('need nothing at all', () => {
    const settings = readSettings({});
    assert.equal(settings.HTTP_PORT, 8080);
    assert.equal(settings.SIP_PORT, 5060);
    assert.equal(settings.RTP_PORTS, '20000-24999');
    assert.equal(settings.HOST, '127.0.0.1');
  });

  it('name every mistake at once, one line each', () => {
    const read = (): unknown =>
      readSettings({ HTTP_PORT: 'x', SIP_PORT: '70000', RTP_PORTS: '1-2', LOG_LEVEL: 'loud' });
    assert.throws(read, (error: Error) => {
      assert.ok(error instanceof StartError);
      assert.deepEqual(
        error.message.split('\n').map(line => line.split('=')[0]),
        ['HTTP_PORT', 'SIP_PORT', 'RTP_PORTS', 'LOG_LEVEL'],
      );
      return true;
    });
  });

  it('take an empty variable for one that is not set', () => {
    assert.equal(readSettings({ HTTP_PORT: '', REDIS_URL: '' }).HTTP_PORT, 8080);
  });

  it('want SIP servers and media servers together', () => {
    assert.throws(
      () => readSettings({ SIP_SERVERS: 'drachtio://s@h:9022' }),
      /MEDIA_SERVERS is needed too, because SIP_SERVERS is given/,
    );
    const both = readSettings({
      SIP_SERVERS: 'drachtio://s@h:9022,drachtio+tls://s@[::1]',
      MEDIA_SERVERS: 'freeswitch://p@h',
    });
    assert.equal(both.MEDIA_SERVERS, 'freeswitch://p@h');
  });

  it('keep secrets out of the sentence about them', () => {
    assert.throws(
      () => readSettings({ SIP_SERVERS: 'secret123', MEDIA_SERVERS: 'freeswitch://p@h', DATABASE_URL: 'hunter2' }),
      (error: Error) => !/secret123|hunter2/.test(error.message),
    );
  });
});
