import { randomUUID } from 'node:crypto';
import type { CommandContext } from './connection.ts';
import { apiResponse, commandReply } from './encode.ts';
import type { EslMessage } from './reader.ts';

/** One command of the event socket. `rest` is the text after its word, with its leading space. */
export interface EslCommand {
  /** Allowed before `auth`. */
  unauthenticated?: boolean;
  /** Only on a connection that controls a channel; elsewhere it is answered with `refusal`. */
  outbound?: boolean;
  refusal: string;
  run(context: CommandContext, rest: string, message: EslMessage): string | Promise<string>;
}

type Run = EslCommand['run'];

const notFound = '-ERR command not found';
const formats = new Set(['plain', 'json', 'xml']);
const levels = ['console', 'alert', 'crit', 'err', 'warning', 'notice', 'info', 'debug'];

function anywhere(run: Run): EslCommand {
  return { refusal: notFound, run };
}

function controlling(run: Run, refusal = '-ERR not controlling a session'): EslCommand {
  return { outbound: true, refusal, run };
}

/** Every command the event socket knows, by its lower-case word (protocol page §2, replies). */
export const commands: ReadonlyMap<string, EslCommand> = new Map<string, EslCommand>([
  ['auth', { unauthenticated: true, refusal: notFound, run: auth }],
  ['exit', { unauthenticated: true, refusal: notFound, run: exit }],
  ['event', anywhere(event)],
  ['nixevent', anywhere(nixevent)],
  ['noevents', anywhere(noevents)],
  ['filter', anywhere(filter)],
  ['api', anywhere(api)],
  ['bgapi', anywhere(bgapi)],
  ['sendmsg', anywhere(sendmsg)],
  ['myevents', anywhere(myevents)],
  ['log', anywhere(log)],
  ['nolog', anywhere(() => commandReply('+OK no longer logging'))],
  ['connect', controlling(({ session }) => session?.channelData() ?? commandReply(notFound), notFound)],
  ['getvar', controlling(getvar, notFound)],
  ['resume', controlling(() => commandReply('+OK'), notFound)],
  ['linger', controlling(linger)],
  ['nolinger', controlling(nolinger)],
  ['divert_events', controlling(divertEvents, '-ERR not controlling a session.')],
]);

function words(text: string): string[] {
  return text.split(/\s+/).filter(word => word !== '');
}

function auth({ connection }: CommandContext, rest: string): string {
  if (connection.authenticate(rest.trim())) return commandReply('+OK accepted');
  connection.write(commandReply('-ERR invalid'));
  connection.goodbye();
  return '';
}

function exit({ connection }: CommandContext): string {
  connection.write(commandReply('+OK bye'));
  connection.goodbye();
  return '';
}

function event({ subscriptions, connection }: CommandContext, rest: string): string {
  const [first = '', ...others] = words(rest);
  const format = formats.has(first.toLowerCase()) ? first.toLowerCase() : 'plain';
  const names = format === first.toLowerCase() ? others : [first, ...others];
  if (format === 'xml') return commandReply('-ERR xml events are not supported');
  if (!subscriptions.add(names)) return commandReply('-ERR no keywords supplied');
  subscriptions.format = format === 'json' ? 'json' : 'plain';
  connection.subscribed = true;
  return commandReply(`+OK event listener enabled ${format}`);
}

function nixevent({ subscriptions }: CommandContext, rest: string): string {
  const names = words(rest);
  if (names.length === 0) return commandReply('-ERR no keywords supplied');
  subscriptions.remove(names);
  return commandReply('+OK events nixed');
}

function noevents({ subscriptions }: CommandContext): string {
  subscriptions.clear();
  return commandReply('+OK no longer listening for events');
}

