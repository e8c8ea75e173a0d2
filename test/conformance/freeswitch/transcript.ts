import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandsIn } from './transcript-message.ts';

/** Who wrote one block of a transcript. */
export type Writer = 'client' | 'server' | 'sip client' | 'sip server' | 'fork' | 'far end' | 'note';

/** One message of a recording, or what the recorder did in between. */
export interface Block {
  /** Milliseconds after the first message. */
  at: number;
  writer: Writer;
  /** Connection of the event socket: IN, OUT1, OUT2, … */
  connection: string;
  /** What became of the connection itself, in place of a message. */
  change: 'opened' | 'closed' | null;
  text: string;
  /** Of a server's message: the command that it answers, if it answers one. */
  command: string;
}

const folder = join(import.meta.dirname, 'transcripts');
const heading = /^\+([\d.]+) ms {2}(\S+)(?: (\S+))?(.*)$/;
const sipWriters: Record<string, Writer> = { 'drachtio→freeswitch': 'sip client', 'freeswitch→drachtio': 'sip server' };
const writers: Record<string, Writer> = { 'C→S': 'client', 'S→C': 'server', '##': 'note' };

/** The messages of one recording, in their order; what passed between the SIP server and phones is left out. */
export function readTranscript(name: string): Block[] {
  const blocks: Block[] = [];
  for (const line of readFileSync(join(folder, `${name}.txt`), 'utf8').split('\n')) {
    const [, at, kind = '', who = '', rest = ''] = heading.exec(line) ?? [];
    const last = blocks.at(-1);
    if (at !== undefined) blocks.push(blockOf(Number(at), kind, who, rest));
    else if (last) last.text += `${line}\n`;
  }
  for (const block of blocks) block.text = block.text.replace(/\n+$/, '').replaceAll('\\r\n', '\r\n');
  return withCommands(acknowledgedAtOnce(blocks.filter(one => one.connection !== 'elsewhere')));
}

/** The real server opens its connection before the 200, or the ACK, or after them; here it is always after the ACK. */
function acknowledgedAtOnce(blocks: Block[]): Block[] {
  const ordered: Block[] = [];
  let held: Block[] | null = null;
  for (const block of blocks) {
    const method = block.writer === 'sip client' ? block.text.split(' ')[0] : undefined;
    if (held && (block.change === 'opened' || block.writer === 'client')) held.push(block);
    else ordered.push(block);
    if (method === 'INVITE') held = [];
    if (method === 'ACK') ordered.push(...(held ?? []).splice(0));
    if (method === 'ACK') held = null;
  }
  return ordered;
}

/** Says of every answer what it answers, and leaves out what a server said to a client that had gone. */
function withCommands(blocks: Block[]): Block[] {
  const asked = new Map<string, string[]>();
  const gone = new Set<string>();
  return blocks.filter((block, at) => {
    const { writer, connection, change, text } = block;
    if (writer === 'client' && change === 'opened') gone.delete(connection);
    if (writer === 'client' && change === 'closed') gone.add(connection);
    const commands = asked.get(connection) ?? [];
    asked.set(connection, commands);
    if (writer === 'client' && change === null) commands.push(...commandsIn(text));
    if (
      writer === 'server' &&
      /^Content-Type: (command(\/|%2F)reply|api\/response)$/m.test(text.split('\n\n')[0] ?? '')
    )
      block.command = commands.shift() ?? '';
    const next = blocks[at + 1];
    const leaves = writer === 'client' && text === 'exit' && next?.writer === 'client' && next.change === 'closed';
    return !leaves && !(writer === 'server' && gone.has(connection));
  });
}

function blockOf(at: number, kind: string, who: string, rest: string): Block {
  const change = rest.includes('(TCP connect)') ? 'opened' : rest.includes('(FIN)') ? 'closed' : null;
  if (kind === '##') return { at, writer: 'note', connection: '', change: null, command: '', text: `${who}${rest}` };
  if (kind === 'WS')
    return { at, writer: who === 'fork→server' ? 'fork' : 'far end', connection: '', change, command: '', text: '' };
  if (kind === 'SIP') {
    const writer = sipWriters[who];
    return { at, writer: writer ?? 'note', connection: writer ? 'SIP' : 'elsewhere', change, command: '', text: '' };
  }
  return { at, writer: writers[kind] ?? 'note', connection: who, change, command: '', text: '' };
}
