import { hostPort, type Line } from '../line.ts';
import { EXPIRES_S, type Format } from './format.ts';
import { element, XML, xmlDocument } from './xml.ts';

const TRANSPORT = { udp: 0, tcp: 1, tls: 2 };

/** The parameters of the first account, by their numbers. */
const settingsOf = (line: Line): Record<string, string | number> => ({
  P271: 1, // account active
  P270: line.display_name, // account name
  P47: line.domain, // SIP server
  P48: line.server.outbound ? hostPort(line) : '', // outbound proxy
  P35: line.username, // SIP user id
  P36: line.username, // authenticate id
  P34: line.password,
  P3: line.display_name, // name
  P31: 1, // register
  P32: EXPIRES_S / 60, // in minutes
  P130: TRANSPORT[line.transport],
});

/** Grandstream's XML provisioning file. */
export const grandstream: Format = {
  name: 'grandstream',
  agent: /^grandstream/i,
  file: /^cfg([0-9a-f]{12}|[a-z][\w-]{0,31})?\.xml$/i,
  media_type: XML,
  write: line => {
    const settings = Object.entries(settingsOf(line)).map(([name, value]) => element(name, value));
    return xmlDocument('gs_provision', ['<config version="1">', ...settings, '</config>'], 'version="1"');
  },
};
