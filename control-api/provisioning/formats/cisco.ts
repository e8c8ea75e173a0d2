import { hostPort, type Line } from '../line.ts';
import { EXPIRES_S, type Format } from './format.ts';
import { element, XML, xmlDocument } from './xml.ts';

const yesNo = (is: boolean): string => (is ? 'Yes' : 'No');

const settingsOf = (line: Line): Record<string, string | number> => ({
  Line_Enable_1_: 'Yes',
  Short_Name_1_: line.username,
  Display_Name_1_: line.display_name,
  User_ID_1_: line.username,
  Auth_ID_1_: line.username,
  Use_Auth_ID_1_: 'Yes',
  Password_1_: line.password,
  Proxy_1_: line.domain,
  Use_Outbound_Proxy_1_: yesNo(line.server.outbound),
  Outbound_Proxy_1_: line.server.outbound ? hostPort(line) : '',
  SIP_Transport_1_: line.transport.toUpperCase(),
  Register_1_: 'Yes',
  Register_Expires_1_: EXPIRES_S,
});

/** The flat profile of Cisco (once Linksys, Sipura) SPA phones. */
export const cisco: Format = {
  name: 'cisco',
  agent: /^(cisco|linksys|sipura)\/(spa|pap)/i,
  file: /^spa[\w-]{0,32}\.(cfg|xml)$/i,
  media_type: XML,
  write: line =>
    xmlDocument(
      'flat-profile',
      Object.entries(settingsOf(line)).map(([name, value]) => element(name, value)),
    ),
};
