import type { ReadStream, WriteStream } from 'node:tty';

/** Keys that act at once; every other one begins a line that Enter ends. */
const SINGLE_KEYS = /^[ahmq?0-9*#]$/;
const CLEAR_LINE = '\r\x1b[K';

export interface TerminalHandlers {
  /** A whole command: a single key, or a line. */
  command(text: string): void;
  /** The line that is drawn anew twice a second, where there is a screen. */
  status(): string;
  quit(): void;
}

/** Keys and lines in, messages and one status line out. Without a screen (pipe, file) it is lines in and lines out. */
export class Terminal {
  readonly live: boolean;
  #input: ReadStream | NodeJS.ReadableStream;
  #output: WriteStream;
  #handlers: TerminalHandlers;
  #typed = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(input: ReadStream, output: WriteStream, handlers: TerminalHandlers) {
    this.#input = input;
    this.#output = output;
    this.#handlers = handlers;
    this.live = input.isTTY && output.isTTY;
    if (this.live) input.setRawMode(true);
    input.setEncoding('utf8');
    input.on('data', (text: string) => this.#read(text));
  }

  start(): void {
    if (this.live) this.#timer = setInterval(() => this.#draw(), 500);
  }

  /** Prints a message above the status line. */
  say(text: string): void {
    this.#output.write(this.live ? `${CLEAR_LINE}${text}\n` : `${text}\n`);
    this.#draw();
  }

  close(): void {
    clearInterval(this.#timer);
    if (this.live) {
      this.#output.write(CLEAR_LINE);
      (this.#input as ReadStream).setRawMode(false);
    }
    this.#input.pause();
  }

  #draw(): void {
    if (!this.live || this.#timer === undefined) return;
    const line = `${this.#handlers.status()}  > ${this.#typed}`;
    this.#output.write(CLEAR_LINE + line.slice(0, (this.#output.columns || 80) - 1));
  }

  #read(text: string): void {
    if (this.live) {
      if (!text.startsWith('\x1b[')) for (const key of text) this.#key(key);
      return this.#draw();
    }
    const lines = (this.#typed + text).split(/\r?\n/);
    this.#typed = (lines.pop() ?? '').slice(0, 1000);
    for (const line of lines) this.#command(line);
  }

  #key(key: string): void {
    if (key === '\x03' || key === '\x04') return this.#handlers.quit();
    if (key === '\r' || key === '\n') return this.#command(this.#typed);
    if (key === '\x7f' || key === '\b') this.#typed = this.#typed.slice(0, -1);
    else if (key === '\x1b') this.#typed = '';
    else if (this.#typed === '' && SINGLE_KEYS.test(key)) this.#command(key);
    else if (key >= ' ') this.#typed += key;
  }

  #command(text: string): void {
    if (this.live) this.#typed = '';
    if (text.trim() !== '') this.#handlers.command(text.trim());
  }
}
