import { strict as assert } from 'node:assert';
import type { Call } from '#contract/call';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { newTransfer, publicTransfer } from '#contract/transfer';
import { reasonOf, type Answer, type TestApi } from '../support/api.ts';
import { withConsumer, type Consumer } from '../support/consumer.ts';
import { aCall } from './events-rig.ts';

type Json = Record<string, unknown>;
const outcome = (answer: Answer): unknown[] => [answer.status, reasonOf(answer) ?? ''];

describe('POST /transfers (voice-and-flows 19)', () => {
  let api: TestApi;
  let consumer: Consumer;
  withConsumer((...opened) => ([api, consumer] = opened));
  beforeEach(() => {
    consumer.answer = ({ id, customer_id }) => ({ command_id: id, ok: true, result: made(customer_id) });
  });

  const address = { type: 'extension', target: '1003', target_name: '1003', name: '', detail: '' } as const;
  const made = (customer_id: string) =>
    publicTransfer(
      newTransfer({
        ...{ id: newId(), customer_id, type: 'blind', transferer_call_id: newId(), tm_create: timestamp() },
        ...{ transferee_addresses: [address], groupcall_id: newId(), confbridge_id: newId() },
      }),
    );
  const live = async (status: Call['status'], more: Partial<Call> = {}): Promise<string> => {
    const data = aCall(api.welcome.customer_id, { status, ...more });
    await consumer.holds('call', data);
    return data.id;
  };
  const order = (body: Json): Promise<Answer> => api.request('POST', '/v1.0/transfers', body);
  const body = (transferer_call_id: string, more: Json = {}): Json => ({
    ...{ transfer_type: 'blind', transferer_call_id, transferee_addresses: [{ type: 'extension', target: '1003' }] },
    ...more,
  });

  for (const type of ['blind', 'attended'])
    it(`${type} is ordered from the node that holds the call, and answered with the transfer`, async () => {
      const id = await live('progressing');
      const answer = await order(body(id.toUpperCase(), { transfer_type: type }));
      assert.deepEqual(outcome(answer), [200, '']);
      assert.deepEqual(Object.keys(answer.body).sort(), [
        ...['confbridge_id', 'customer_id', 'groupcall_id', 'id', 'tm_create', 'tm_delete', 'tm_update'],
        ...['transferee_addresses', 'transferee_call_id', 'transferer_call_id', 'type'],
      ]);
      const [command] = consumer.taken;
      assert.equal(command?.name, 'transfer.create');
      assert.deepEqual(command.body, {
        ...{ transfer_type: type, transferer_call_id: id },
        transferee_addresses: [{ ...address, target_name: '' }],
      });
    });

  for (const status of ['dialing', 'ringing', 'canceling', 'terminating', 'hangup'] as const)
    it(`a call that is ${status} is in no conversation: 409, and nobody is asked`, async () => {
      assert.deepEqual(outcome(await order(body(await live(status)))), [409, 'CALL_STATE_INVALID']);
      assert.equal(consumer.taken.length, 0);
    });

  it('what the node refuses is told as it is', async () => {
    consumer.answer = ({ id }) => ({ command_id: id, ok: false, reason: 'CALL_STATE_INVALID', message: 'No bridge.' });
    assert.deepEqual(outcome(await order(body(await live('progressing')))), [409, 'CALL_STATE_INVALID']);
  });

  it('another account’s call is not found, nor is one that never was', async () => {
    for (const id of [await live('progressing', { customer_id: newId() }), newId()])
      assert.deepEqual(outcome(await order(body(id))), [404, 'CALL_NOT_FOUND']);
  });

  const wrong: [string, Json][] = [
    ['an unknown type', { transfer_type: 'warm' }],
    ['no type', { transfer_type: undefined }],
    ['no call', { transferer_call_id: undefined }],
    ['no addresses', { transferee_addresses: [] }],
    ['absent addresses', { transferee_addresses: undefined }],
    ['an address of an unknown type', { transferee_addresses: [{ type: 'pigeon', target: 'x' }] }],
    ['an address without target', { transferee_addresses: [{ type: 'extension' }] }],
  ];
  for (const [title, more] of wrong)
    it(`${title} is 400, and nobody is asked`, async () => {
      const answer = await order(body(await live('progressing'), more));
      assert.equal(answer.status, 400, answer.text);
      assert.equal(consumer.taken.length, 0);
    });

  it('telephone numbers need a verified identity', async () => {
    const transferee_addresses = [{ type: 'tel', target: '+15550100' }];
    const answer = await order(body(await live('progressing'), { transferee_addresses }));
    assert.deepEqual(outcome(answer), [403, 'IDENTITY_VERIFICATION_REQUIRED']);
  });

  it('nothing of a transfer can be read', async () => {
    assert.equal((await api.request('GET', '/v1.0/transfers')).status, 404);
    assert.equal((await api.request('GET', `/v1.0/transfers/${newId()}`)).status, 404);
  });
});
