import { strict as assert } from 'node:assert';
import { EMPTY_ID, isId } from '#contract/ids';
import { action, CUSTOMER, id, World, type WorldOptions } from '../world.ts';

const bob = { type: 'extension', target: '1002' };

describe('hangup', () => {
  const cases: [Record<string, unknown>, string][] = [
    [{}, 'hangup normal'],
    [{ reason: 'busy' }, 'hangup busy'],
    [{ reason: 'busy', reference_id: id('other') }, `hangup busy ${id('other')}`],
    [{ reference_id: 'nonsense' }, 'hangup normal'],
  ];
  for (const [option, heard] of cases)
    it(`${JSON.stringify(option)} ends call and flow`, async () => {
      const world = await new World({ actions: [action('h', 'hangup', option), action('b', 'beep')] }).run();
      assert.deepEqual([world.heard, world.path], [[heard], ['start', 'hangup', 'finish']]);
    });
});

describe('connect', () => {
  it('asks the call to bridge, waits for the end and goes on', async () => {
    const option = { destinations: [bob], early_media: true, anonymous: '' };
    const world = await new World({ actions: [action('c', 'connect', option), action('b', 'beep')] }).run();
    assert.deepEqual(world.connected, [
      {
        source: undefined,
        destinations: [{ ...bob, target_name: '', name: '', detail: '' }],
        early_media: true,
        relay_reason: false,
        anonymous: 'auto',
      },
    ]);
    assert.deepEqual([world.heard.slice(0, 2), world.clock.elapsed], [['connect', 'beep'], 5200]);
  });

  it('that released the call with its far end is the last action', async () => {
    const connect = action('c', 'connect', { destinations: [bob], relay_reason: true });
    const world = await new World({ actions: [connect, action('b', 'beep')] }).run();
    assert.deepEqual(world.path, ['start', 'connect', 'finish']);
  });

  it('that fails stops the flow', async () => {
    const world = await new World({
      actions: [action('c', 'connect', { destinations: [bob] })],
      broken: ['connect'],
    }).run();
    assert.deepEqual(world.path, ['start', 'connect']);
  });
});

describe('conference_join', () => {
  const join = action('j', 'conference_join', { conference_id: id('room') });

  it('enters the bridge under the id of the participant and goes on when the call has left', async () => {
    const world = await new World({ actions: [join, action('b', 'beep')] }).run();
    const { confbridge_id, conferencecall_id } = world.conference;
    assert.deepEqual(world.heard.slice(0, 3), [`conference ${id('room')}`, `confbridge ${confbridge_id}`, 'beep']);
    assert.deepEqual(world.path, ['start', 'conference_join', 'confbridge_join', 'beep', 'finish']);
    assert.equal(world.runner.activeflow.executed_actions[2]?.id, conferencecall_id);
  });

  it('runs the pre-flow of the conference before it enters', async () => {
    const world = new World({ actions: [join], flows: { [id('pre')]: [action('b', 'beep')] } });
    world.conference.pre_flow_id = id('pre');
    await world.run();
    assert.deepEqual(world.path, ['start', 'conference_join', 'fetch_flow', 'beep', 'confbridge_join', 'finish']);
  });

  it('is left in the middle of the pre-flow when the participant is put out', async () => {
    const world = new World({
      actions: [join, action('e', 'beep')],
      flows: { [id('pre')]: [action('s', 'sleep', { duration: 60_000 })] },
    });
    world.conference.pre_flow_id = id('pre');
    const stack = world.conference.conferencecall_id;
    await world.begin();
    assert.equal(world.runner.holds(stack), true);
    world.runner.forwardNow(stack, stack);
    await world.run();
    assert.deepEqual(world.path.slice(-3), ['confbridge_join', 'beep', 'finish']);
    assert.equal(world.runner.holds(stack), false);
    assert.ok(world.clock.elapsed < 60_000);
  });

  for (const broken of ['joinConference', 'joinConfbridge'] as const)
    it(`${broken === 'joinConference' ? 'refused, the flow stops' : 'refused at the bridge, the flow goes on'}`, async () => {
      const world = await new World({ actions: [join, action('b', 'beep')], broken: [broken] }).run();
      assert.equal(world.heard.includes('beep'), broken === 'joinConfbridge');
    });

  it('without the id of a conference stops the flow and asks nobody', async () => {
    const world = await new World({ actions: [action('j', 'conference_join'), action('b', 'beep')] }).run();
    assert.deepEqual(world.path, ['start', 'conference_join']);
  });
});

describe('call', () => {
  const request = async (option: Record<string, unknown>, more: WorldOptions = {}) =>
    (await new World({ ...more, actions: [action('c', 'call', { destinations: [bob], ...option })] }).run()).created[0];

  it('starts a call with inline actions, which get their ids now', async () => {
    const created = await request(
      { actions: [{ type: 'talk', option: { text: '${name}' } }] },
      { variables: { name: 'Ann' } },
    );
    assert.equal(created?.customer_id, CUSTOMER);
    assert.equal(created?.flow_id, EMPTY_ID);
    assert.deepEqual(created?.actions[0]?.option, { text: 'Ann' });
    assert.ok(isId(created?.actions[0]?.id ?? ''));
  });

  it('prefers a flow to inline actions', async () => {
    const created = await request({ flow_id: id('flow'), actions: [{ type: 'nonsense' }] });
    assert.deepEqual([created?.flow_id, created?.actions], [id('flow'), []]);
  });

  it('calls from our side of the present call when no source is given', async () => {
    assert.equal((await request({}))?.source.target, '+899123456789');
    assert.equal((await request({}, { direction: 'outgoing' }))?.source.target, '+15550001');
  });

  it('is chained to the present call only when asked to', async () => {
    assert.equal((await request({}))?.master_call_id, EMPTY_ID);
    assert.notEqual((await request({ chained: true }))?.master_call_id, EMPTY_ID);
    const source = { type: 'tel', target: '+1' };
    assert.equal((await request({ chained: true, source }, { reference: 'api' }))?.master_call_id, EMPTY_ID);
  });

  it('with inline actions of an unknown type stops the flow', async () => {
    const option = { destinations: [bob], actions: [{ type: 'nonsense' }] };
    const world = await new World({ actions: [action('c', 'call', option), action('b', 'beep')] }).run();
    assert.deepEqual([world.path, world.created], [['start', 'call'], []]);
  });

  it('without a source and without a call stops the flow', async () => {
    const world = await new World({ actions: [action('c', 'call', { destinations: [bob] })], reference: 'api' }).run();
    assert.deepEqual([world.created, world.warnings.length], [[], 1]);
  });
});

