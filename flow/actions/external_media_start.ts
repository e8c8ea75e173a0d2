import { z } from 'zod';
import type { ExternalMediaRequest } from '#contract/external-media';
import { defineAction, next } from '../action.ts';
import { callOf } from './on-call.ts';

const direction = z.enum(['', 'in', 'out', 'both']).default('');

const option = z.object({
  url: z.string().max(2048).default('').describe('A ws or wss address to stream to; the short form.'),
  encapsulation: z
    .enum(['', 'rtp', 'sln', 'audiosocket', 'none'])
    .default('')
    .describe('How frames are wrapped: rtp (default), sln, audiosocket or none.'),
  external_host: z.string().max(2048).default('').describe('host:port, or an address for websocket; the long form.'),
  transport: z.enum(['', 'udp', 'tcp', 'websocket']).default('').describe('udp (default) or websocket; tcp fails.'),
  transport_data: z.string().max(2048).default('').describe('Not used.'),
  connection_type: z.enum(['', 'client', 'server']).default('').describe('client (default); server fails.'),
  format: z.string().max(32).default('').describe('Of the long form: ulaw (default), alaw or slin.'),
  direction_listen: direction.describe('What the far end hears: in (the party), out (what the party hears), both.'),
  direction_speak: direction.describe('Who hears the far end: in (the other side), out (the party), both.'),
  data: z.string().max(2048).default('').describe('Not used.'),
});
type Option = z.infer<typeof option>;

const WEBSOCKET = /^wss?:\/\//i;
const FORMATS: Record<string, ExternalMediaRequest['format']> = {
  '': 'ulaw',
  ulaw: 'ulaw',
  alaw: 'alaw',
  slin: 'slin',
  slin8: 'slin',
};

/** The bare address of a far end as a URL of its transport. */
const addressOf = ({ url, external_host }: Option, transport: 'websocket' | 'udp'): string => {
  const given = url || external_host;
  if (transport === 'udp') return `udp://${given}`;
  return WEBSOCKET.test(given) ? given : `ws://${given}`;
};

const transportOf = ({ url, transport, connection_type }: Option): 'websocket' | 'udp' => {
  if (connection_type === 'server') throw new Error('connection_type server is not available in this version');
  if (url === '' && transport === 'tcp') throw new Error('transport tcp is not available in this version');
  return url !== '' || transport === 'websocket' ? 'websocket' : 'udp';
};

const encapsulationOf = ({ encapsulation }: Option, transport: string): ExternalMediaRequest['encapsulation'] => {
  if (transport === 'udp' && encapsulation !== '' && encapsulation !== 'rtp')
    throw new Error(`${encapsulation} cannot travel over udp`);
  return encapsulation === 'none' ? 'sln' : encapsulation || 'rtp';
};

/** Either form of the options as one request. Throws where it says nothing, or what this version cannot do. */
const requestOf = (given: Option): ExternalMediaRequest => {
  if (given.url === '' && given.external_host === '') throw new Error('url or external_host is required');
  if (given.url !== '' && !WEBSOCKET.test(given.url)) throw new Error('url is no ws or wss address');
  const transport = transportOf(given);
  const format = given.url === '' ? FORMATS[given.format.toLowerCase()] : 'slin';
  if (!format) throw new Error(`format ${given.format} is not available in this version`);
  return {
    transport,
    format,
    url: addressOf(given, transport),
    encapsulation: encapsulationOf(given, transport),
    listen: given.direction_listen || 'both',
    speak: given.direction_speak || 'both',
  };
};

export const externalMediaStart = defineAction({
  type: 'external_media_start',
  summary: "Connects the call's audio with a server, both ways, while the flow goes on.",
  needs: 'call',
  onError: 'next',
  option,
  async run(context, given) {
    await callOf(context).startExternalMedia(requestOf(given), context.signal);
    return next;
  },
});
