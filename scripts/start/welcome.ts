import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import QRCode from 'qrcode';
import type { Welcome } from '#contract/welcome';
import type { Settings } from './config.ts';
import { phoneAddress } from './phone-address.ts';
import { localUrl } from './system.ts';

/** Reads DATA_DIR/welcome.json; `undefined` when it does not exist (an installation older than this folder). */
export const readWelcome = (dataDir: string): Welcome | undefined => {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'welcome.json'), 'utf8')) as Welcome;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};

const ONE = '6f1b0c4e-0000-4000-8000-000000000002';
const OTHER = '6f1b0c4e-0000-4000-8000-000000000003';

/** The flow of the first curl: speak, wait for a key, answer the key. */
const FIRST_CALL_ACTIONS = [
  { type: 'talk', option: { text: 'Hello from Trunkline. Press one to hear a beep.', language: 'en-US' } },
  { type: 'digits_receive', option: { duration: 8000, length: 1 } },
  { type: 'branch', option: { target_ids: { 1: ONE }, default_target_id: OTHER } },
  { id: ONE, type: 'beep' },
  { id: OTHER, type: 'talk', option: { text: 'That was your first call. Goodbye.', language: 'en-US' } },
  { type: 'hangup' },
];

/** The one command that makes the first extension ring, talk and listen. */
const firstCurl = (baseUrl: string, welcome: Welcome): string => {
  const extension = welcome.extensions[0]?.extension ?? '1001';
  const body = {
    source: { type: 'tel', target: welcome.number },
    destinations: [{ type: 'extension', target: extension, target_name: extension }],
    actions: FIRST_CALL_ACTIONS,
  };
  return `curl '${baseUrl}/v1.0/calls?accesskey=${welcome.accesskey}' -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`;
};

/** `TLS on port 5061, WS on port 5066`: what phones may use beside UDP and TCP. */
const moreTransports = (settings: Settings): string => {
  const { SIP_TLS_PORT: TLS, SIP_WS_PORT: WS, SIP_WSS_PORT: WSS } = settings;
  const open = Object.entries({ TLS, WS, WSS }).filter(([, port]) => typeof port === 'number');
  return open.map(([name, port]) => `${name} on port ${port}`).join(', ');
};

const certificateLine = (settings: Settings): string[] => {
  const { SIP_TLS_PORT, SIP_WSS_PORT, DATA_DIR } = settings;
  const encrypted = [SIP_TLS_PORT, SIP_WSS_PORT].some(port => typeof port === 'number');
  if (!encrypted || process.env['SIP_TLS_CERT']) return [];
  return [
    `  TLS and WSS show a self-signed certificate, ${join(DATA_DIR, 'tls', 'sip.crt')}; SIP_TLS_CERT names a real one`,
  ];
};

const phoneLines = (welcome: Welcome, server: string): string[] =>
  welcome.extensions.map(
    one =>
      `  extension ${one.extension}   user ${one.username}   password ${one.password}   domain ${one.domain_name}   server ${server}`,
  );

/** On a terminal with colours, so that it is dark on light for every camera; in a log as plain blocks. */
const qrCode = (text: string): Promise<string> =>
  process.stdout.isTTY
    ? QRCode.toString(text, { type: 'terminal', small: true })
    : QRCode.toString(text, { type: 'utf8', margin: 2 });

/** Where letters of the platform go: links to verify addresses, to choose passwords. */
const mailLine = (settings: Settings): string =>
  settings.SMTP_URL
    ? `letters go through ${new URL(settings.SMTP_URL).host}`
    : `letters are files in ${join(settings.DATA_DIR, 'mail')} until SMTP_URL is set`;

/** Everything a newcomer needs, as printed after the very first start. */
export const welcomeText = async (settings: Settings, welcome: Welcome): Promise<string> => {
  const server = `${phoneAddress(settings)}:${settings.SIP_PORT}`;
  const more = moreTransports(settings);
  const first = welcome.extensions[0];
  const code = first ? await qrCode(`sip:${first.username}:${first.password}@${server}`) : '';
  return [
    '',
    'Welcome to Trunkline. This was the first start, so here is what it made for you',
    `(also in ${join(settings.DATA_DIR, 'welcome.json')}, for scripts):`,
    '',
    `  API         ${localUrl(settings)}/v1.0`,
    `  agent       ${welcome.username}   password ${welcome.password}`,
    `  accesskey   ${welcome.accesskey}`,
    `  number      ${welcome.number}   (dial it from a phone: the welcome flow answers)`,
    `  mail        ${mailLine(settings)}`,
    '',
    `Phones, registering over UDP or TCP${more && `; ${more}`}:`,
    ...phoneLines(welcome, server),
    ...certificateLine(settings),
    '',
    ...(first ? [`Extension ${first.extension} as a QR code (a sip: address with its password):`, code] : []),
    'Register a phone, or run in a second terminal:  npm run phone',
    '',
    'Then make it ring:',
    '',
    firstCurl(localUrl(settings), welcome),
    '',
  ].join('\n');
};

/** The few lines of every later start. */
export const shortWelcome = (settings: Settings, welcome: Welcome | undefined): string => {
  const lines = [`  API  ${localUrl(settings)}/v1.0     documentation  ${localUrl(settings)}/docs`];
  const more = moreTransports(settings);
  if (settings.SIP_SERVERS === undefined)
    lines.push(`  SIP  UDP and TCP on port ${settings.SIP_PORT}${more && `, ${more}`}`);
  if (welcome) lines.push(`  accounts, phones and the accesskey: ${join(settings.DATA_DIR, 'welcome.json')}`);
  lines.push(`  ${mailLine(settings)}`);
  return lines.join('\n');
};
