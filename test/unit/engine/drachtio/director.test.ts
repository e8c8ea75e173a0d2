import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Director } from '../../../../engine/drachtio/outbound/director.ts';
import { newRequest, responseTo } from '../../../../engine/sip/message.ts';
import { InviteServerTransaction } from '../../../../engine/sip/transactions/invite-server.ts';
import { eventually } from '../../../support/eventually.ts';

const MOST_WAITING = 10;
const SOURCE = { transport: 'tcp', address: '127.0.0.1', port: 5060, localAddress: '127.0.0.1', localPort: 5061, size: 1 } as const; // prettier-ignore
const HEADERS = { Via: 'SIP/2.0/TCP h;branch=z9hG4bK1', From: '<sip:a@b>;tag=1', To: '<sip:b@b>', 'Call-ID': 'c', CSeq: '1 INVITE' }; // prettier-ignore

/** An INVITE that has come, and what its caller was told. */
class Caller {
  readonly told: number[] = [];
  readonly transaction: InviteServerTransaction;

  constructor() {
    const wire = {
      timers: { T1: 1, T2: 1, T4: 1 },
      send: (message: Buffer) => void this.told.push(Number(message.toString().split(' ')[1])),
      probe: () => undefined,
    };
    this.transaction = new InviteServerTransaction(newRequest('INVITE', 'sip:b@b', HEADERS), SOURCE, wire);
  }

  giveUp(): void {
    this.transaction.respond(responseTo(this.transaction.request, 487));
  }
}

describe('drachtio: requests that wait for their way', () => {
  /** Who asked for a way and has not been told one. */
  let waiting: ServerResponse[];
  let web: Server;
  let director: Director;

  before(async () => {
    waiting = [];
    web = createServer((_request, response) => void waiting.push(response)).listen(0, '127.0.0.1');
    await once(web, 'listening');
    const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
    const unused = (): never => assert.fail('nobody is to be reached');
    director = new Director(unused, { invite: url }, unused, MOST_WAITING);
  });
  after(() => {
    web.closeAllConnections();
    web.close();
  });

  const call = (): Caller => {
    const caller = new Caller();
    assert(director.directs(caller.transaction));
    return caller;
  };
  const tellAll = (): void => {
    for (const response of waiting.splice(0)) response.end(JSON.stringify({ action: 'reject', data: { status: 404 } }));
  };

  it('callers are turned away while too many wait, and no more when those have given up', async () => {
    const callers = Array.from({ length: MOST_WAITING }, call);
    assert.deepEqual(call().told, [503]);
    await eventually('requests of all', () => waiting.length, asked => asked === MOST_WAITING); // prettier-ignore
    for (const caller of callers) caller.giveUp();
    tellAll();
    assert.deepEqual(new Set(callers.flatMap(one => one.told)), new Set([487]));
    await eventually(
      'a call that is told its way',
      async () => {
        const next = call();
        await eventually('its answer', () => (tellAll(), next.told.length), length => length > 0); // prettier-ignore
        return next.told;
      },
      told => told[0] === 404,
    );
  });
});
