import { EventEmitter } from 'node:events';
import type { Address } from '#contract/address';
import { PlatformError } from '#contract/errors';
import type { LiveRecord } from '#contract/events';
import type { FlowTemplate } from '#contract/flow';
import { EMPTY_ID, newId } from '#contract/ids';
import { transferMachine } from '#contract/machines/transfer';
import { timestamp } from '#contract/time';
import { newTransfer, publicTransfer, type Transfer, type TransferType } from '#contract/transfer';
import { inlineFlow } from '../activeflow/session.ts';
import type { Bridge } from '../call/bridge.ts';
import { Mailbox } from '../call/mailbox.ts';
import type { CallSession } from '../call/session.ts';
import { LostRecordError } from '../call/state-store.ts';
import type { GroupcallSession } from '../groupcall/session.ts';
import type { Log } from '#process/log';
import type { Services } from '../services.ts';
import { chain, unchain } from './chain.ts';

export interface TransferRequest {
  type: TransferType;
  transferee_addresses: Address[];
  request_id?: string;
  /** Blind, and the transferer stays on the line until it has worked: it gets the conversation back when it has not. */
  returnable?: boolean;
}

interface Parts {
  bridge: Bridge;
  transferer: CallSession;
  /** Run by the new party: into the bridge. */
  flow: FlowTemplate;
  groupcall: GroupcallSession;
  request: TransferRequest;
}

/** The conversation that a call may hand on. Throws PlatformError CALL_STATE_INVALID when it is in none. */
export const conversationOf = (call: CallSession): Bridge => {
  const { bridge } = call;
  if (!bridge || call.call.status !== 'progressing')
    throw new PlatformError('CALL_STATE_INVALID', 'The call is in no conversation that could be transferred.');
  if (bridge.inTransfer)
    throw new PlatformError('CALL_STATE_INVALID', 'The conversation of this call is being transferred already.');
  return bridge;
};

/**
 * Hands the conversation of a call on (voice-and-flows 19): rings the new party, and resolves when that is under way.
 * @throws PlatformError CALL_STATE_INVALID when the call is in no conversation or that is being transferred; why the new
 *   party could not be dialled. Nothing has changed then
 */
export const startTransfer = async (
  services: Services,
  transferer: CallSession,
  request: TransferRequest,
): Promise<TransferSession> => {
  const bridge = conversationOf(transferer);
  const flow = inlineFlow(transferer.call.customer_id, [
    {
      id: newId(),
      next_id: EMPTY_ID,
      type: 'confbridge_join',
      option: { confbridge_id: bridge.id },
      tm_execute: null,
    },
  ]);
  bridge.inTransfer = true;
  if (request.type === 'blind') bridge.keepOpen(true);
  bridge.welcome(flow.id);
  const groupcall = await ring(services, transferer, bridge, flow, request).catch((error: unknown) => {
    release(bridge, flow);
    throw error;
  });
  const session = new TransferSession(services, { bridge, transferer, flow, groupcall, request });
  await session.begin();
  return session;
};

/** The bridge is as it was before the transfer. */
const release = (bridge: Bridge, flow: FlowTemplate): void => {
  bridge.turnAway(flow.id);
  bridge.inTransfer = false;
  bridge.keepOpen(false);
};

const ring = async (
  services: Services,
  { call }: CallSession,
  bridge: Bridge,
  flow: FlowTemplate,
  { transferee_addresses, request_id }: TransferRequest,
): Promise<GroupcallSession> => {
  const { id } = await services.placeGroupcall({
    customer_id: call.customer_id,
    source: call.source,
    destinations: transferee_addresses,
    flow,
    master_call_id: call.master_call_id,
    media_server: bridge.server,
    ring_method: 'ring_all',
    answer_method: 'hangup_others',
    ...(request_id === undefined ? {} : { request_id }),
  });
  const groupcall = services.registry.groupcalls.get(id);
  if (!groupcall) throw new PlatformError('CALL_STATE_INVALID', 'The new party hung up before it could ring.');
  return groupcall;
};

/**
 * One transfer: the table of voice-and-flows 19 as letters of one mailbox. What the media does follows from who is in the
 * bridge and who is set aside there.
 *
 * Emits `ringing` when the new party alerts, and `ended` when the transfer is over: completed or not.
 */