function filter({ subscriptions }: CommandContext, rest: string): string {
  const text = rest.trim();
  if (text === '') return commandReply(notFound);
  const [first = '', second = ''] = text.split(/\s+/, 2);
  if (first.toLowerCase() === 'delete') return deleteFilter(subscriptions, text.slice(first.length).trim());
  const value = text.slice(first.length).trim();
  if (value === '' || second === '') return commandReply('-ERR invalid syntax');
  subscriptions.addFilter(first, value);
  return commandReply(`+OK filter added. [${first}]=[${value}]`);
}

function deleteFilter(subscriptions: CommandContext['subscriptions'], text: string): string {
  const [header = ''] = text.split(/\s+/, 1);
  if (header === '') return commandReply('-ERR invalid syntax');
  const value = text.slice(header.length).trim();
  subscriptions.deleteFilter(header, value === '' ? undefined : value);
  return commandReply(`+OK filter deleted. [${header}][${value}]`);
}

function api({ host }: CommandContext, rest: string): string | Promise<string> {
  if (rest === '') return commandReply(notFound);
  const [name, args] = splitCommand(rest);
  const result = host.api(name, args);
  return typeof result === 'string' ? apiResponse(result) : result.then(apiResponse);
}

function bgapi({ host }: CommandContext, rest: string, message: EslMessage): string {
  if (rest === '') return commandReply(notFound);
  const job = cleanId(message.headers.get('job-uuid')) ?? randomUUID();
  const [name, args] = splitCommand(rest);
  const headers = { 'Job-UUID': job, 'Job-Command': name, ...(args === '' ? {} : { 'Job-Command-Arg': args }) };
  // After the reply, so that the client knows the job before it hears of its end.
  setImmediate(() => {
    void Promise.resolve(host.api(name, args)).then(body => host.raise({ name: 'BACKGROUND_JOB', headers, body }));
  });
  return commandReply(`+OK Job-UUID: ${job}`, { 'Job-UUID': job });
}

function sendmsg({ host, session }: CommandContext, rest: string, message: EslMessage): string {
  const uuid = rest.trim() || session?.uuid || '';
  return commandReply(host.sendMessage(uuid, message));
}

function myevents({ session, subscriptions, connection }: CommandContext, rest: string): string {
  const given = words(rest).filter(word => !formats.has(word.toLowerCase()));
  const uuid = session?.uuid ?? given[0];
  if (uuid === undefined) return commandReply(notFound);
  subscriptions.add(['ALL']);
  subscriptions.addFilter('Unique-ID', uuid);
  subscriptions.format = /\bjson\b/i.test(rest) ? 'json' : 'plain';
  connection.subscribed = true;
  return commandReply('+OK Events Enabled');
}

function log(_context: CommandContext, rest: string): string {
  const level = rest.trim().toLowerCase() || 'debug';
  const number = /^\d$/.test(level) ? Number(level) : levels.indexOf(level);
  return commandReply(number < 0 ? '-ERR invalid log level' : `+OK log level ${level} [${number}]`);
}

function getvar({ session }: CommandContext, rest: string): string {
  return commandReply(session?.variable(rest.trim()) ?? notFound);
}

function linger({ connection }: CommandContext, rest: string): string {
  const seconds = Number(rest.trim() || Number.NaN);
  const bounded = Number.isFinite(seconds) && seconds >= 0;
  connection.linger = bounded ? Math.min(seconds, 3600) : 3600;
  return commandReply(bounded ? `+OK will linger ${seconds} seconds` : '+OK will linger');
}

function nolinger({ connection }: CommandContext): string {
  connection.linger = null;
  return commandReply('+OK will not linger');
}

function divertEvents(_context: CommandContext, rest: string): string {
  return commandReply(rest.trim().toLowerCase() === 'off' ? '+OK events not diverted' : '+OK events diverted');
}

function splitCommand(rest: string): [name: string, args: string] {
  const text = rest.replace(/^\s/, '');
  const [name = ''] = text.split(' ', 1);
  return [name, text.slice(name.length + 1)];
}

function cleanId(text: string | undefined): string | undefined {
  const id = text?.trim();
  return id !== undefined && /^[\w.:-]{1,128}$/.test(id) ? id : undefined;
}
