import type { Line } from '../line.ts';
import { EXPIRES_S, type Format } from './format.ts';

const TRANSPORT = { udp: 0, tcp: 1, tls: 2 };

const settingsOf = (line: Line): Record<string, string | number> => ({
  enable: 1,
  label: line.display_name,
  display_name: line.display_name,
  auth_name: line.username,
  user_name: line.username,
  password: line.password,
  'sip_server.1.address': line.domain,
  'sip_server.1.port': line.server.port,
  'sip_server.1.transport_type': TRANSPORT[line.transport],
  'sip_server.1.expires': EXPIRES_S,
  outbound_proxy_enable: Number(line.server.outbound),
  'outbound_proxy.1.address': line.server.outbound ? line.server.host : '',
  'outbound_proxy.1.port': line.server.port,
});

/**
 * Yealink's configuration file: a first line that says so, then `name = value` to the end of the line. Values cannot be
 * quoted and need not be: a line end is all that ends one, and no value holds one.
 */
export const yealink: Format = {
  name: 'yealink',
  agent: /^yealink/i,
  file: /^([0-9a-f]{12}|y[0-9]{12})\.cfg$/i,
  media_type: 'text/plain; charset=utf-8',
  write: line =>
    [
      '#!version:1.0.0.1',
      ...Object.entries(settingsOf(line)).map(([name, value]) => `account.1.${name} = ${value}`),
      '',
    ].join('\n'),
};
