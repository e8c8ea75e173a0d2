import { strict as assert } from 'node:assert';
import { newConference, type Conference } from '#contract/conference';
import type { Conferencecall } from '#contract/conferencecall';
import { EMPTY_ID, newId } from '#contract/ids';
import { keys } from '#contract/keys';
import { NEVER, timestamp } from '#contract/time';
import { reasonOf, type TestApi } from '../support/api.ts';
import { withConsumer, type Consumer } from '../support/consumer.ts';

type Json = Record<string, unknown>;

describe('conferences over HTTP', () => {
  let api: TestApi;
  let consumer: Consumer;
  withConsumer((...opened) => ([api, consumer] = opened));

  const aConference = (given: Partial<Conference> = {}): Conference => ({
    ...newConference({
      id: newId(),
      customer_id: api.welcome.customer_id,
      type: 'conference',
      name: 'room',
      detail: '',
      data: {},
      timeout: 0,
      pre_flow_id: EMPTY_ID,
      post_flow_id: EMPTY_ID,
      direct_hash: 'direct.0123456789ab',
      tm_create: timestamp(),
    }),
    status: 'progressing',
    ...given,
  });
  const live = async (data: Conference): Promise<Conference> => {
    await consumer.holds('conference', data);
    return data;
  };
  const answers = (result: unknown): void => {
    consumer.answer = ({ id }) => ({ command_id: id, ok: true, result: result as never });
  };
  const order = (): Json => consumer.taken[0]?.body as Json;

  it('only the type is needed; everything else has its empty value and the platform gives id and hash', async () => {
    const room = aConference({ status: 'starting' });
    answers(room);
    const answer = await api.request('POST', '/v1.0/conferences', { type: 'conference' });
    assert.deepEqual([answer.status, answer.body], [200, { ...room }]);
    const { id, direct_hash, ...rest } = order();
    assert.match(String(id), /^[0-9a-f-]{36}$/);
    assert.match(String(direct_hash), /^direct\.[0-9a-f]{12}$/);
    const empty = { name: '', detail: '', data: {}, timeout: 0, pre_flow_id: EMPTY_ID, post_flow_id: EMPTY_ID };
    assert.deepEqual(rest, { type: 'conference', ...empty });
  });

  for (const [given, stored] of [
    [0, 0],
    [1, 86_400],
    [59, 86_400],
    [60, 60],
    [100_000, 100_000],
  ])
    it(`a timeout of ${given} s is stored as ${stored}`, async () => {
      answers(aConference());
      await api.request('POST', '/v1.0/conferences', { type: 'connect', timeout: given });
      assert.equal(order()['timeout'], stored);
    });

  const refused: [string, Json, number, string][] = [
    ['no type', {}, 400, 'INVALID_ARGUMENT'],
    ['the internal type queue', { type: 'queue' }, 400, 'INVALID_ARGUMENT'],
    ['a timeout before now', { type: 'conference', timeout: -1 }, 400, 'INVALID_ARGUMENT'],
    ['an id that is no UUID', { type: 'conference', id: 'x' }, 400, 'INVALID_ARGUMENT'],
    ['an unknown pre-flow', { type: 'conference', pre_flow_id: newId() }, 404, 'FLOW_NOT_FOUND'],
    ['an unknown post-flow', { type: 'conference', post_flow_id: newId() }, 404, 'FLOW_NOT_FOUND'],
    ['more data than fits', { type: 'conference', data: { a: 'x'.repeat(65_536) } }, 400, 'INVALID_ARGUMENT'],
  ];
  for (const [name, body, status, reason] of refused)
    it(`${name} is ${reason}, and nothing is opened`, async () => {
      const answer = await api.request('POST', '/v1.0/conferences', body);
      assert.deepEqual([answer.status, reasonOf(answer)], [status, reason], answer.text);
      assert.equal(consumer.taken.length, 0);
    });

  it("a client's own id is taken once", async () => {
    const { id } = await live(aConference());
    const answer = await api.request('POST', '/v1.0/conferences', { type: 'conference', id });
    assert.deepEqual([answer.status, reasonOf(answer)], [409, 'ALREADY_EXISTS']);
    const own = newId();
    answers(aConference({ id: own }));
    await api.request('POST', '/v1.0/conferences', { type: 'conference', id: own });
    assert.equal(order()['id'], own);
  });

  it('a change goes to the owner and leaves out what the client left out; the type cannot be changed', async () => {
    const room = await live(aConference());
    answers(room);
    const body = { name: 'other', timeout: 5, type: 'connect' };
    assert.equal((await api.request('PUT', `/v1.0/conferences/${room.id}`, body)).status, 200);
    assert.deepEqual(order(), { conference_id: room.id, changes: { name: 'other', timeout: 86_400 } });
    const unknown = await api.request('PUT', `/v1.0/conferences/${room.id}`, { pre_flow_id: newId() });
    assert.equal(reasonOf(unknown), 'FLOW_NOT_FOUND');
  });

  it('a conference that is over cannot be changed', async () => {
    const room = await live(aConference({ status: 'terminated' }));
    const answer = await api.request('PUT', `/v1.0/conferences/${room.id}`, { name: 'late' });
    assert.deepEqual([answer.status, reasonOf(answer)], [409, 'STATE_INVALID']);
  });

  for (const spelling of ['direct-hash-regenerate', 'direct_hash_regenerate'])
    it(`${spelling} orders a new hash`, async () => {
      const room = await live(aConference());
      answers(room);
      assert.equal((await api.request('POST', `/v1.0/conferences/${room.id}/${spelling}`)).status, 200);
      const { direct_hash } = order()['changes'] as Json;
      assert.match(String(direct_hash), /^direct\.[0-9a-f]{12}$/);
      assert.notEqual(direct_hash, room.direct_hash);
    });

  it('deleting is ordered once; deleted, it is shown as it is, and to readers it is gone', async () => {
    const room = await live(aConference());
    answers({ ...room, status: 'terminating', tm_delete: timestamp() });
    const first = await api.request('DELETE', `/v1.0/conferences/${room.id}`);
    assert.deepEqual([first.status, first.body['status'], consumer.taken.length], [200, 'terminating', 1]);
    const deleted = await live({ ...room, status: 'terminating', tm_delete: timestamp() });
    const second = await api.request('DELETE', `/v1.0/conferences/${room.id}`);
    assert.deepEqual([second.body, consumer.taken.length], [{ ...deleted }, 1]);
    const read = await api.request('GET', `/v1.0/conferences/${room.id}`);
    assert.deepEqual([read.status, reasonOf(read)], [404, 'CONFERENCE_NOT_FOUND']);
  });

  it('one that ended by itself is deleted without asking anybody', async () => {
    const room = await live(aConference({ type: 'connect', status: 'terminated', tm_end: timestamp() }));
    const answer = await api.request('DELETE', `/v1.0/conferences/${room.id}`);
    assert.deepEqual([answer.status, consumer.taken.length], [200, 0]);
    assert.notEqual(answer.body['tm_delete'], NEVER);
    assert.equal(reasonOf(await api.request('GET', `/v1.0/conferences/${room.id}`)), 'CONFERENCE_NOT_FOUND');
  });

  it('one of another account is not found, whatever is asked of it', async () => {
    const { id } = await live(aConference({ customer_id: newId() }));
    for (const [method, path, body] of [
      ['GET', ''],
      ['PUT', '', {}],
      ['DELETE', ''],
      ['GET', '/media_stream?encapsulation=sln'],
      ['POST', '/direct-hash-regenerate'],
      ['POST', '/recording_start', {}],
      ['POST', '/recording-start', {}],
      ['POST', '/recording_stop'],
      ['POST', '/recording-stop'],
      ['POST', '/transcribe_start', { language: 'en-US' }],
      ['POST', '/transcribe_stop'],
    ] as const) {
      const answer = await api.request(method, `/v1.0/conferences/${id}${path}`, body);
      assert.deepEqual([answer.status, reasonOf(answer)], [404, 'CONFERENCE_NOT_FOUND'], `${method} ${path}`);
    }
    assert.equal(consumer.taken.length, 0);
  });

  describe('recording and transcription', () => {
    const start = (id: string, body: Json = {}, spelling = '_') =>
      api.request('POST', `/v1.0/conferences/${id}/recording${spelling}start`, body);
    const noLimits = { format: 'wav', end_of_silence: 0, end_of_key: '', duration: 0, on_end_flow_id: EMPTY_ID };

    for (const spelling of ['_', '-'])
      it(`recording${spelling}start and recording${spelling}stop are ordered from the node that holds the room`, async () => {
        const room = await live(aConference());
        const recording_id = newId();
        answers({ ...room, recording_id, recording_ids: [recording_id] });
        const started = await start(room.id, { end_of_key: '#', end_of_silence: 5 }, spelling);
        assert.deepEqual([started.status, started.body['recording_id']], [200, recording_id]);
        assert.deepEqual(order(), { ...noLimits, end_of_key: '#', end_of_silence: 5, conference_id: room.id });
        consumer.taken.length = 0;
        answers({ ...room, recording_ids: [recording_id] });
        const stopped = await api.request('POST', `/v1.0/conferences/${room.id}/recording${spelling}stop`);
        assert.deepEqual([stopped.status, stopped.body['recording_id']], [200, EMPTY_ID]);
        assert.deepEqual(order(), { conference_id: room.id });
      });

    for (const [given, ordered] of [
      [0, 0],
      [1, 1],
      [86_400, 86_400],
      [86_401, 86_400],
    ])
      it(`a recording of ${given} s lasts ${ordered ? `${ordered} s` : 'until it is stopped'}`, async () => {
        const room = await live(aConference());
        answers(room);
        assert.equal((await start(room.id, { duration: given })).status, 200);
        assert.deepEqual(order(), { ...noLimits, duration: ordered, conference_id: room.id });
      });

    const refusals: [string, Partial<Conference>, string, Json | undefined, number, string][] = [
      ['a format there is none of', {}, 'recording_start', { format: 'mp3' }, 400, 'INVALID_ARGUMENT'],
      ['a duration before now', {}, 'recording_start', { duration: -1 }, 400, 'INVALID_ARGUMENT'],
      ['a key there is none of', {}, 'recording_start', { end_of_key: '##' }, 400, 'INVALID_ARGUMENT'],
      ['an unknown on-end flow', {}, 'recording_start', { on_end_flow_id: newId() }, 404, 'FLOW_NOT_FOUND'],
      ['a room that is over', { status: 'terminated' }, 'recording_start', {}, 409, 'STATE_INVALID'],
      [
        'no recording of a room that is over',
        { status: 'terminated' },
        'recording_stop',
        undefined,
        409,
        'RECORDING_NOT_ACTIVE',
      ],
      ['no language', {}, 'transcribe_start', {}, 400, 'INVALID_ARGUMENT'],
      ['an empty language', {}, 'transcribe_start', { language: ' ' }, 400, 'INVALID_ARGUMENT'],
      [
        'a room that is ending',
        { status: 'terminating' },
        'transcribe_start',
        { language: 'en-US' },
        409,
        'STATE_INVALID',
      ],
      [
        'a room that is over',
        { status: 'terminated' },
        'transcribe_start',
        { language: 'en-US' },
        409,
        'STATE_INVALID',
      ],
      ['no speech engine', {}, 'transcribe_start', { language: 'en-US' }, 503, 'STT_NOT_CONFIGURED'],
      ['no transcription', {}, 'transcribe_stop', undefined, 409, 'STATE_INVALID'],
    ];
    for (const [what, given, action, body, status, reason] of refusals)
      it(`${action} for ${what} is ${reason}, and nobody is asked`, async () => {
        const room = await live(aConference(given));
        const answer = await api.request('POST', `/v1.0/conferences/${room.id}/${action}`, body);
        assert.deepEqual([answer.status, reasonOf(answer), consumer.taken.length], [status, reason, 0], answer.text);
        const { body: shown } = await api.request('GET', `/v1.0/conferences/${room.id}`);
        assert.deepEqual(
          [shown['recording_id'], shown['recording_ids'], shown['transcribe_id'], shown['transcribe_ids']],
          [EMPTY_ID, [], EMPTY_ID, []],
        );
      });
  });

  it('both public types are listed, deleted ones are not', async () => {
    const rooms = [aConference(), aConference({ type: 'connect' }), aConference({ tm_delete: timestamp() })];
    for (const data of rooms) {
      const { id, customer_id } = data;
      const entry = { kind: 'conference', id, version: 1, customer_id, data, events: [], request_id: '' };
      await consumer.redis.xadd(keys.stream, '*', 'entry', JSON.stringify(entry));
    }
    const list = await api.request('GET', '/v1.0/conferences');
    const ids = (list.body['result'] as Json[]).map(one => one['id']);
    assert.deepEqual(ids, [rooms[1]?.id, rooms[0]?.id]);
  });

  describe('conferencecalls', () => {
    const aParticipant = (given: Partial<Conferencecall> = {}): Conferencecall => ({
      id: newId(),
      customer_id: api.welcome.customer_id,
      activeflow_id: newId(),
      conference_id: newId(),
      reference_type: 'call',
      reference_id: newId(),
      status: 'joined',
      tm_create: timestamp(),
      tm_update: NEVER,
      tm_delete: NEVER,
      ...given,
    });
    const held = async (data: Conferencecall): Promise<Conferencecall> => {
      const kind = 'conferencecall';
      await consumer.holds(kind, data);
      const { id, customer_id } = data;
      const entry = { kind, id, version: 1, customer_id, data, events: [], request_id: '' };
      await consumer.redis.xadd(keys.stream, '*', 'entry', JSON.stringify(entry));
      return data;
    };

    it('are listed by conference, call and status', async () => {
      const conference_id = newId();
      const joined = await held(aParticipant({ conference_id }));
      const left = await held(aParticipant({ conference_id, status: 'leaved' }));
      await held(aParticipant());
      const ids = async (query: string): Promise<unknown[]> => {
        const { status, body, text } = await api.request('GET', `/v1.0/conferencecalls?${query}`);
        assert.equal(status, 200, text);
        return (body['result'] as Json[]).map(one => one['id']);
      };
      assert.deepEqual(await ids(`conference_id=${conference_id}`), [left.id, joined.id]);
      assert.deepEqual(await ids(`conference_id=${conference_id}&status=joined`), [joined.id]);
      assert.deepEqual(await ids(`reference_id=${left.reference_id}`), [left.id]);
      assert.deepEqual(await ids(`reference_id=${left.reference_id}&status=joined`), []);
      const bad = await api.request('GET', '/v1.0/conferencecalls?status=dancing');
      assert.deepEqual([bad.status, reasonOf(bad)], [400, 'INVALID_REQUEST_PARAMETER']);
    });

    it('that have joined are put out by the node that holds them', async () => {
      const one = await held(aParticipant());
      answers({ ...one, status: 'leaving' });
      const answer = await api.request('DELETE', `/v1.0/conferencecalls/${one.id}`);
      assert.deepEqual([answer.status, answer.body['status']], [200, 'leaving']);
      assert.deepEqual(order(), { conferencecall_id: one.id, conference_id: one.conference_id });
    });

    for (const status of ['leaving', 'leaved'] as const)
      it(`that are ${status} are shown unchanged, and nobody is asked`, async () => {
        const one = await held(aParticipant({ status }));
        const answer = await api.request('DELETE', `/v1.0/conferencecalls/${one.id}`);
        assert.deepEqual([answer.status, answer.body, consumer.taken.length], [200, { ...one }, 0]);
        assert.equal((await api.request('GET', `/v1.0/conferencecalls/${one.id}`)).status, 200);
      });

    it('of another account, or of none, are not found', async () => {
      const foreign = await held(aParticipant({ customer_id: newId() }));
      for (const id of [foreign.id, newId()])
        for (const method of ['GET', 'DELETE']) {
          const answer = await api.request(method, `/v1.0/conferencecalls/${id}`);
          assert.deepEqual([answer.status, reasonOf(answer)], [404, 'CONFERENCECALL_NOT_FOUND']);
        }
    });
  });
});
