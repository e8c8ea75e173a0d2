import type { Action } from '#contract/action';
import type { Activeflow } from '#contract/activeflow';
import type { LiveRecord } from '#contract/events';
import { activeflowMachine } from '#contract/machines/activeflow';
import { timestamp } from '#contract/time';
import type { CallPort, FlowPorts } from '#flow/action';
import { createActiveflow, FlowRunner, type NewActiveflow } from '#flow/runner';
import { isSet } from '#contract/ids';
import type { Services } from '../services.ts';
import { StepNotes } from './step-notes.ts';

type Given = Omit<NewActiveflow, 'now' | 'tm_create'> & {
  request_id?: string;
  /** The call that the flow drives, and what it gives to the flow. */
  call?: CallPort;
  callVariables?: Record<string, string>;
  /** Hears of every action the cursor enters. */
  onAction?: (action: Action) => void;
};

/**
 * One activeflow on this node: its record in the state store and the runner that moves its cursor. A call owns one of
 * these; API, on-complete and on-end flows stand alone.
 */
export class ActiveflowSession {
  readonly runner: FlowRunner;
  readonly #record: LiveRecord<'activeflow'>;
  readonly #services: Services;
  readonly #requestId: string;
  readonly #onAction: (action: Action) => void;
  readonly #steps: StepNotes;

  constructor(services: Services, given: Given) {
    const { activeflow, variables } = createActiveflow({ ...given, now: new Date(), tm_create: timestamp() });
    for (const [name, value] of Object.entries(given.callVariables ?? {})) variables.set(name, value);
    this.#services = services;
    this.#requestId = given.request_id ?? '';
    this.#onAction = given.onAction ?? (() => undefined);
    this.#steps = new StepNotes(variables.all());
    this.#record = services.store.create('activeflow', activeflow);
    this.runner = new FlowRunner({
      activeflow,
      variables,
      template: given.template,
      ports: this.#ports(),
      watch: what => this.#steps.done(activeflow.current_action, what),
      log: services.log.child({ activeflow_id: activeflow.id, ...(given.call ? { call_id: given.reference_id } : {}) }),
      ...(given.call ? { call: given.call } : {}),
    });
    services.registry.activeflows.set(activeflow.id, this);
    void this.runner.ended.then(() => services.registry.activeflows.delete(activeflow.id));
  }

  get activeflow(): Activeflow {
    return this.runner.activeflow;
  }

  /** Writes the record and its `activeflow_created`; nothing runs yet (voice-and-flows 4.1). */
  async create(): Promise<void> {
    await this.#commit(this.activeflow, 'activeflow_created', this.runner.variables.all());
  }

  /** Moves the cursor to the end. Never rejects. */
  async run(): Promise<void> {
    await this.runner.run();
  }

  #ports(): FlowPorts {
    const { directory, sendHttp } = this.#services;
    return {
      clock: systemClock,
      flow: (customerId, flowId) => directory.flow(customerId, flowId),
      sendHttp: request => sendHttp(request),
      commit: (activeflow, event, variables) => this.#commit(activeflow, event, variables),
      createCalls: async request => {
        const flow = isSet(request.flow_id) ? await directory.flow(request.customer_id, request.flow_id) : undefined;
        if (isSet(request.flow_id) && !flow) throw new Error(`no flow ${request.flow_id}`);
        return this.#services.placeCalls({
          ...request,
          flow: flow ?? inlineFlow(request.customer_id, request.actions),
        });
      },
      runOnComplete: (ended, variables) => this.#runOnComplete(ended, variables),
    };
  }

  async #commit(
    activeflow: Activeflow,
    event: 'activeflow_created' | 'activeflow_updated',
    variables: Record<string, string>,
  ): Promise<void> {
    if (event === 'activeflow_updated' && activeflow.status === 'running') this.#onAction(activeflow.current_action);
    const step =
      activeflow.status === 'ended' && !this.#record.final ? activeflowMachine.step('running', 'end') : undefined;
    await this.#services.store.commit(this.#record, activeflow, {
      events: [event],
      request_id: this.#requestId,
      internal: { variables },
      notes: this.#steps.take(activeflow, variables),
      step,
    });
  }

  async #runOnComplete(ended: Activeflow, variables: Record<string, string>): Promise<void> {
    const template = await this.#services.directory.flow(ended.customer_id, ended.on_complete_flow_id);
    if (!template)
      return this.#services.log.warn(
        { activeflow_id: ended.id, flow_id: ended.on_complete_flow_id },
        'the on-complete flow is gone',
      );
    const { reference_type, reference_id } = ended;
    const follower = new ActiveflowSession(this.#services, {
      template,
      reference_type,
      reference_id,
      reference_activeflow_id: ended.id,
      parentVariables: variables,
    });
    await follower.create();
    void follower.run();
  }
}

/** A flow that exists only as a list of actions. */
export const inlineFlow = (customerId: string, actions: Activeflow['executed_actions']) => ({
  id: crypto.randomUUID(),
  customer_id: customerId,
  actions,
  on_complete_flow_id: '',
});

const systemClock: FlowPorts['clock'] = {
  now: () => new Date(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        reject(signal.reason as Error);
      };
      const timer = setTimeout(() => {
        signal.removeEventListener('abort', stop);
        resolve();
      }, ms);
      if (signal.aborted) stop();
      else signal.addEventListener('abort', stop, { once: true });
    }),
};
