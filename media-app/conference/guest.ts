import type { Call } from '#contract/call';
import type { Services } from '../services.ts';
import type { Party } from './party.ts';

/** A call that another node holds, in a conference of this one. That node has its leg and puts it into the mixer. */
export class Guest implements Party {
  readonly services: Services;
  readonly node: string;
  readonly flow: Party['flow'];
  readonly #conferenceId: string;
  #call: Call;
  #comes = true;

  constructor(services: Services, node: string, call: Call, conferenceId: string) {
    this.services = services;
    this.node = node;
    this.#call = call;
    this.#conferenceId = conferenceId;
    this.flow = { runner: { holds: () => this.#comes, forwardNow: () => this.putOut() } };
  }

  get id(): string {
    return this.call.id;
  }

  get call(): Call {
    return this.#call;
  }

  /** Its node takes it out of the mixer, or past it when it is not in yet, and says so. */
  putOut(): void {
    const { id: call_id } = this;
    this.services.neighbours.tell(this.node, 'conference.put_out', { conference_id: this.#conferenceId, call_id });
  }

  /** Asks its node how it is. False when that node is gone, and the call with it. */
  async look(): Promise<boolean> {
    const { neighbours } = this.services;
    const name = { conference_id: this.#conferenceId, call_id: this.id };
    try {
      const { there, comes } = await neighbours.ask(this.node, 'conference.look', name);
      this.#comes = comes;
      return there;
    } catch {
      return neighbours.lives(this.node); // it may just not have answered
    }
  }
}
