import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { PhoneError, USAGE, readSettings } from './config.ts';
import type { PhoneSettings } from './config.ts';
import { ConsolePhone, HELP } from './console-phone.ts';
import { Phone } from './phone.ts';
import { hostPort } from './sip-address.ts';
import type { Remote } from './sip-address.ts';
import { SipRefused, SipUnreachable } from './sip-registration.ts';
import { SILENCE, tone } from './sound.ts';
import { Terminal } from './terminal.ts';

const ANSWER_MS = 5000;
const AGAIN_MS = 5000;

/** Our own address on the way to the server: what Contact and SDP must say. */
async function localAddress(server: Remote): Promise<string> {
  const socket = createSocket(server.host.includes(':') ? 'udp6' : 'udp4');
  try {
    socket.connect(server.port, server.host);
    await once(socket, 'connect');
    return socket.address().address;
  } catch {
    throw new PhoneError(`There is no way from this machine to ${server.host}.`);
  } finally {
    socket.close();
  }
}

async function openPhone(settings: PhoneSettings): Promise<Phone> {
  const host = await localAddress(settings.server);
  const sound = () => (settings.tone === 0 ? SILENCE : tone(settings.tone));
  try {
    return await Phone.start({ ...settings, host, display: settings.username, sound });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new PhoneError(`Port ${settings.port} is taken by another program. Choose another --port, or leave it out.`);
  }
}

function registrationText(error: unknown, settings: PhoneSettings): string {
  const where = `${hostPort(settings.server)} (${settings.transport})`;
  if (error instanceof SipUnreachable) {
    return `No SIP server answers at ${where}. Is Trunkline running ("npm start")? On another port, give SIP_PORT or --server.`;
  }
  if (!(error instanceof SipRefused)) return String(error);
  if (error.status === 401 || error.status === 403) {
    return `${where} refused ${settings.username}: the user name or the password is wrong (from ${settings.source}). [${error.status}]`;
  }
  if (error.status === 404) return `${where} knows no extension ${settings.username}. [404]`;
  return `${where}: ${error.message}.`;
}

/** Tries again until the server is back: a phone on a desk does so too. */
async function registerAgain(phone: Phone, settings: PhoneSettings, say: (text: string) => void, stop: AbortSignal) {
  while (!stop.aborted) {
    try {
      await phone.register({ timeout_ms: ANSWER_MS });
      return say('registered again');
    } catch (error) {
      if (!stop.aborted) say(registrationText(error, settings));
    }
    await pause(AGAIN_MS, undefined, { signal: stop }).catch(() => undefined);
  }
}

async function main(): Promise<void> {
  const settings = await readSettings(process.argv.slice(2));
  if (!settings) return console.log(`${USAGE}\n\nAt the phone:\n${HELP}`);
  const phone = await openPhone(settings);
  try {
    await phone.register({ timeout_ms: ANSWER_MS });
  } catch (error) {
    await phone.close();
    throw new PhoneError(registrationText(error, settings));
  }
  runAtTerminal(phone, settings);
}

function runAtTerminal(phone: Phone, settings: PhoneSettings): void {
  const stop = new AbortController();
  const desk = new ConsolePhone(phone, settings, text => terminal.say(text));
  const quit = () => void leave(phone, desk, terminal, stop);
  const terminal = new Terminal(process.stdin, process.stdout, {
    command: text => void (/^(q|quit)$/i.test(text) ? quit() : desk.command(text)),
    status: () => desk.status(),
    quit,
  });
  const teller = terminal.live ? undefined : setInterval(() => desk.tellSound(), 500);
  stop.signal.addEventListener('abort', () => clearInterval(teller));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, quit);
  phone.agent.registration.onLost = error => {
    terminal.say(registrationText(error, settings));
    void registerAgain(phone, settings, text => terminal.say(text), stop.signal);
  };
  const { username, server, transport, tone: hz } = settings;
  terminal.say(`registered as ${username} at ${hostPort(server)} (${transport}), our port is ${phone.local.port}`);
  terminal.say(`others hear ${hz === 0 ? 'silence' : `${hz} Hz`}; ? shows what the keys do, d 1002 dials`);
  terminal.start();
}

async function leave(phone: Phone, desk: ConsolePhone, terminal: Terminal, stop: AbortController): Promise<void> {
  if (stop.signal.aborted) return;
  stop.abort();
  await Promise.race([desk.hangup(), pause(1000)]);
  // The server forgets us by itself when our registration expires, so a silent one does not keep us here.
  await phone.unregister({ timeout_ms: 1000 }).catch(() => undefined);
  await phone.close();
  terminal.close();
}

main().catch((error: unknown) => {
  console.error(error instanceof PhoneError ? error.message : error);
  process.exitCode = 1;
});
