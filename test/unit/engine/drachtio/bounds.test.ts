import { strict as assert } from 'node:assert';
import { ProxiedDialogs } from '../../../../engine/drachtio/proxy/proxied-dialogs.ts';
import type { Dialog, Outgoing } from '../../../../engine/drachtio/records.ts';
import { RegisteredContacts } from '../../../../engine/drachtio/registered.ts';
import { expectPrack } from '../../../../engine/drachtio/reliable.ts';
import { newRequest, responseTo } from '../../../../engine/sip/message.ts';

const MOST = 100_000;
const AT_ONCE = 500;

describe('drachtio: what may be remembered', () => {
  it('the registration that was longest unheard of makes room', () => {
    const registered = new RegisteredContacts();
    const register = (port: number, count: number): void => {
      const contact = Array.from({ length: count }, (_, n) => `<sip:u${n}@h${port}>`).join(',');
      const request = newRequest('REGISTER', 'sip:x', { Contact: contact });
      const local = { localAddress: '127.0.0.1', localPort: 5060, size: 1 };
      const source = { transport: 'tcp', address: '192.0.2.1', port, ...local } as const;
      registered.remember(request, responseTo(request, 200, undefined, { Expires: '60' }), source);
    };
    register(1, 1);
    register(2, 1);
    const knows = (user: number, port: number): boolean => registered.hopFor(`sip:u${user}@h${port}`) !== undefined;
    register(1, 1); // heard of again
    for (let port = 1000; port < 1000 + MOST / AT_ONCE - 1; port++) register(port, AT_ONCE);
    register(3, AT_ONCE - 1);
    assert.deepEqual([knows(0, 1), knows(0, 2), knows(0, 1000)], [true, false, true]);
  });

  it('the oldest dialog that we are in the way of makes room', () => {
    const dialogs = new ProxiedDialogs();
    const of = (n: number) => newRequest('BYE', 'sip:x', { 'Call-ID': String(n), From: '<sip:a@b>;tag=1', To: '<sip:c@d>;tag=2' }); // prettier-ignore
    for (let n = 0; n <= MOST; n++) dialogs.begin(of(n));
    assert.deepEqual([dialogs.size, dialogs.has(of(0)), dialogs.has(of(1)), dialogs.has(of(MOST))], [MOST, false, true, true]); // prettier-ignore
  });

  it('a callee who rings reliably without end is noted a few times', () => {
    const noted = (method: string): number => {
      const unconfirmed: Outgoing['unconfirmed'] = [];
      const outgoing = { method, dialog: {} as Dialog, unconfirmed } as unknown as Outgoing;
      const request = newRequest(method, 'sip:x');
      for (let n = 1; n <= 1000; n++)
        expectPrack(outgoing, responseTo(request, 183, undefined, { Require: '100rel', RSeq: String(n) }));
      return unconfirmed.length;
    };
    assert.deepEqual([noted('INVITE'), noted('BYE')], [50, 0]);
  });
});
