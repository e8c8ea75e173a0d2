import { strict as assert } from 'node:assert';
import type { Conference } from '#contract/conference';
import type { Conferencecall } from '#contract/conferencecall';
import { eventually } from './eventually.ts';
import { withOffice, type Office } from './office.ts';
import type { PhoneCall } from './phone-call.ts';
import type { ApiAnswer } from './stack.ts';

/** The action that plays a tone. */
export const tone = (hz: number, ms = 1500) => ({
  type: 'play',
  option: { stream_urls: [`tone_stream://%(${ms},0,${hz})`] },
});

/** Gives each test of a describe a new office with its conferences, as `withOffice` does. */
export const withRooms = (opened: (office: Office, rooms: Rooms) => void): void =>
  withOffice(office => opened(office, new Rooms(office)));

/** The conferences of an office, and the ways into them. */
export class Rooms {
  readonly #office: Office;

  constructor(office: Office) {
    this.#office = office;
  }

  /** Opens a conference, of type conference when nothing else is given. */
  async open(given: Record<string, unknown> = {}): Promise<Conference> {
    return this.#conference('POST', '/conferences', { type: 'conference', ...given });
  }

  close(id: string): Promise<Conference> {
    return this.#conference('DELETE', `/conferences/${id}`);
  }

  see(id: string): Promise<Conference> {
    return this.#conference('GET', `/conferences/${id}`);
  }

  /** A deleted conference once everybody is out. */
  closed(id: string): Promise<Conference> {
    return eventually(
      'the end of the conference',
      () => this.close(id),
      one => one.status === 'terminated' && one.conferencecall_ids.length === 0,
    );
  }

  /** Starts or stops the recording, in either spelling. */
  recording(what: 'start' | 'stop', id: string, options = {}, spelling = '_'): Promise<ApiAnswer<Conference>> {
    const path = `/conferences/${id}/recording${spelling}${what}`;
    return this.#office.stack.api<Conference>('POST', path, what === 'start' ? options : undefined);
  }

  async participants(query: string): Promise<Conferencecall[]> {
    const { stack } = this.#office;
    const { status, body } = await stack.api<{ result: Conferencecall[] }>('GET', `/conferencecalls?${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body.result;
  }

  inState(id: string, status: Conferencecall['status'], count: number): Promise<Conferencecall[]> {
    return eventually(
      `${count} ${status}`,
      () => this.participants(`conference_id=${id}&status=${status}`),
      list => list.length === count,
    );
  }

  async kick(id: string): Promise<Conferencecall> {
    const { status, body } = await this.#office.stack.api<Conferencecall>('DELETE', `/conferencecalls/${id}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }

  /** A phone calls the conference by its own address. */
  async callsIn(hz: number, id: string): Promise<PhoneCall> {
    const phone = await this.#office.phone('1001', { tone: hz });
    const call = await phone.dial(`sip:${id}@conference.trunkline.localhost`);
    await call.answered();
    return call;
  }

  /** A phone is called and sent through a flow. */
  async isCalled(extension: string, hz: number, actions: unknown[]): Promise<PhoneCall> {
    const phone = await this.#office.registered(extension, { tone: hz, incoming: { autoAnswer: true } });
    await this.#office.ring(extension, actions);
    const call = await phone.waitForCall();
    await call.answered();
    return call;
  }

  /** A stored flow; its id. */
  async flow(actions: unknown[]): Promise<string> {
    const { status, body } = await this.#office.stack.api<{ id: string }>('POST', '/flows', { name: 'pre', actions });
    assert.equal(status, 200, JSON.stringify(body));
    return body.id;
  }

  async #conference(method: string, path: string, given?: unknown): Promise<Conference> {
    const { status, body } = await this.#office.stack.api<Conference>(method, path, given);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }
}
