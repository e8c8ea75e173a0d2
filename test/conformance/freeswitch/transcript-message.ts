import { readHeaders, type EslMessage } from './esl-wire.ts';
import type { Block } from './transcript.ts';

/** One message of a server as it is compared. */
export interface Said {
  /** IN, OUT1, OUT2, …, SIP or WS. */
  connection: string;
  /** What it is, in one line. */
  line: string;
  /** What an application reads of it. */
  headers: Record<string, string>;
}

/** What drachtio-fsmrf, media-app or an application reads of an event; the rest tells of the machine and of FreeSWITCH's inside. */
const read =
  /^(Event-(Name|Subclass|Info)|Unique-ID|Channel-Call-State|Answer-State|Hangup-Cause|Application(-Data|-UUID|-Response)?|Playback-.*|DTMF-.*|Detected-.*|Record-File-Path|Bridge-.*|Conference-(Name|Size|Ghosts|Profile-Name|Unique-ID)|(Old|New)-Conference-Name|Action|Member-(ID|Type|Ghost)|Floor|Hear|Speak|Path|File|Async|Error|Digits|Job-.*|Call-command|Beep-Status|vad|detected-event|seconds|milliseconds|samples|Milliseconds-Elapsed|Other-Recordings|variable_(playback_(seconds|ms|samples|last_offset_pos|terminator_used)|record_(seconds|ms|samples)|read_terminator_used|myDigitBuffer.*|conference_(name|member_id)|RECORD_STEREO)|_body)$/;

/** Of the data that a controlling connection begins with. */
const told =
  /^(Unique-ID|Channel-Unique-ID|Channel-(State|Call-State)|Answer-State|Socket-Mode|Control|Reply-Text|variable_(read|write)_codec|variable_dtmf_type)$/;

/** A message of a recording; null for what is not compared: sounds, heartbeats, notes. */
export function recordedOf({ writer, connection, change, text, command }: Block): Said | null {
  if (change !== null && writer === 'server') return { connection, line: change, headers: {} };
  if (change !== null) return null;
  if (writer === 'sip server') return sipOf(text);
  if (writer === 'fork') return forkOf(text);
  if (writer !== 'server') return null;
  const [head = '', ...rest] = text.split('\n\n');
  const message: EslMessage = { headers: readHeaders(head), body: rest.join('\n\n') };
  if (message.headers['Content-Type'] !== 'text/event-json') return saidOf(connection, message, command);
  const lines = message.body.split('\n').filter(line => line.startsWith('  "'));
  const event = Object.fromEntries(lines.flatMap(entryOf));
  return eventOf(connection, event);
}

function entryOf(line: string): [string, string][] {
  const [name, value] = Object.entries(JSON.parse(`{${line}}`) as Record<string, unknown>)[0] ?? ['', ''];
  return typeof value === 'string' ? [[name, value]] : [];
}

/** A message that came over an event socket. */
export function heardOf(connection: string, message: EslMessage, command: string): Said | null {
  if (message.headers['Content-Type'] !== 'text/event-json') return saidOf(connection, message, command);
  return eventOf(connection, JSON.parse(message.body) as Record<string, string>);
}

/** Whether a message answers a command, and is not an event, a greeting or a farewell. */
export const isAnswer = ({ headers }: EslMessage): boolean =>
  /^(command(\/|%2F)reply|api\/response)$/.test(headers['Content-Type'] ?? '');

/** The commands in what a client wrote; a body belongs to its command. */
export const commandsIn = (text: string): string[] =>
  (/content-length/i.test(text) ? [text] : text.split(/\r?\n\r?\n/)).map(commandName);

/** The command that an answer is for, as far as it names the answer. */
function commandName(text: string): string {
  const [first = ''] = text.split('\n');
  const application = /^execute-app-name: (.*)$/m.exec(text)?.[1];
  return (
    application ??
    first
      .split(' ')
      .slice(0, 2)
      .join(' ')
      .replace(/ \S*-\S*$/, '')
  );
}

/** What a SIP server said: the status, or the method. */
export function sipOf(message: string): Said {
  const first = message.split(/\r?\n/)[0] ?? '';
  const line = first.startsWith('SIP/2.0 ') ? first.slice(8).replace(/ {3}….*/, '') : (first.split(' ')[0] ?? '');
  const audio = /^m=audio \d+ (.*?)\r?$/m.exec(message)?.[1];
  return { connection: 'SIP', line, headers: audio === undefined ? {} : { audio } };
}

/** What a fork told its far end; sounds are counted elsewhere. */
export function forkOf(text: string): Said | null {
  const path = /^GET (\S+)/.exec(text)?.[1];
  if (path !== undefined) return { connection: 'WS', line: `GET ${path}`, headers: {} };
  const [, frame] = /^text frame, \d+ bytes: ([^]*)$/.exec(text) ?? [];
  return frame === undefined ? null : { connection: 'WS', line: `text ${frame}`, headers: {} };
}

const pick = (headers: Record<string, string>, names: RegExp): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => names.test(name)));

function saidOf(connection: string, { headers, body }: EslMessage, command: string): Said {
  const type = headers['Content-Type'] ?? '';
  if (headers['Event-Name'] === 'CHANNEL_DATA')
    return { connection, line: 'channel data', headers: pick(headers, told) };
  if (type === 'api/response')
    return {
      connection,
      line: `response to ${command}`,
      headers: {
        body: body
          .replace(/\n+$/, '')
          .replace(/nobody@[\d.]+:\d+/g, 'nobody')
          .replace(/\|(talking|floor)/g, '')
          .replace(/"(run_time|join_time|last_talking)":\t\d+/g, '"$1":\t0')
          .replace(/"talking":\ttrue/g, '"talking":\tfalse'),
      },
    };
  const disposition = headers['Content-Disposition'];
  if (type === 'text/disconnect-notice') return { connection, line: `notice ${disposition ?? ''}`, headers: {} };
  if (type === 'auth/request') return { connection, line: 'auth/request', headers: {} };
  return { connection, line: `reply to ${command}`, headers: { text: headers['Reply-Text'] ?? '' } };
}

function eventOf(connection: string, event: Record<string, string>): Said | null {
  if (event['Event-Name'] === 'HEARTBEAT') return null;
  const words = ['Event-Name', 'Event-Subclass', 'Action', 'Application', 'Channel-Call-State', 'DTMF-Digit'];
  const state = event['Event-Name'] === 'CHANNEL_CALLSTATE';
  const line = words.filter(one => one !== 'Channel-Call-State' || state).flatMap(one => event[one] ?? []);
  return { connection, line: line.join(' '), headers: resultsOnlyWhereTheyBelong(event, pick(event, read)) };
}

/** Results of an earlier application, which the real server goes on showing and the engine clears, are not compared. */
function resultsOnlyWhereTheyBelong(
  event: Record<string, string>,
  headers: Record<string, string>,
): Record<string, string> {
  const application = event['variable_current_application'] ?? event['Application'] ?? '';
  const ended = /^(PLAYBACK_STOP|CHANNEL_EXECUTE_COMPLETE)$/.test(event['Event-Name'] ?? '');
  const belongs = {
    playback: /^(playback|play_and_get_digits|say)$/,
    record: /^record$/,
    read: /^play_and_get_digits$/,
  };
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => {
      const [, kind] = /^variable_(playback|record|read)_/.exec(name) ?? [];
      return kind === undefined || (ended && belongs[kind as keyof typeof belongs].test(application));
    }),
  );
}
