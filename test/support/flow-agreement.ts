import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { WebSocketServer } from 'ws';
import type { Activeflow } from '#contract/activeflow';
import type { Call } from '#contract/call';
import type { LiveRecord } from '#contract/events';
import type { Conferencecall } from '#contract/conferencecall';
import type { FlowTemplate } from '#contract/flow';
import { keys } from '#contract/keys';
import type { Simulation } from '#flow/simulator/result';
import { type Act, type FlowPlan, type KnownWorld, planOf, QUIET_MOMENT_MS } from './flow-plan.ts';
import { eventually } from './eventually.ts';
import { Office } from './office.ts';
import type { PhoneCall } from './phone-call.ts';
import { TestPhone } from './phone.ts';
import { DRAWN_IDS, type DrawnFlow, idOf, type Surroundings } from './random-flow.ts';
import { Rooms } from './rooms.ts';
import type { Stack } from './stack.ts';

/** How long the far end of a connect talks, and how often a flow is looked at. Milliseconds. */
const TALK_MS = 250;
const CONFERENCE_MS = 400;
const LOOK_MS = 40;
/** Longer flows are not drawn: real calls take real time. */
const LONGEST_MS = 9000;

const jump = (name: string) => ({ type: 'goto', option: { target_id: idOf(name), loop_count: 1 } });
const mark = (value: string) => ({ type: 'variable_set', option: { key: 'm', value } });

/** What the web server of the drawn flows answers, by path. */
const PAGES: Record<string, { status: number; body: string }> = {
  '/answer': { status: 200, body: '[{"type":"answer"}]' },
  '/jump': { status: 200, body: JSON.stringify([mark('j'), jump('b')]) },
  '/nothing': { status: 200, body: '[]' },
  '/broken': { status: 200, body: '{' },
  '/gone': { status: 404, body: '[]' },
};

/** What one run of a flow came to: its actions in order, and the variables that do not differ from run to run. */
interface Outcome {
  path: string[];
  variables: Record<string, string>;
}

/** Ids that are made at run time differ from run to run. */
const short = ({ type, id }: { type: string; id: string }): string =>
  `${type} ${DRAWN_IDS.has(id) ? id.slice(-1) : 'made'}`;

const KEPT = /^(?!svc\.)|^svc\.call\.(digits|amd_)/;
const kept = (variables: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(variables)
      .filter(([name]) => KEPT.test(name) && name !== 'svc.call.amd_confidence')
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );

/**
 * Runs drawn flows on real calls, with phones, a web server and a party that acts in the quiet moments, and compares
 * what they did with what the simulator says they do.
 */
export class FlowAgreement {
  readonly #office: Office;
  readonly #redis: Redis;
  readonly #phones: TestPhone[] = [];
  #web: Server | undefined;
  #room = '';
  #party: TestPhone | undefined;
  #world: KnownWorld | undefined;
  #surroundings: Surroundings | undefined;
  #watch: NodeJS.Timeout | undefined;
  #calls = 0;

  constructor(stack: Stack) {
    this.#office = new Office(stack);
    this.#redis = new Redis(stack.redisUrl);
  }

