import { hostname, networkInterfaces } from 'node:os';
import type { EslHeaders } from '../esl/encode.ts';
import type { Channel } from './channel.ts';

/** Version shown to clients; the number is that of the FreeSWITCH release whose behaviour we follow. */
export const version = '1.10.12-trunkline';

const address = firstAddress();
const host = hostname();

/** Who raises an event: the headers that every event carries (protocol page §3). */
export function eventHeaders(name: string, coreUuid: string, sequence: number): EslHeaders {
  const now = new Date();
  return {
    'Event-Name': name,
    'Core-UUID': coreUuid,
    'FreeSWITCH-Hostname': host,
    'FreeSWITCH-Switchname': host,
    'FreeSWITCH-IPv4': address,
    'FreeSWITCH-IPv6': '::1',
    'Event-Date-Local': now.toISOString().slice(0, 19).replace('T', ' '),
    'Event-Date-GMT': now.toUTCString(),
    'Event-Date-Timestamp': String(now.getTime() * 1000),
    'Event-Sequence': String(sequence),
  };
}

/** The headers of a channel, without its variables. */
export function channelHeaders(channel: Channel): EslHeaders {
  return addChannelHeaders({}, channel);
}

/** Adds the headers of a channel to an event's own: one object an event, because events are many. */
export function addChannelHeaders(headers: EslHeaders, channel: Channel): EslHeaders {
  Object.assign(headers, {
    'Channel-State': channel.callState === 'HANGUP' ? 'CS_HANGUP' : 'CS_EXECUTE',
    'Channel-Call-State': channel.callState,
    'Channel-State-Number': channel.callState === 'HANGUP' ? '10' : '4',
    'Channel-Name': channel.name,
    'Unique-ID': channel.uuid,
    'Call-Direction': 'inbound',
    'Presence-Call-Direction': 'inbound',
    'Channel-HIT-Dialplan': 'true',
    'Channel-Call-UUID': channel.uuid,
    'Answer-State': channel.answerState,
  });
  if (channel.hangupCause !== null) headers['Hangup-Cause'] = channel.hangupCause;
  addCodecHeaders(headers, channel);
  Object.assign(headers, callerHeaders(channel));
  if (channel.peer) headers['Other-Leg-Unique-ID'] = channel.peer.uuid;
  return headers;
}

/** The variables of a channel as events carry them. */
export function variableHeaders(channel: Channel): EslHeaders {
  return addVariables({}, channel);
}

/** Adds the variables of a channel to an event's own headers. */
export function addVariables(headers: EslHeaders, channel: Channel): EslHeaders {
  for (const [name, value] of channel.variables) headers[`variable_${name}`] = value;
  return headers;
}

function addCodecHeaders(headers: EslHeaders, channel: Channel): void {
  const codec = channel.variables.get('read_codec') ?? 'PCMU';
  for (const side of ['Read', 'Write']) {
    headers[`Channel-${side}-Codec-Name`] = codec;
    headers[`Channel-${side}-Codec-Rate`] = String(channel.leg.codecRate);
    headers[`Channel-${side}-Codec-Bit-Rate`] = codec === 'opus' ? '0' : '64000'; // it has no fixed one
  }
}

function callerHeaders(channel: Channel): EslHeaders {
  return {
    'Caller-Direction': 'inbound',
    'Caller-Logical-Direction': 'inbound',
    'Caller-Dialplan': 'XML',
    'Caller-Network-Addr': channel.variables.get('sip_network_ip') ?? '',
    'Caller-Destination-Number': channel.variables.get('sip_req_user') ?? '',
    'Caller-Unique-ID': channel.uuid,
    'Caller-Source': 'mod_sofia',
    'Caller-Context': 'mrf',
    'Caller-Channel-Name': channel.name,
    'Caller-Channel-Created-Time': String(channel.createdAt * 1000),
    'Caller-Channel-Answered-Time': String(channel.answeredAt * 1000),
    'Caller-Channel-Hangup-Time': String(channel.hungUpAt * 1000),
  };
}

function firstAddress(): string {
  for (const list of Object.values(networkInterfaces())) {
    const found = list?.find(one => one.family === 'IPv4' && !one.internal);
    if (found) return found.address;
  }
  return '127.0.0.1';
}
