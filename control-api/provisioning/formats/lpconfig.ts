import { hostPort, type Line } from '../line.ts';
import { EXPIRES_S, type Format } from './format.ts';
import { escapeXml, element, XML, xmlDocument } from './xml.ts';

/** RFC 3261 section 25.1: quoted-string. */
const quoted = (text: string): string => `"${text.replace(/["\\]/g, mark => `\\${mark}`)}"`;

/** Registrations go to reg_proxy whatever reg_route says, so a server of its own stands in both. */
const proxyOf = (line: Line): string =>
  `<sip:${line.server.outbound ? hostPort(line) : line.domain};transport=${line.transport}>`;

const sectionsOf = (line: Line): Record<string, Record<string, string | number>> => ({
  sip: { default_proxy: 0, register_only_when_network_is_up: 1 },
  auth_info_0: {
    username: line.username,
    userid: line.username,
    passwd: line.password,
    realm: line.domain,
    domain: line.domain,
    algorithm: 'MD5',
  },
  proxy_0: {
    reg_proxy: proxyOf(line),
    reg_route: proxyOf(line),
    reg_identity: `${quoted(line.display_name)} <sip:${line.username}@${line.domain}>`,
    reg_expires: EXPIRES_S,
    reg_sendregister: 1,
    realm: line.domain,
    publish: 0,
  },
});

const section = ([name, entries]: [string, Record<string, string | number>]): string[] => [
  `<section name="${escapeXml(name)}">`,
  ...Object.entries(entries).map(([key, value]) => element('entry', value, `name="${key}" overwrite="true"`)),
  '</section>',
];

/** Remote provisioning of softphones: the lpconfig dialect of the Linphone family (accounts-and-plumbing 18.2). */
export const lpconfig: Format = {
  name: 'xml',
  agent: /linphone/i,
  file: /^(linphone|lpconfig)(rc)?\.xml$/,
  media_type: XML,
  write: line =>
    xmlDocument(
      'config',
      Object.entries(sectionsOf(line)).flatMap(section),
      'xmlns="http://www.linphone.org/xsds/lpconfig.xsd"',
    ),
};