describe('fetch_flow', () => {
  for (const flow_id of ['', 'nonsense', EMPTY_ID, id('absent')])
    it(`stops the flow for ${flow_id || 'no id'}`, async () => {
      const world = await new World({ actions: [action('f', 'fetch_flow', { flow_id }), action('b', 'beep')] }).run();
      assert.deepEqual(world.path, ['start', 'fetch_flow']);
    });
});

describe('fetch', () => {
  const asked = (option: Record<string, unknown> = {}) =>
    action('f', 'fetch', { event_url: 'https://example.test/${n}', ...option });
  const run = (http: (number | string | Error)[], option: Record<string, unknown> = {}) =>
    new World({ actions: [asked(option), action('b', 'beep')], variables: { n: '1' }, http }).run();

  it('asks with the ids of the flow and runs the actions of the answer before it goes on', async () => {
    const world = await run(['[{"type":"answer"},{"type":"talk","option":{"text":"hi ${n}"}}]']);
    assert.deepEqual(world.path, ['start', 'fetch', 'answer', 'talk', 'beep', 'finish']);
    const [request] = world.requests;
    const { id: activeflow_id, reference_id } = world.runner.activeflow;
    assert.deepEqual([request?.method, request?.uri], ['POST', 'https://example.test/1']);
    assert.equal(request?.data_type, 'application/json; charset=utf-8');
    assert.deepEqual(JSON.parse(request?.data ?? ''), { activeflow_id, reference_id });
    assert.ok(world.runner.activeflow.executed_actions.every(one => isId(one.id)));
  });

  it('uses the method it is told', async () => {
    assert.equal((await run(['[]'], { event_method: 'GET' })).requests[0]?.method, 'GET');
  });

  it('goes on when the answer has no actions', async () => {
    assert.deepEqual((await run(['[]'])).path, ['start', 'fetch', 'beep', 'finish']);
  });

  const failures: [string, number | string | Error, Record<string, unknown>][] = [
    ['another status than 200', 204, {}],
    ['a server that is away', new Error('refused'), {}],
    ['an answer that is no JSON', '<html>', {}],
    ['an answer that is no array', '{"actions":[]}', {}],
    ['an unknown action type', '[{"type":"nonsense"}]', {}],
    ['an address that is not http', '[]', { event_url: 'file:///etc/passwd' }],
    ['no address', '[]', { event_url: '' }],
    ['an unknown method', '[]', { event_method: 'PATCH' }],
  ];
  for (const [title, answer, option] of failures)
    it(`stops the flow for ${title}`, async () => {
      assert.deepEqual((await run([answer], option)).path, ['start', 'fetch']);
    });
});

describe('webhook_send', () => {
  const send = (option: Record<string, unknown> = {}) =>
    action('w', 'webhook_send', {
      uri: 'https://example.test/in',
      method: 'PUT',
      data_type: 'text/plain',
      data: 'n=${n}',
      ...option,
    });
  const run = async (http: (number | Error)[], option: Record<string, unknown> = {}) =>
    new World({ actions: [send(option)], reference: 'api', variables: { n: '1' }, http }).run();

  it('sends what the author wrote', async () => {
    const [request] = (await run([200], { sync: true })).requests;
    const { signal, ...rest } = request ?? {};
    assert.ok(signal);
    assert.deepEqual(rest, {
      uri: 'https://example.test/in',
      method: 'PUT',
      data_type: 'text/plain',
      data: 'n=1',
      customer_id: CUSTOMER,
      timeout_ms: 30_000,
    });
  });

  const cases: [string, (number | Error)[], number, number][] = [
    ['is delivered at the first answer', [200], 1, 0],
    ['takes a refusal by the receiver as delivered', [404], 1, 0],
    ['tries again after a server error', [503, 200], 2, 1000],
    ['tries again after a transport error', [new Error('refused'), 200], 2, 1000],
    ['gives up after three attempts', [500], 3, 2000],
  ];
  for (const [title, http, attempts, ms] of cases)
    it(`${title}, and a synchronous one waits for it`, async () => {
      const world = await run(http, { sync: true });
      assert.deepEqual([world.requests.length, world.clock.elapsed], [attempts, ms]);
      assert.equal(world.path.at(-1), 'finish');
    });

  it('in the background outlives the flow', async () => {
    const world = await run([500]);
    assert.equal(world.clock.elapsed, 0);
    while (world.clock.advance()) await world.settle();
    assert.deepEqual([world.requests.length, world.requests[0]?.signal.aborted], [3, false]);
  });

  it('that is waited for ends with the flow', async () => {
    const world = await new World({ actions: [send({ sync: true })], reference: 'api', http: [500] }).begin();
    await world.runner.stop();
    await world.settle();
    assert.deepEqual([world.requests.length, world.clock.waiting], [1, 0]);
  });
});
