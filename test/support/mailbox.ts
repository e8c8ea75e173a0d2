import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** A letter as it lies in the data folder. */
export interface ReadMail {
  to: string;
  subject: string;
  text: string;
  /** The address of the first link in it, without the host; empty when there is none. */
  link: string;
  /** The token of that link. */
  token: string;
}

const parse = (raw: string): ReadMail => {
  const at = raw.indexOf('\n\n');
  const header = (name: string): string =>
    new RegExp(`^${name}: (.*)$`, 'mi').exec(raw.slice(0, at))?.[1]?.replace(/[<>]/g, '') ?? '';
  const text = raw.slice(at + 2);
  const link = /https?:\/\/[^/\s]+(\/\S+)/.exec(text)?.[1] ?? '';
  return { to: header('To'), subject: header('Subject'), text, link, token: /token=(\w+)/.exec(link)?.[1] ?? '' };
};

/** The letters of a control-api without a mail server, oldest first. */
export class Mailbox {
  readonly #folder: string;

  constructor(dataDir: string) {
    this.#folder = join(dataDir, 'mail');
  }

  /** Every letter to somebody, about something. */
  async to(recipient: string, about: RegExp = /./): Promise<ReadMail[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const files = names.filter(name => name.endsWith('.eml')).sort();
    const mails = await Promise.all(files.map(async name => parse(await readFile(join(this.#folder, name), 'utf8'))));
    return mails.filter(mail => mail.to === recipient && about.test(mail.subject));
  }

  /** Waits for a letter to somebody, about something. */
  async one(recipient: string, about: RegExp = /./): Promise<ReadMail> {
    const deadline = performance.now() + 5000;
    for (;;) {
      const [mail] = await this.to(recipient, about);
      if (mail) return mail;
      if (performance.now() > deadline) throw new Error(`no letter to ${recipient} about ${about}`);
      await wait(20);
    }
  }
}
