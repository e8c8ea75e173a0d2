import { plainHeaders } from '../../esl/encode.ts';
import type { ApiCommand } from '../api-command.ts';
import { onChannel } from '../api-command.ts';
import { assign } from '../applications/variables.ts';
import { channelHeaders, variableHeaders } from '../events.ts';

/** `uuid_exists <uuid>`: `true` or `false`. */
export const uuidExists: ApiCommand = {
  name: 'uuid_exists',
  run: (core, args) => String(core.channels.has(args.trim())),
};

/** `uuid_dump <uuid>`: everything about the channel as encoded header lines. */
export const uuidDump = onChannel('uuid_dump', { usage: '<uuid> [format]' }, (channel, _rest, core) =>
  plainHeaders({ ...core.headers('CHANNEL_DATA'), ...channelHeaders(channel), ...variableHeaders(channel) }),
);

/** `uuid_set_media_stats <uuid>`: copies the counters of the RTP stream into `rtp_audio_*` variables. */
export const uuidSetMediaStats: ApiCommand = {
  name: 'uuid_set_media_stats',
  run: (core, args) => {
    const uuid = args.trim();
    const channel = core.channels.get(uuid);
    if (uuid === '') return '-USAGE: <uuid>\n';
    if (!channel || channel.hangupCause !== null) return `-ERR No such channel ${uuid.slice(0, 64)}!\n`;
    for (const [name, value] of Object.entries(channel.leg.stats())) channel.set(`rtp_audio_${name}`, String(value));
    return '+OK:\n';
  },
};

/** `uuid_getvar <uuid> <name>`. */
export const uuidGetvar = onChannel(
  'uuid_getvar',
  { usage: '<uuid> <var>', least: 1 },
  (channel, rest) => channel.get(rest.trim()) ?? '_undef_',
);

/** `uuid_setvar <uuid> <name> [<value>]`; without a value the variable is unset. */
export const uuidSetvar = onChannel('uuid_setvar', { usage: '<uuid> <var> [value]', least: 1 }, (channel, rest) => {
  const [name = ''] = rest.split(/\s/, 1);
  channel.set(name, rest.slice(name.length + 1));
  return '+OK\n';
});

/** `uuid_setvar_multi <uuid> a=1;b=2`. */
export const uuidSetvarMulti = onChannel(
  'uuid_setvar_multi',
  { usage: '<uuid> <var>=<value>;<var>=<value>...', least: 1 },
  (channel, rest) => {
    for (const assignment of rest.split(';')) if (assignment.trim() !== '') assign(channel, assignment);
    return '+OK\n';
  },
);
