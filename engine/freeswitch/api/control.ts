import type { ApiCommand } from '../api-command.ts';
import { noChannel, onChannel, wordsOf } from '../api-command.ts';
import { causeFrom } from '../causes.ts';
import type { Channel } from '../channel.ts';
import { parseDigits, sendDigits } from '../digits.ts';
import { factorOf } from '../volume.ts';

/** `uuid_kill <uuid> [<cause>]`. */
export const uuidKill = onChannel('uuid_kill', { usage: '<uuid> [cause]' }, (channel, rest) => {
  void channel.hangup(causeFrom(rest));
  return '+OK\n';
});

/** `uuid_break <uuid> [both] [all]`. */
export const uuidBreak = onChannel('uuid_break', { usage: '<uuid> [all]' }, (channel, rest) => {
  const words = wordsOf(rest);
  channel.executions.breakTop(words.includes('all'));
  if (words.includes('both')) channel.peer?.executions.breakTop(words.includes('all'));
  return '+OK\n';
});

/** `uuid_broadcast <uuid> <path or app::args> [aleg|bleg|both]`: plays without anybody waiting for it. */
export const uuidBroadcast = onChannel(
  'uuid_broadcast',
  { usage: '<uuid> <path> [aleg|bleg|holdb|both]', missing: '-ERR invalid uuid\n', least: 1 },
  (channel, rest) => {
    const match = /^(.*?)(?:\s+(aleg|bleg|holdb|both))?$/.exec(rest);
    const [, path = '', side = 'aleg'] = match ?? [];
    const parties = side === 'both' ? [channel, channel.peer] : [side === 'bleg' ? channel.peer : channel];
    for (const one of parties) if (one) broadcast(one, path);
    return '+OK Message sent\n';
  },
);

function broadcast(channel: Channel, path: string): void {
  const match = /^(\w+)!?::(.*)$/.exec(path);
  channel.execute(match?.[1] ?? 'playback', match?.[2] ?? path);
}

/** `uuid_bridge <uuid> <other>`. */
export const uuidBridge = onChannel(
  'uuid_bridge',
  { usage: '<uuid> <other_uuid>', missing: '-ERR Invalid uuid\n', least: 1 },
  (channel, rest, core) => {
    const other = core.channels.get(wordsOf(rest)[0] ?? '');
    if (!other || other === channel || other.hangupCause !== null) return '-ERR Invalid uuid\n';
    channel.bridge(other);
    return `+OK ${other.uuid}\n`;
  },
);

/** `uuid_transfer <uuid> [-bleg|-both] <application[:argument]> inline`. Only inline dialplans exist here. */
export const uuidTransfer = onChannel(
  'uuid_transfer',
  { usage: '<uuid> [-bleg|-both] <dest-exten> [<dialplan>] [<context>]', least: 1 },
  (channel, rest) => {
    const flag = /^-(bleg|both)\s+/.exec(rest);
    const words = wordsOf(rest.slice(flag?.[0].length ?? 0));
    const peer = channel.peer;
    if (words.at(-1) !== 'inline' && words[0] !== 'park') return '-ERR only inline dialplans are supported\n';
    const parties = flag?.[1] === 'bleg' ? [peer] : flag ? [channel, peer] : [channel];
    channel.unbridge();
    for (const one of parties) if (one) transfer(one, words[0] ?? 'park');
    return '+OK\n';
  },
);

function transfer(channel: Channel, destination: string): void {
  channel.executions.breakEverything();
  const [application = 'park', ...data] = destination.split(':');
  if (application !== 'park') channel.execute(application, data.join(':'));
}

/** `uuid_park <uuid>`: out of a bridge and out of whatever runs. */
export const uuidPark = onChannel('uuid_park', { usage: '<uuid>' }, channel => {
  channel.unbridge();
  channel.executions.breakEverything();
  return '+OK\n';
});

/** `uuid_send_dtmf <uuid> <digits>[@<ms>]`: to the party. */
export const uuidSendDtmf = onChannel(
  'uuid_send_dtmf',
  { usage: '<uuid> <dtmf_data>', missing: '-ERR Cannot locate session!\n', least: 1 },
  (channel, rest) => {
    sendDigits(channel, rest);
    return `+OK ${channel.uuid} sent DTMF ${rest.trim()}.\n`;
  },
);

/** `uuid_recv_dtmf <uuid> <digits>[@<ms>]`: as if the party had pressed them. */
export const uuidRecvDtmf = onChannel(
  'uuid_recv_dtmf',
  { usage: '<uuid> <dtmf_data>', missing: '-ERR Cannot locate session!\n', least: 1 },
  (channel, rest) => {
    const { digits, durationMs } = parseDigits(rest);
    const keys = [...digits.replace(/w/gi, '')];
    setImmediate(() => keys.forEach(key => channel.pressed(key, durationMs * 8, 'APP')));
    return `+OK ${channel.uuid} received DTMF ${rest.trim()}.\n`;
  },
);

/** `uuid_audio <uuid> start read|write mute|level <level> | stop`; level 0 ends a mute, levels of a volume go from -4 to 4. */
export const uuidAudio: ApiCommand = {
  name: 'uuid_audio',
  run: (core, args) => {
    const [uuid, action, direction, what, level = ''] = wordsOf(args);
    const channel = core.channels.get(uuid ?? '');
    if (uuid !== undefined && !channel) return noChannel;
    const directed = direction === 'read' || direction === 'write';
    if (!channel || !(action === 'stop' || (action === 'start' && directed)))
      return '-USAGE: <uuid> [start [read|write] [mute|level <level>]|stop]\n';
    if (action === 'stop') for (const one of ['read', 'write'] as const) restore(channel, one);
    else if (directed && what === 'mute') channel.leg.mute(direction, level !== '0');
    else if (directed && what === 'level') channel.leg.gain[direction] = factorOf(Number.parseInt(level, 10));
    return '+OK\n';
  },
};

function restore({ leg }: Channel, direction: 'read' | 'write'): void {
  leg.mute(direction, false);
  leg.gain[direction] = 1;
}
