import { strict as assert } from 'node:assert';
import { createServer } from 'node:net';
import type { Call } from '#contract/call';
import type { Conference } from '#contract/conference';
import { withOffice, type Office } from '../support/office.ts';

const DOMAIN = 'trunkline.localhost';

describe('who calls whom, by the domain that is called (accounts-and-plumbing 20)', function () {
  this.timeout(30_000);
  let office: Office;

  withOffice(opened => (office = opened));

  const home = (): string => office.stack.welcome.extensions[0]?.domain_name ?? '';
  const idOf = async (extension: string): Promise<string> => {
    const { body } = await office.stack.api<{ result: { id: string; extension: string }[] }>('GET', '/extensions');
    return body.result.find(one => one.extension === extension)?.id ?? '';
  };
  const newest = async (): Promise<Call> => {
    const call = (await office.calls(3)).find(one => one.direction === 'incoming');
    assert(call);
    return call;
  };

  it('a phone reaches a colleague by extension, by id, and by extension: with either', async () => {
    const [alice, bob] = [await office.registered('1001'), await office.registered('1002')];
    bob.incoming = { refuse: 486 };
    const id = await idOf('1002');
    for (const user of ['1002', id, 'extension%3A1002', 'extension:1002', `extension%3A${id}`]) {
      assert.equal((await (await alice.dial(`sip:${user}@${home()}`)).ended()).status, 486, user);
      const { source, destination } = await newest();
      const said = [source.type, source.target, source.target_name, destination.type, destination.target_name];
      assert.deepEqual(said, ['extension', '1001', '1001', 'extension', '1002'], user);
    }
  });

  it('a stranger who calls a number is known by a telephone number where it has one, else by its address', async () => {
    const { number, flow_id } = office.stack.welcome;
    for (const [username, type, target] of [
      ['+12125550199', 'tel', '+12125550199'],
      ['12125550199', 'tel', '12125550199'],
      ['ann', 'sip', 'sip:ann@elsewhere.example'],
    ] as const) {
      const stranger = await office.phone('1001', { username, domain: 'Elsewhere.Example' });
      const call = await stranger.dial(`sip:${number}@sip.${DOMAIN}`);
      await call.answered();
      const { source, destination, flow_id: runs } = await newest();
      assert.deepEqual([source.type, source.target], [type, target]);
      assert.deepEqual([destination.type, destination.target, runs], ['tel', number, flow_id]);
      await call.hangup();
    }
  });

  it('a conference is called by its address without a password, whoever calls; one that is not open is answered 404', async () => {
    const { stack } = office;
    const { body: room } = await stack.api<Conference>('POST', '/conferences', { type: 'conference' });
    const stranger = await office.phone('1001', { username: 'ann', domain: 'elsewhere.example' });
    const call = await stranger.dial(`sip:${room.id.toUpperCase()}@conference.${DOMAIN}`);
    await call.answered();
    const { source, destination, customer_id } = await newest();
    assert.deepEqual([source.type, source.target], ['sip', 'sip:ann@elsewhere.example']);
    assert.deepEqual([destination.target, customer_id], [room.id, stack.welcome.customer_id]);
    await stack.api('DELETE', `/conferences/${room.id}`);
    await call.ended();
    for (const id of [room.id, 'f0000000-0000-4000-8000-0000000000c9', 'lobby'])
      assert.equal((await (await stranger.dial(`sip:${id}@conference.${DOMAIN}`)).ended()).status, 404, id);
  });

  it('a SIP address is called over the transport that it names', async () => {
    const methods: string[] = [];
    const server = createServer(socket =>
      socket.on('data', data => {
        const text = data.toString('utf8');
        methods.push(text.split('\r\n')[0] ?? '');
        if (!text.startsWith('INVITE ')) return;
        const lines = text.split('\r\n').filter(line => /^(via|from|to|call-id|cseq):/i.test(line));
        const copied = lines.map(line => (/^to:/i.test(line) ? `${line};tag=tcp` : line));
        socket.write(['SIP/2.0 486 Busy Here', ...copied, 'Content-Length: 0', '', ''].join('\r\n'));
      }),
    );
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const target = `sip:ann@127.0.0.1:${port};transport=tcp`;
    const { body } = await office.stack.api<{ calls: Call[] }>('POST', '/calls', {
      source: { type: 'tel', target: office.stack.welcome.number },
      destinations: [{ type: 'sip', target }],
    });
    assert.equal((await office.ended(body.calls[0]?.id ?? '')).hangup_reason, 'busy');
    assert.equal(methods[0], `INVITE ${target} SIP/2.0`);
    server.close();
  });
});
