import { randomUUID } from 'node:crypto';
import type { ApiCommand } from '../api-command.ts';
import { wordsOf } from '../api-command.ts';
import { causeFrom } from '../causes.ts';
import type { Core } from '../core.ts';
import { upTime } from '../core.ts';
import { version } from '../events.ts';

const rule = '='.repeat(97);

/** `sofia status [profile <name>]`; the client reads our SIP address out of it (protocol page §3). */
export const sofia: ApiCommand = {
  name: 'sofia',
  run: (core, args) => {
    const [word, kind, name] = wordsOf(args);
    if (word !== 'status') return '-USAGE: sofia status [profile <name>]\n';
    if (kind === undefined) return profiles(core);
    if (kind === 'profile') return name === 'drachtio_mrf' ? profile(core) : 'Invalid Profile!\n';
    return kind === 'gateway' ? 'Invalid Gateway!\n' : 'Invalid Syntax!\n';
  },
};

function profiles(core: Core): string {
  const row = (name: string, type: string, data: string, state: string) =>
    `${name.padStart(25)}\t${type}\t${data.padStart(42)}\t${state}\n`;
  const head = row('Name', '   Type', 'Data', 'State');
  const addresses = [core.sipAddress, ...(core.sipAddress6 === null ? [] : [core.sipAddress6])];
  const lines = addresses.map(address =>
    row('drachtio_mrf', 'profile', `sip:mod_sofia@${address}`, `RUNNING (${core.channels.size})`),
  );
  return `${head}${rule}\n${lines.join('')}${rule}\n1 profile 0 aliases\n`;
}

function profile(core: Core): string {
  const rows: [string, string][] = [
    ['Name', 'drachtio_mrf'],
    ['Dialplan', 'XML'],
    ['Context', 'mrf'],
    ['RTP-IP', core.options.rtpHost],
    ['Ext-RTP-IP', core.options.advertisedAddress ?? core.options.rtpHost],
    ['URL', `sip:mod_sofia@${core.sipAddress}`],
    ['CODECS IN', core.options.codecs.join()],
    ['CODECS OUT', core.options.codecs.join()],
    ['TEL-EVENT', '101'],
    ['DTMF-MODE', 'rfc2833'],
    ['CALLS-IN', String(core.sessionsSinceStart)],
  ];
  return `${rule}\n${rows.map(([name, value]) => `${name.padEnd(17)}\t${value}\n`).join('')}\n`;
}

/** `status`. */
export const status: ApiCommand = {
  name: 'status',
  run: core =>
    `UP ${upTime(core.uptimeMs())}\nFreeSWITCH (Version ${version}) is ready\n` +
    `${core.sessionsSinceStart} session(s) since startup\n${core.channels.size} session(s) - peak ${core.peakSessions}, last 5min 0 \n` +
    `0 session(s) per Sec out of max 200, peak 0, last 5min 0 \n${core.options.maxSessions} session(s) max\n`,
};

/** `version`. */
export const versionCommand: ApiCommand = { name: 'version', run: () => `FreeSWITCH Version ${version}\n` };

/** `create_uuid`. */
export const createUuid: ApiCommand = { name: 'create_uuid', run: () => randomUUID() };

/** `echo <text>`. */
export const echo: ApiCommand = { name: 'echo', run: (_core, args) => args };

/** `strepoch`: seconds since 1970. */
export const strepoch: ApiCommand = { name: 'strepoch', run: () => String(Math.floor(Date.now() / 1000)) };

/** `msleep <ms>`, at most a minute. */
export const msleep: ApiCommand = {
  name: 'msleep',
  run: (_core, args) => {
    const ms = Math.min(Math.max(0, Number(args.trim()) || 0), 60_000);
    return new Promise(resolve => setTimeout(() => resolve('+OK'), ms));
  },
};

/** `global_getvar [<name>]`; an unset one has no reply. */
export const globalGetvar: ApiCommand = {
  name: 'global_getvar',
  run: (core, args) => {
    const name = args.trim();
    if (name !== '') return core.globals.get(name) ?? '';
    return [...core.globals].map(([key, value]) => `${key}=${value}\n`).join('');
  },
};

/** `global_setvar <name>=<value>`. */
export const globalSetvar: ApiCommand = {
  name: 'global_setvar',
  run: (core, args) => {
    const [name = '', ...value] = args.split('=');
    if (name.trim() === '') return '-USAGE: <var>=<value> [=<value2>]\n';
    if (core.globals.size < 1000 || core.globals.has(name.trim()))
      core.globals.set(name.trim().slice(0, 256), value.join('=').slice(0, 4096));
    return '+OK';
  },
};

/** `hupall [<cause> [<variable> <value>]]`. */
export const hupall: ApiCommand = {
  name: 'hupall',
  run: (core, args) => {
    const [word, variable, value] = wordsOf(args);
    const cause = word === undefined ? 'MANAGER_REQUEST' : causeFrom(word);
    const matching = [...core.channels.values()].filter(one => variable === undefined || one.get(variable) === value);
    for (const channel of matching) void channel.hangup(cause);
    if (variable === undefined) return `+OK hangup all channels with cause ${cause}\n`;
    return `+OK hangup all channels matching [${variable}]=[${value ?? ''}] with cause: ${cause}\n`;
  },
};

/** `show channels|calls [count] [as json]`. */
export const show: ApiCommand = {
  name: 'show',
  run: (core, args) => {
    const words = wordsOf(args);
    const all = words[0] === 'calls' || words[0] === 'channels';
    const rows = all ? [...core.channels.values()].map(rowOf) : [];
    if (words.includes('json'))
      return JSON.stringify(rows.length === 0 ? { row_count: 0 } : { row_count: rows.length, rows });
    if (words.includes('count') || rows.length === 0) return `\n${rows.length} total.\n`;
    const names = Object.keys(rows[0] ?? {});
    return `${names.join(',')}\n${rows.map(row => Object.values(row).join(',')).join('\n')}\n\n${rows.length} total.\n`;
  },
};

function rowOf(channel: Core['channels'] extends Map<string, infer One> ? One : never): Record<string, string> {
  return {
    uuid: channel.uuid,
    direction: 'inbound',
    created_epoch: String(Math.floor(channel.createdAt / 1000)),
    name: channel.name,
    state: 'CS_EXECUTE',
    callstate: channel.callState,
    application: channel.get('current_application') ?? '',
    read_codec: channel.get('read_codec') ?? '',
    write_codec: channel.get('write_codec') ?? '',
    call_uuid: channel.uuid,
  };
}
