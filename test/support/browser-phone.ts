import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { build } from 'esbuild';
import { Hearing } from '../../scripts/phone/hearing.ts';
import { ChromiumPage } from './chromium.ts';
import { Ear } from './ear.ts';
import type { ForeignPhone, ForeignPhoneOptions } from './foreign-phone.ts';
import { writeTone } from './tone-file.ts';
import { within } from './within.ts';

/** JsSIP and the page around it as one script. */
const pageScript = async (): Promise<string> => {
  const { outputFiles } = await build({
    ...{ entryPoints: [join(import.meta.dirname, 'browser-page.js')], bundle: true, write: false, logLevel: 'error' },
    ...{ format: 'iife', platform: 'browser', define: { global: 'window' } },
  });
  return outputFiles[0]?.text ?? '';
};

/** Microphones are for pages of a server (a secure context), so the page has one. */
const servePage = async (): Promise<Server> => {
  const script = await pageScript();
  const server = createServer((request, response) =>
    request.url === '/page.js'
      ? response.setHeader('Content-Type', 'text/javascript; charset=utf-8').end(script)
      : response.setHeader('Content-Type', 'text/html').end('<!doctype html><script src="/page.js"></script>'),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
};

/** JsSIP in Chromium: WebRTC audio, SIP over secure WebSocket. */
export class BrowserPhone implements ForeignPhone {
  readonly name: string;
  readonly tone: number;
  readonly ear: Ear;
  readonly #page: ChromiumPage;
  readonly #server: Server;
  readonly #hearing = new Hearing();
  #samples = 0;

  /** Starts one; resolves once it is registered. */
  static async start(options: ForeignPhoneOptions): Promise<BrowserPhone> {
    const { stack, account, folder, tone } = options;
    const microphone = join(folder, 'says.wav');
    writeTone(microphone, tone);
    const server = await servePage();
    const { port } = server.address() as AddressInfo;
    const page = await ChromiumPage.open(`http://127.0.0.1:${port}/`, microphone, folder);
    const phone = new BrowserPhone(options, page, server);
    await phone.#do('registering', 'register', {
      ...{
        server: `wss://${stack.sip.host}:${stack.sipPorts.wss}`,
        uri: `sip:${account.username}@${account.domain_name}`,
      },
      ...{ user: account.username, password: account.password },
    });
    return phone;
  }

  private constructor({ account, tone }: ForeignPhoneOptions, page: ChromiumPage, server: Server) {
    [this.name, this.tone, this.#page, this.#server] = [account.username, tone, page, server];
    this.ear = new Ear(this.#hearing, `the browser ${this.name}`);
    page.onHeard = text => this.#hear(Buffer.from(text, 'base64'));
  }

  async dial(target: string): Promise<void> {
    await this.#do('dialling', 'dial', target);
    await this.#do('an answer', 'until', 'confirmed');
  }

  async answer(): Promise<void> {
    await this.#do('a call', 'until', 'incoming');
    await this.#do('answering', 'answer');
    await this.#do('the ACK', 'until', 'confirmed');
  }

  hold(): Promise<void> {
    return this.#do('holding', 'hold');
  }

  resume(): Promise<void> {
    return this.#do('resuming', 'resume');
  }

  transfer(target: string): Promise<void> {
    return this.#do('transferring', 'refer', target);
  }

  /** Puts the call on hold and calls somebody else, who answers. */
  async consult(target: string): Promise<void> {
    await this.#do('calling another', 'consult', target);
    await this.#do('an answer', 'until', 'confirmed');
  }

  /** Hands the call on hold to whom it consulted (REFER with Replaces), and is out of both. */
  async join(): Promise<void> {
    await this.#do('joining the two', 'join');
    await this.ended();
    await this.ended();
  }

  async hangup(): Promise<void> {
    await this.#do('hanging up', 'hangup');
    await this.ended();
  }

  ended(): Promise<void> {
    return this.#do('the end', 'until', 'ended');
  }

  drop(): void {
    void this.#do('ending all', 'drop').catch(() => undefined); // the test has failed already
  }

  forget(): Promise<void> {
    return this.#do('forgetting', 'forget');
  }

  async stop(): Promise<void> {
    await this.#do('unregistering', 'stop').finally(() => this.#page.close());
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #do(what: string, name: string, ...given: unknown[]): Promise<void> {
    const call = `phone.${name}(${given.map(one => JSON.stringify(one)).join()})`;
    const done = this.#page.run(`Promise.resolve(${call}).then(() => undefined)`);
    await within(10_000, done, () => `${what}: the browser ${this.name} does not come to it`);
  }

  #hear(bytes: Buffer): void {
    const samples = Int16Array.from({ length: bytes.length / 2 }, (_, at) => bytes.readInt16LE(at * 2));
    this.#hearing.add(samples, 1, this.#samples, performance.now());
    this.#samples += samples.length;
  }
}
