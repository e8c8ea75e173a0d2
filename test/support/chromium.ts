import { once } from 'node:events';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { Child } from '../../scripts/start/child.ts';
import { findProgram } from '../../scripts/start/install.ts';

/** Headless, no sandbox (it runs as root too), no sound card, microphones granted, and any certificate taken. */
const FLAGS = [
  ...['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'],
  ...['--disable-extensions', '--disable-background-networking', '--disable-component-update', '--mute-audio'],
  ...['--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream', '--allow-loopback-in-peer-connection'],
  ...['--autoplay-policy=no-user-gesture-required', '--ignore-certificate-errors', '--remote-debugging-port=0'],
];

interface Message {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { message: string };
}

/** A page in a Chromium of its own, worked through the DevTools protocol. */
export class ChromiumPage {
  /** What the page hands out by `window.heard(text)`. */
  onHeard: (text: string) => void = () => undefined;
  readonly #child: Child;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (message: Message) => void>();
  #loaded: () => void = () => undefined;
  #session: string | undefined;
  #count = 0;

  /** Opens the page. `microphone` is a WAV file that is played over and over. */
  static async open(url: string, microphone: string, folder: string): Promise<ChromiumPage> {
    const command = findProgram('chromium');
    if (command === undefined) throw new Error('Chromium is not installed: apt-get install chromium');
    let address = '';
    const args = [
      ...FLAGS,
      `--use-file-for-fake-audio-capture=${microphone}`,
      `--user-data-dir=${join(folder, 'profile')}`,
    ];
    const listening = (line: string): boolean => {
      address = /DevTools listening on (ws:\S+)/.exec(line)?.[1] ?? address;
      return address !== '';
    };
    const env = { ...process.env, HOME: folder };
    const child = await Child.startUntil({ command, args, env, stopSignal: 'SIGTERM' }, listening, 20_000);
    const socket = new WebSocket(address);
    await once(socket, 'open');
    const page = new ChromiumPage(child, socket);
    await page.#goTo(url);
    return page;
  }

  private constructor(child: Child, socket: WebSocket) {
    [this.#child, this.#socket] = [child, socket];
    socket.on('message', (data: Buffer) => this.#take(JSON.parse(data.toString('utf8')) as Message));
  }

  /** Evaluates an expression in the page; resolves once its promise has. Rejects with what the page threw. */
  async run(expression: string): Promise<void> {
    const { exceptionDetails } = await this.#send('Runtime.evaluate', {
      ...{ expression, awaitPromise: true, returnByValue: true, userGesture: true },
    });
    if (exceptionDetails !== undefined) throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`);
  }

  async close(): Promise<void> {
    this.#socket.terminate();
    await this.#child.stop();
  }

  async #goTo(url: string): Promise<void> {
    const { targetId } = await this.#send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.#send('Target.attachToTarget', { targetId, flatten: true });
    this.#session = sessionId as string;
    await this.#send('Page.enable');
    await this.#send('Runtime.enable');
    await this.#send('Runtime.addBinding', { name: 'heard' });
    const loaded = new Promise<void>(resolve => (this.#loaded = resolve));
    await this.#send('Page.navigate', { url });
    await loaded;
  }

  #send(method: string, params: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    const id = (this.#count += 1);
    this.#socket.send(JSON.stringify({ id, method, params, sessionId: this.#session }));
    return new Promise((resolve, reject) =>
      this.#waiting.set(id, ({ result, error }) =>
        error ? reject(new Error(`${method}: ${error.message}`)) : resolve(result ?? {}),
      ),
    );
  }

  #take(message: Message): void {
    if (message.method === 'Page.loadEventFired') this.#loaded();
    if (message.method === 'Runtime.bindingCalled') this.onHeard(String(message.params?.['payload']));
    if (message.id === undefined) return;
    this.#waiting.get(message.id)?.(message);
    this.#waiting.delete(message.id);
  }
}