export class TransferSession extends EventEmitter<{ ringing: []; ended: [completed: boolean] }> {
  /** The record as it was made, as clients see it. */
  readonly made: Transfer;
  readonly #services: Services;
  readonly #parts: Parts;
  readonly #log: Log;
  readonly #mailbox: Mailbox;
  readonly #record: LiveRecord<'transfer'>;
  /** Every leg of the first dial, for what they said. */
  readonly legs: CallSession[];
  /** Undefined while it is under way. */
  completed: boolean | undefined;
  /** Calls that were chained to the transferer, and are again when the transfer fails. */
  #unchained: CallSession[] = [];
  #transferee: CallSession | undefined;

  constructor(services: Services, parts: Parts) {
    super();
    const { bridge, transferer, groupcall, request } = parts;
    const record = newTransfer({
      id: newId(),
      customer_id: transferer.call.customer_id,
      type: request.type,
      transferer_call_id: transferer.id,
      transferee_addresses: request.transferee_addresses,
      groupcall_id: groupcall.id,
      confbridge_id: bridge.id,
      tm_create: timestamp(),
    });
    this.made = publicTransfer(record);
    this.legs = groupcall.calls;
    this.#services = services;
    this.#parts = parts;
    this.#log = services.log.child({ transfer_id: record.id, call_id: transferer.id });
    this.#mailbox = new Mailbox(this.#log);
    this.#record = services.store.create('transfer', record);
    services.registry.transfers.set(record.id, this);
  }

