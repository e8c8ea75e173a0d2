import { strict as assert } from 'node:assert';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { WebSocket } from 'ws';
import type { Call } from '#contract/call';
import type { EventMessage } from '#contract/events';
import { keys } from '#contract/keys';
import { eventually } from './eventually.ts';
import { TestPhone, type TestPhoneOptions } from './phone.ts';
import { sharedStack, type Stack } from './stack.ts';

/** What a phone needs to be an extension. */
export interface PhoneAccount {
  username: string;
  password: string;
  domain_name: string;
}

/**
 * Gives each test of a describe a new office, and closes it behind the test, which fails when it left anything behind.
 * @param opened takes the office, and makes what belongs to it
 * @param start makes a stack for these tests alone, which is stopped behind them; without it they share that of the run
 */
export const withOffice = (opened: (office: Office) => void, start?: () => Promise<Stack>): void => {
  let stack: Stack;
  let office: Office;
  before(async () => void (stack = await (start ?? sharedStack)()));
  beforeEach(() => opened((office = new Office(stack))));
  afterEach(async () => {
    await office.close();
    await office.nothingLeft();
  });
  if (start) after(() => stack.stop());
};

/** The phones of one small office on a stack, and eyes on what the platform says about their calls. */
export class Office {
  readonly stack: Stack;
  readonly #phones: TestPhone[] = [];
  readonly #closers: (() => Promise<void> | void)[] = [];

  constructor(stack: Stack) {
    this.stack = stack;
  }

  /** The phones so far, in the order they came. */
  get phones(): readonly TestPhone[] {
    return this.#phones;
  }

  /** A phone with the account of an extension of the welcome facts; not registered yet. */
  async phone(extension: string, options: Partial<TestPhoneOptions> = {}): Promise<TestPhone> {
    const account = this.stack.welcome.extensions.find(one => one.extension === extension);
    assert(account, `no extension ${extension}`);
    return this.phoneOf(account, options);
  }

  /** A phone with the account of any extension; not registered yet. */
  async phoneOf(account: PhoneAccount, options: Partial<TestPhoneOptions> = {}): Promise<TestPhone> {
    const { username, password, domain_name } = account;
    const phone = await TestPhone.start({
      username,
      password,
      domain: domain_name,
      server: this.stack.sip,
      ...options,
    });
    this.#phones.push(phone);
    return phone;
  }

  /** The same, registered. */
  async registered(extension: string, options: Partial<TestPhoneOptions> = {}): Promise<TestPhone> {
    const phone = await this.phone(extension, options);
    await phone.register();
    this.#closers.push(() => phone.unregister().catch(() => undefined)); // a phone that vanished cannot
    return phone;
  }

  /** POST /calls to an extension with inline actions; the call that rings. */
  async ring(extension: string, actions: unknown[]): Promise<Call> {
    const { status, body } = await this.stack.api<{ calls: Call[] }>('POST', '/calls', {
      source: { type: 'tel', target: this.stack.welcome.number },
      destinations: [{ type: 'extension', target: extension, target_name: extension }],
      actions,
    });
    assert.equal(status, 200, JSON.stringify(body));
    const [call] = body.calls;
    assert(call);
    return call;
  }

  async call(id: string): Promise<Call> {
    const { status, body } = await this.stack.api<Call>('GET', `/calls/${id}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }

  /** The call once it is progressing. */
  progressing(id: string): Promise<Call> {
    return eventually(
      `the progress of call ${id}`,
      () => this.call(id),
      call => call.status === 'progressing',
    );
  }

  /** The call once it is over. */
  ended(id: string, withinMs = 10_000): Promise<Call> {
    return eventually(
      `the end of call ${id}`,
      () => this.call(id),
      call => call.status === 'hangup',
      withinMs,
    );
  }

  /** The id of the media-app that holds a call. */
  async nodeOf(id: string): Promise<string> {
    const redis = new Redis(this.stack.redisUrl);
    try {
      return (JSON.parse((await redis.get(keys.live('call', id))) ?? '{}') as { owner: string }).owner;
    } finally {
      redis.disconnect();
    }
  }

  /** The newest calls of the list, newest first. */
  async calls(count: number): Promise<Call[]> {
    const { body } = await this.stack.api<{ result: Call[] }>('GET', `/calls?page_size=${count}`);
    return body.result;
  }

  /** Everything the customer's WebSocket says from now on. */
  async listen(): Promise<EventMessage[]> {
    const { baseUrl, welcome } = this.stack;
    const socket = new WebSocket(`${baseUrl.replace(/^http/, 'ws')}/v1.0/ws?accesskey=${welcome.accesskey}`);
    const heard: EventMessage[] = [];
    socket.on('message', (data: Buffer) => heard.push(JSON.parse(data.toString('utf8')) as EventMessage));
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    socket.send(JSON.stringify({ type: 'subscribe', topics: [`customer_id:${welcome.customer_id}`] }));
    await new Promise(resolve => socket.once('pong', resolve).ping()); // the subscription was read before the ping
    this.#closers.push(() => socket.close());
    return heard;
  }

  /** A webhook receiver for the customer: every body it was sent, in order of arrival. */
  async webhook(
    answer: (attempt: number) => number = () => 200,
  ): Promise<{ received: EventMessage[]; headers: Record<string, unknown>[]; server: Server }> {
    const received: EventMessage[] = [];
    const headers: Record<string, unknown>[] = [];
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        received.push(JSON.parse(Buffer.concat(chunks).toString('utf8')) as EventMessage);
        headers.push(request.headers);
        response.writeHead(answer(received.length)).end();
      });
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await this.#setWebhook(`http://127.0.0.1:${port}/events`);
    this.#closers.push(async () => {
      await this.#setWebhook('');
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    });
    return { received, headers, server };
  }

  /** Fails when a call left anything behind: live records, owned sets, dialogs, channels, RTP ports. */
  async nothingLeft(withinMs = 8000): Promise<void> {
    const redis = new Redis(this.stack.redisUrl);
    try {
      await eventually(
        'an empty house',
        () => this.#leftovers(redis),
        left => left.length === 0,
        withinMs,
      );
    } finally {
      redis.disconnect();
    }
  }

  /** Closes phones and sockets; a phone that is still in a call fails the test. Again it does nothing. */
  async close(): Promise<void> {
    // Each once: a phone that is stopped would wait in vain for the answer to unregistering again.
    for (const close of this.#closers.splice(0).reverse()) await close();
    const phones = await Promise.allSettled(this.#phones.map(phone => phone.stop()));
    for (const result of phones) if (result.status === 'rejected') throw result.reason;
  }

  async #setWebhook(webhook_uri: string): Promise<void> {
    const { status, body } = await this.stack.api<unknown>('PUT', '/customer', { webhook_uri, webhook_method: 'POST' });
    assert.equal(status, 200, JSON.stringify(body));
  }

  async #leftovers(redis: Redis): Promise<string[]> {
    const nodes = await redis.smembers(keys.nodes);
    const owned = await Promise.all(nodes.map(node => redis.smembers(keys.owned(node))));
    return [...owned.flat(), ...(await this.stack.holds())];
  }
}