  /** Starts phones and web server, and stores the flows that others fetch. */
  async start(): Promise<void> {
    const [busy, declining, talking] = [
      await this.#far({ refuse: 486 }),
      await this.#far({ refuse: 603 }),
      await this.#far({ autoAnswer: true }),
    ];
    this.#hangUpSoon(talking);
    this.#party = await this.#office.registered('1001', { tone: 500, incoming: { autoAnswer: true } });
    const urls = await this.#serve();
    const stored = [await this.#store([mark('f')]), await this.#store([mark('g'), jump('a')]), await this.#store([])];
    const last = await this.#store([{ type: 'variable_set', option: { key: 'k', value: '${m}z' } }, { type: 'stop' }]);
    const follower = await this.#store([mark('h'), { type: 'beep' }, mark('${m}i')], last.id);
    this.#room = (await new Rooms(this.#office).open()).id;
    const [first = ''] = urls.keys();
    this.#surroundings = {
      urls: [...urls.keys(), ''],
      destinations: [
        ...[busy, declining, talking].map(({ address }) => ({ type: 'sip' as const, target: address })),
        { type: 'extension', target: '9999' },
      ],
      flow_ids: stored.map(({ id }) => id),
      conference_id: this.#room,
      media_urls: [`ws${new URL(first).origin.slice('http'.length)}/media`, 'ws://127.0.0.1:9/'],
      source: '+899111222333',
    };
    this.#world = {
      customer_id: this.#office.stack.welcome.customer_id,
      answers: urls,
      destinations: {
        [busy.address]: { result: 'busy', after_ms: 30 },
        [declining.address]: { result: 'noanswer', after_ms: 31 },
        [talking.address]: { result: 'answered', after_ms: 60, talk_ms: TALK_MS },
        '9999': { result: 'refused' },
      },
      flows: new Map([...stored, last, follower].map(flow => [flow.id, flow])),
      follower_id: follower.id,
      conference_ms: CONFERENCE_MS,
    };
  }

  /** What drawn flows may refer to. Start first. */
  get surroundings(): Surroundings {
    assert(this.#surroundings);
    return this.#surroundings;
  }

  /** Plans a drawn flow; undefined when it would take too long on a real call. */
  async plan(flow: DrawnFlow): Promise<FlowPlan | undefined> {
    assert(this.#world);
    const plan = await planOf(this.#world, flow);
    return plan.simulation.ended.at_ms <= LONGEST_MS ? plan : undefined;
  }

  /** Runs the flow on a call and in the simulator of the API; undefined when both agree, else how they differ. */
  async difference(plan: FlowPlan): Promise<{ real: Outcome; simulated: Outcome } | undefined> {
    const { actions, followed } = plan;
    const flow = followed ? { flow_id: (await this.#store(actions, this.#world?.follower_id)).id } : { actions };
    const [real, simulated] = [await this.#real(plan, flow), await this.#simulated(plan, flow)];
    return JSON.stringify(real) === JSON.stringify(simulated) ? undefined : { real, simulated };
  }

  /** Fails when a flow left anything behind. */
  async close(): Promise<void> {
    await new Rooms(this.#office).close(this.#room);
    await this.#office.close();
    clearInterval(this.#watch);
    for (const phone of this.#phones) await phone.stop({ hangup: true });
    await this.#office.nothingLeft(20_000);
    this.#redis.disconnect();
    this.#web?.closeAllConnections();
    this.#web?.close();
  }

  async #simulated({ script }: FlowPlan, flow: object): Promise<Outcome> {
    const given = { ...flow, script };
    const { status, body } = await this.#office.stack.api<Simulation>('POST', '/activeflows/simulate', given);
    assert.equal(status, 200, JSON.stringify(body));
    return { path: body.trace.map(step => short(step.action)), variables: kept(body.variables) };
  }

  async #real({ acts, simulation }: FlowPlan, flow: object): Promise<Outcome> {
    const from = `+8990${String((this.#calls += 1)).padStart(8, '0')}`;
    const { id, activeflow_id } = await this.#ring(from, flow);
    for (const act of acts)
      if (await this.#cameTo(activeflow_id, act.step)) await this.#act(act, from, id, activeflow_id);
    const flows = await eventually(
      `the end of the flows of call ${id}`,
      () => this.#activeflowsOf(id),
      all => all.length === 1 + simulation.on_complete.length && all.every(({ status }) => status === 'ended'),
      60_000,
    );
    const record = await this.#redis.get(keys.live('activeflow', flows.at(-1)?.id ?? ''));
    const { internal } = JSON.parse(record ?? '{}') as LiveRecord;
    const actions = flows.flatMap(({ executed_actions, current_action }) => [...executed_actions, current_action]);
    const path = actions.filter(({ type }) => type !== '').map(short);
    return { path, variables: kept(internal['variables'] as Record<string, string>) };
  }

  /** The call's own activeflow and those that followed it, in this order. */
  async #activeflowsOf(callId: string): Promise<Activeflow[]> {
    const { body } = await this.#office.stack.api<{ result: Activeflow[] }>(
      'GET',
      `/activeflows?reference_id=${callId}`,
    );
    return body.result.reverse();
  }

  async #ring(from: string, flow: object): Promise<Call> {
    const { status, body } = await this.#office.stack.api<{ calls: Call[] }>('POST', '/calls', {
      source: { type: 'tel', target: from },
      destinations: [{ type: 'extension', target: '1001', target_name: '1001' }],
      ...flow,
    });
    const [call] = body.calls;
    assert(status === 200 && call, JSON.stringify(body));
    return call;
  }

  /** Waits until the cursor stands at a step; false when the flow was over before, or is past it. */
  async #cameTo(id: string, step: number): Promise<boolean> {
    for (;;) {
      const { status, executed_actions } = await this.#activeflow(id);
      if (status === 'ended' || executed_actions.length > step + 1) return false;
      if (executed_actions.length === step + 1) return true;
      await new Promise(resolve => setTimeout(resolve, LOOK_MS));
    }
  }

  async #act(act: Act, from: string, callId: string, activeflowId: string): Promise<void> {
    if (act.do === 'leave') return this.#leaveRoom(callId);
    if (act.do === 'continue') {
      const { current_action } = await this.#activeflow(activeflowId);
      const order = { current_action_id: current_action.id };
      await this.#office.stack.api('POST', `/activeflows/${activeflowId}/continue`, order);
      return;
    }
    await new Promise(resolve => setTimeout(resolve, QUIET_MOMENT_MS / 2));
    const call = this.#callFrom(from);
    if (act.do === 'hangup') await call.hangup();
    else await call.press(act.key);
  }

  /** Puts the call out of the room once it is in. */
  async #leaveRoom(callId: string): Promise<void> {
    const { stack } = this.#office;
    const path = `/conferencecalls?reference_id=${callId}&status=joined`;
    const [joined] = await eventually(
      `call ${callId} in the room`,
      async () => (await stack.api<{ result: Conferencecall[] }>('GET', path)).body.result,
      found => found.length > 0,
    );
    await stack.api('DELETE', `/conferencecalls/${joined?.id}`);
  }

  #callFrom(from: string): PhoneCall {
    const call = this.#party?.calls.find(one => one.caller.uri.includes(from.slice(1)));
    assert(call, `no call from ${from}`);
    return call;
  }

  async #activeflow(id: string): Promise<Activeflow> {
    return (await this.#office.stack.api<Activeflow>('GET', `/activeflows/${id}`)).body;
  }

  async #far(incoming: TestPhone['incoming']): Promise<TestPhone> {
    const phone = await TestPhone.start({ username: `far${this.#phones.length}`, incoming });
    this.#phones.push(phone);
    return phone;
  }

  /** Whoever is answered by this phone is hung up a moment later. */
  #hangUpSoon(phone: TestPhone): void {
    const seen = new Set<PhoneCall>();
    const look = (): void => {
      for (const call of phone.calls.filter(one => !seen.has(one))) {
        seen.add(call);
        setTimeout(() => void call.hangup().catch(() => undefined), TALK_MS); // it may have been hung up meanwhile
      }
    };
    this.#watch = setInterval(look, LOOK_MS / 2);
  }

  /** The web server's answers by URL. */
  async #serve(): Promise<Map<string, { status: number; body: string }>> {
    this.#web = createServer((request, response) => {
      const { status, body } = PAGES[request.url ?? ''] ?? { status: 500, body: '' };
      response.writeHead(status).end(body);
    }).listen(0, '127.0.0.1');
    new WebSocketServer({ server: this.#web }); // external media is heard by nobody there
    await once(this.#web, 'listening');
    const base = `http://127.0.0.1:${(this.#web.address() as AddressInfo).port}`;
    return new Map(Object.entries(PAGES).map(([path, page]) => [`${base}${path}`, page]));
  }

  async #store(actions: unknown[], on_complete_flow_id?: string): Promise<FlowTemplate> {
    const flow = { name: 'part', actions, ...(on_complete_flow_id ? { on_complete_flow_id } : {}) };
    const { status, body } = await this.#office.stack.api<FlowTemplate>('POST', '/flows', flow);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }
}