  /** Writes the record and does what the request asks of those who are in the bridge. Rejects when it cannot, and is over. */
  async begin(): Promise<void> {
    await this.#letter(async () => {
      this.#log.info({ type: this.made.type, groupcall_id: this.made.groupcall_id }, 'transfer began');
      await this.#commit();
      this.#listen();
      if (this.made.type === 'attended') return this.#askToWait();
      await this.#letGo();
    });
  }

  /** A letter of the mailbox: one that fails ends the transfer, so that nothing keeps it standing. */
  #letter(work: () => Promise<void>): Promise<void> {
    return this.#mailbox.post(async () => {
      if (this.#isOver) return;
      try {
        await work();
      } catch (error) {
        if (!this.#isOver) await this.#fail();
        throw error;
      }
    });
  }

  #drop(what: string, work: () => Promise<void>): void {
    this.#letter(work).catch((error: unknown) => this.#log.error({ what, error: String(error) }, 'a letter failed'));
  }

  /** The new party alerts. */
  get ringing(): boolean {
    return this.legs.some(({ call }) => call.status === 'ringing');
  }

  get #status() {
    return this.#record.data.status;
  }

  /** Whoever is in the bridge beside the transferer and the new party. */
  get #others(): CallSession[] {
    const { bridge, transferer, flow } = this.#parts;
    return bridge.calls.filter(call => call !== transferer && call.call.flow_id !== flow.id);
  }

  /** Attended: everybody else hears music, and the transferer that it rings. */
  async #askToWait(): Promise<void> {
    const { bridge, transferer } = this.#parts;
    await Promise.all([
      bridge.setAside(transferer, 'ringback'),
      ...this.#others.map(call => bridge.setAside(call, 'music')),
    ]);
  }

  /** Blind: everybody else hears ringback, and the transferer is hung up, unless it may get its call back. */
  async #letGo(): Promise<void> {
    const { bridge, transferer, request } = this.#parts;
    await this.#unchain();
    await Promise.all(this.#others.map(call => bridge.setAside(call, 'ringback')));
    if (request.returnable) await bridge.setAside(transferer, 'ringback');
    else void transferer.hangup('normal_clearing');
  }

  #listen(): void {
    const { bridge, transferer, groupcall } = this.#parts;
    bridge.on('joined', this.#onJoined);
    bridge.on('leaved', this.#onLeaved);
    groupcall.once('ended', () => this.#drop('nobody answers', () => this.#fail()));
    for (const { leg } of this.legs) leg.once('ringing', () => this.emit('ringing'));
    // What happened before anybody listened.
    if (groupcall.groupcall.status === 'hangup') this.#drop('nobody answered', () => this.#fail());
    if (!bridge.calls.includes(transferer)) this.#onLeaved(transferer);
    else if (this.#others.length === 0) this.#drop('they left', () => this.#otherLeft());
    for (const call of bridge.calls) this.#onJoined(call);
  }

  readonly #onJoined = (call: CallSession): void => {
    if (call.call.flow_id === this.#parts.flow.id) this.#drop('joined', () => this.#joined(call));
  };

  readonly #onLeaved = (call: CallSession): void => {
    if (call.call.flow_id === this.#parts.flow.id) return; // its groupcall ends
    const left = call === this.#parts.transferer ? () => this.#transfererLeft() : () => this.#otherLeft();
    this.#drop('left', left);
  };

  /** The new party is in the bridge. */
  async #joined(call: CallSession): Promise<void> {
    if (this.#status !== 'calling') return;
    this.#transferee = call;
    const { bridge, transferer } = this.#parts;
    if (this.made.type === 'blind') return this.#complete('connect');
    await this.#unchain();
    await this.#enter('consult');
    await bridge.setAside(transferer, undefined);
    if (!bridge.calls.includes(transferer)) await this.#transfererLeft();
  }

  async #transfererLeft(): Promise<void> {
    if (this.made.type === 'blind') return; // as it should
    if (this.#status === 'consulting' && this.#others.length > 0) await this.#complete('complete');
    else await this.#fail();
  }

  /** The parties that were to be handed on have left: there is nothing to transfer any more. */
  async #otherLeft(): Promise<void> {
    if (this.#others.length > 0) return;
    const { bridge, transferer } = this.#parts;
    const stays = this.made.type === 'attended' && bridge.calls.includes(transferer);
    if (!stays) return this.#fail();
    // In a room the new party is still awaited; and one that is here goes on talking with the transferer.
    if (this.#status !== 'calling') await this.#end('fail', async () => undefined);
  }

  async #complete(event: 'connect' | 'complete'): Promise<void> {
    const { bridge, transferer } = this.#parts;
    const others = this.#others;
    await this.#end(event, async () => {
      await Promise.all(others.map(call => bridge.setAside(call, undefined)));
      if (event === 'connect') void transferer.hangup('normal_clearing');
    });
  }

  /** The new party cannot be had. The original ones talk again with the transferer; without it the bridge is over. */
  async #fail(): Promise<void> {
    const { bridge, transferer, groupcall } = this.#parts;
    await this.#end('fail', async () => {
      void groupcall.hangup('normal_clearing');
      const others = this.#others;
      if (!bridge.calls.includes(transferer)) return others.forEach(call => bridge.kick(call.id)); // a room itself stands
      await this.#chainAgain();
      await Promise.all([transferer, ...others].map(call => bridge.setAside(call, undefined)));
    });
  }

  /** The only way out: the record is final first, and whatever becomes of the rest, the bridge is its own again. */
  async #end(event: 'connect' | 'complete' | 'fail', rest: () => Promise<void>): Promise<void> {
    const completed = event !== 'fail';
    try {
      await this.#enter(event, completed ? this.#transferee?.id : undefined);
      await rest();
    } finally {
      this.#over(completed);
    }
  }

  get #isOver(): boolean {
    return this.completed !== undefined || transferMachine.isFinal(this.#status);
  }

  async #unchain(): Promise<void> {
    const { transferer } = this.#parts;
    for (const call of this.#others) if (await unchain(transferer, call)) this.#unchained.push(call);
  }

  async #chainAgain(): Promise<void> {
    for (const call of this.#unchained) await chain(this.#parts.transferer, call);
    this.#unchained = [];
  }

  #over(completed: boolean): void {
    this.completed = completed;
    const { bridge, flow } = this.#parts;
    bridge.off('joined', this.#onJoined);
    bridge.off('leaved', this.#onLeaved);
    release(bridge, flow);
    this.#services.registry.transfers.delete(this.made.id);
    this.#log.info({ completed }, 'transfer ended');
    this.emit('ended', completed);
  }

  async #enter(event: 'connect' | 'consult' | 'complete' | 'fail', transfereeId?: string): Promise<void> {
    const step = transferMachine.step(this.#status, event);
    if (!step) return;
    const data = { ...this.#record.data, status: step.to, transferee_call_id: transfereeId ?? EMPTY_ID };
    await this.#commit(data, step);
  }

  async #commit(data = this.#record.data, step?: ReturnType<typeof transferMachine.step>): Promise<void> {
    const { request_id = '' } = this.#parts.request;
    try {
      await this.#services.store.commit(this.#record, data, { events: [], request_id, step });
    } catch (error) {
      if (!(error instanceof LostRecordError)) throw error;
      this.#log.error({ error: error.message }, 'another node ended this transfer'); // and its calls, which let go
    }
  }
}
