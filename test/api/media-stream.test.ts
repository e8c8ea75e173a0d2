import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { MediaClient, type Refused } from '../support/media-client.ts';
import { eventually } from '../support/eventually.ts';
import { withOffice, type Office } from '../support/office.ts';

interface Envelope {
  error: { reason: string };
}

describe('asking for a media stream', function () {
  this.timeout(60_000);
  let office: Office;

  withOffice(opened => (office = opened));

  const refusal = async (callId: string, encapsulation: string, accesskey?: string): Promise<Refused> => {
    const key = accesskey ?? office.stack.welcome.accesskey;
    const query = new URLSearchParams({ ...(encapsulation ? { encapsulation } : {}), accesskey: key });
    const answer = await MediaClient.open(office.stack, callId, query.toString());
    assert(!(answer instanceof MediaClient), 'it was opened');
    return answer;
  };

  /** The status of a handshake that is right but for its version of the protocol. */
  const oldHandshake = async (callId: string): Promise<number | undefined> => {
    const { baseUrl, welcome } = office.stack;
    const headers = {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      'Sec-WebSocket-Version': '7',
    };
    const path = `${baseUrl}/v1.0/calls/${callId}/media_stream?encapsulation=sln&accesskey=${welcome.accesskey}`;
    const asked = request(path, { headers }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  };

  it('is refused before the upgrade: no credential, no such call, no UUID', async () => {
    assert.deepEqual(await refusal(randomUUID(), 'rtp', 'wrong'), { status: 401, reason: 'INVALID_CREDENTIALS' });
    assert.deepEqual(await refusal(randomUUID(), 'rtp', ''), { status: 401, reason: 'AUTHENTICATION_REQUIRED' });
    assert.deepEqual(await refusal(randomUUID(), 'rtp'), { status: 404, reason: 'CALL_NOT_FOUND' });
    assert.deepEqual(await refusal('1', 'rtp'), { status: 400, reason: 'INVALID_ID' });
  });

  it('is refused while the call rings and after it has ended, and for an encapsulation there is none of', async () => {
    const phone = await office.registered('1001');
    const { id } = await office.ring('1001', [{ type: 'sleep', option: { duration: 60_000 } }]);
    const incoming = await phone.waitForCall();
    assert.deepEqual(await refusal(id, 'rtp'), { status: 409, reason: 'CALL_STATE_INVALID' });
    incoming.answer();
    await office.progressing(id);
    for (const name of ['', 'opus', 'RTP'])
      assert.deepEqual(await refusal(id, name), { status: 400, reason: 'INVALID_ARGUMENT' });
    const { status, body } = await office.stack.api<Envelope>('GET', `/calls/${id}/media_stream?encapsulation=rtp`);
    assert.deepEqual([status, body.error.reason], [400, 'INVALID_ARGUMENT'], 'a request that asks for no upgrade');
    for (let count = 0; count < 5; count++) assert.equal(await oldHandshake(id), 400);
    const query = `encapsulation=sln&accesskey=${office.stack.welcome.accesskey}`;
    const client = await eventually(
      'a place, because the five that failed took none',
      () => MediaClient.open(office.stack, id, query),
      opened => opened instanceof MediaClient,
    );
    assert(client instanceof MediaClient);
    await client.hears(5);
    await incoming.hangup();
    await client.ends();
    await office.ended(id);
    assert.deepEqual(await refusal(id, 'rtp'), { status: 409, reason: 'CALL_STATE_INVALID' });
  });
});
