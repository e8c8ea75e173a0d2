import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import nodemailer from 'nodemailer';
import type { Timestamp } from '#contract/time';

/** A letter on its way. */
export interface Mail {
  id: string;
  kind: string;
  recipient: string;
  subject: string;
  body: string;
  tm_create: Timestamp;
}

/** Hands a letter over; rejects when nobody took it. Sent twice, it is recognised by its Message-ID or is one file. */
export type Send = (mail: Mail) => Promise<void>;

/** Where letters go: `smtp_url` when it is given, else files in a folder. */
export interface MailRoute {
  smtp_url: string;
  folder: string;
  /** The sender, as in `Trunkline <phone@example.org>`. */
  from: string;
}

const CONNECT_MS = 10_000;
const SILENCE_MS = 30_000;

const domainOf = (from: string): string => /@([^\s>]+)/.exec(from)?.[1] ?? 'localhost';

const messageOf = (mail: Mail, from: string) => ({
  from,
  to: { name: '', address: mail.recipient },
  subject: mail.subject,
  text: mail.body,
  messageId: `<${mail.id}@${domainOf(from)}>`,
  date: new Date(`${mail.tm_create.replace(' ', 'T')}Z`),
  // RFC 3834 section 5: nobody's out-of-office answers to these.
  headers: { 'Auto-Submitted': 'auto-generated' },
  disableFileAccess: true,
  disableUrlAccess: true,
});

const bySmtp = ({ smtp_url, from }: MailRoute): Send => {
  const limits = { connectionTimeout: CONNECT_MS, greetingTimeout: CONNECT_MS, socketTimeout: SILENCE_MS };
  const transport = nodemailer.createTransport({ url: smtp_url, ...limits });
  return async mail => {
    await transport.sendMail(messageOf(mail, from));
  };
};

/** Whole on disk under its name, or not there at all; only its owner reads it, for it may hold a link. */
const writeWhole = async (path: string, text: string): Promise<void> => {
  const temporary = `${path}.new`;
  await rm(temporary, { force: true });
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
};

/** A message as people read it: no encoding breaks its links (RFC 5322; 8bit of RFC 2045 section 6.2). */
const readable = (mail: Mail, from: string): string => {
  const { to, subject, messageId, date, headers } = messageOf(mail, from);
  const lines = {
    From: from,
    To: to.address,
    Subject: subject,
    'Message-ID': messageId,
    Date: date.toUTCString(),
    ...headers,
    'MIME-Version': '1.0',
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Transfer-Encoding': '8bit',
  };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value.replace(/[\r\n]/g, ' ')}`);
  return `${head.join('\n')}\n\n${mail.body}`;
};

const intoFolder =
  ({ folder, from }: MailRoute): Send =>
  async mail => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const moment = mail.tm_create.slice(0, 19).replace(' ', 'T').replaceAll(':', '-');
    await writeWhole(join(folder, `${moment}-${mail.kind}-${mail.id.slice(0, 8)}.eml`), readable(mail, from));
  };

/** The way letters go. Without an SMTP server they are files that people and tests can read. */
export const mailTransport = (route: MailRoute): Send => (route.smtp_url === '' ? intoFolder(route) : bySmtp(route));
