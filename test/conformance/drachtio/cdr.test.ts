import { strict as assert } from 'node:assert';
import { engineOnly } from '../../support/engine-only.ts';
import { Line, settled } from './line.ts';
import { SDP, type UdpPeer } from './peer.ts';
import { SHORT } from './rig.ts';

const WHY = 'drachtio-server keeps call records only where its configuration says so';

describe('drachtio: call records', () => {
  let line: Line;
  let phone: UdpPeer;
  let records: string[];

  before(async () => {
    line = await Line.open({ timers: SHORT }, client => {
      client.on('cdr:attempt', (source: string) => records.push(`attempt ${source}`));
      for (const event of ['start', 'stop'])
        client.on(`cdr:${event}`, (source: string, _time: string, what: string) =>
          records.push(`${event} ${source} ${what}`),
        );
    });
  });
  after(() => line.close());
  beforeEach(async () => {
    records = [];
    phone = await line.rig.phone();
    line.handle = (request, response) => line.answer(request, response);
  });

  const told = async (...expected: string[]): Promise<void> => {
    await settled(expected.join(', '), () => records.length >= expected.length);
    assert.deepEqual(records, expected);
  };

  engineOnly(WHY, 'a call of the application begins at the 200 and ends with its BYE', async () => {
    const { call } = await line.calling(phone);
    await line.hangUp(phone, call);
    await told('attempt application', 'start network uac', 'stop application normal-release');
  });

  engineOnly(WHY, 'a call of the application that is refused never begins', async () => {
    const call = line.app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, { localSdp: SDP });
    phone.answer(await phone.expect(/^INVITE/), '486 Busy Here');
    await assert.rejects(call);
    await told('attempt application', 'stop network call-rejected');
  });

  engineOnly(WHY, 'a caller who gives up has cancelled', async () => {
    line.handle = (_request, response) => response.send(180);
    const invite = phone.request('INVITE', line.rig.uri(), {}, SDP);
    await phone.expect(/ 180 /);
    phone.companion('CANCEL', invite);
    phone.companion('ACK', invite, (await phone.expect(/ 487 /)).get('To'));
    await told('attempt network', 'stop network call-canceled');
  });

  engineOnly(WHY, 'a call that nobody acknowledges is ended by the server', async () => {
    await line.answered(phone);
    phone.answer(await phone.expect(/^BYE/), '200 OK');
    await told('attempt network', 'start application uas', 'stop application system-initiated-termination');
  });

  engineOnly(WHY, 'a proxied call is told of from both sides', async () => {
    const bob = await line.rig.phone();
    line.handle = request =>
      void line.app
        .proxyRequest(request, `sip:bob@127.0.0.1:${bob.port}`, { remainInDialog: true })
        .catch(() => undefined);
    const invite = phone.request('INVITE', line.rig.uri(), {}, SDP);
    bob.answer(await bob.expect(/^INVITE/), '200 OK', {}, SDP);
    const ok = await phone.expect(/ 200 /);
    const route = { Route: ok.get('Record-Route') };
    phone.inDialog('ACK', invite, ok, 1, route);
    phone.inDialog('BYE', invite, ok, 2, route);
    bob.answer(await bob.expect(/^BYE/), '200 OK');
    await told(
      ...['attempt network', 'attempt application', 'start network proxy-uac', 'start application proxy-uas'],
      'stop network normal-release',
    );
  });
});
