import { hostPort, type Line } from '../line.ts';
import { EXPIRES_S, type Format } from './format.ts';
import { element, XML, xmlDocument } from './xml.ts';

const settingsOf = (line: Line): Record<string, string | number> => ({
  user_active: 'on',
  user_realname: line.display_name,
  user_idle_text: line.display_name,
  user_name: line.username,
  user_pname: line.username,
  user_pass: line.password,
  user_host: line.domain,
  user_outbound: `${line.server.outbound ? hostPort(line) : line.domain};transport=${line.transport}`,
  user_expiry: EXPIRES_S,
});

/** Snom's XML settings file; `idx` is the identity, and an empty `perm` lets the owner change the setting. */
export const snom: Format = {
  name: 'snom',
  agent: /\bsnom\w*-SIP\b|^snom/i,
  file: /^snom[\w-]{0,32}\.(htm|xml)$/i,
  media_type: XML,
  write: line => {
    const settings = Object.entries(settingsOf(line)).map(([name, value]) => element(name, value, 'idx="1" perm=""'));
    return xmlDocument('settings', ['<phone-settings>', ...settings, '</phone-settings>']);
  },
};
