import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { userInfo } from 'node:os';
import { delimiter, join } from 'node:path';
import { Child } from './child.ts';
import { StartError, type Settings } from './config.ts';

interface Program {
  program: string;
  package: string;
  purpose: string;
  /** With this setting it is not needed. */
  unless?: keyof Needs;
}

type Needs = Pick<Settings, 'REDIS_URL'>;

/** Programs that come from Debian, and what each is for. */
const PROGRAMS: readonly Program[] = [
  { program: 'redis-server', package: 'redis-server', purpose: 'live state and queues', unless: 'REDIS_URL' },
  { program: 'espeak-ng', package: 'espeak-ng', purpose: 'speech in many languages' },
  { program: 'flite', package: 'flite', purpose: 'better English speech' },
  { program: 'ffmpeg', package: 'ffmpeg', purpose: 'audio files of any kind' },
];

/** What tests need besides. */
export const TEST_PROGRAMS: readonly Program[] = [
  { program: 'sipp', package: 'sip-tester', purpose: 'scenarios of SIP races' },
  { program: 'baresip', package: 'baresip-core', purpose: 'a phone that others wrote' },
  { program: 'linphonec', package: 'linphone-cli', purpose: 'another' },
  { program: 'chromium', package: 'chromium', purpose: 'a browser that is a phone' },
];

/** The path of a program, or `undefined` when it is not installed. */
export const findProgram = (name: string): string | undefined => {
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    '/usr/bin',
    '/usr/sbin',
    '/usr/local/bin',
    '/opt/homebrew/bin',
  ];
  return folders
    .filter(folder => folder !== '')
    .map(folder => join(folder, name))
    .find(path => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false; // not here
      }
    });
};

/** The Debian packages that are missing for these settings. */
const missingPackages = (settings: Needs, more: readonly Program[] = []): string[] =>
  [...PROGRAMS, ...more]
    .filter(item => !(item.unless && settings[item.unless]) && findProgram(item.program) === undefined)
    .map(item => item.package);

/** How to become root: nothing to add, sudo, or no way. */
const rootPrefix = (): string[] | undefined => {
  if (userInfo().uid === 0) return [];
  if (findProgram('sudo') === undefined) return undefined;
  if (spawnSync('sudo', ['-n', 'true']).status === 0) return ['sudo', '-n'];
  return process.stdin.isTTY && spawnSync('sudo', ['-v'], { stdio: 'inherit' }).status === 0 ? ['sudo'] : undefined;
};

const runApt = async (prefix: string[], args: string[], note: (text: string) => void): Promise<boolean> => {
  const [command = 'env', ...rest] = [
    ...prefix,
    'env',
    'DEBIAN_FRONTEND=noninteractive',
    'apt-get',
    '-o',
    'DPkg::Lock::Timeout=120',
    ...args,
  ];
  const onLine = (line: string): void => {
    if (/^(Setting up|E:|Err:)/.test(line)) note(line.trim());
  };
  const child = new Child({ command, args: rest, stopSignal: 'SIGTERM', onLine });
  return (await child.exited).code === 0;
};

/** Installs what is missing from Debian. Throws a StartError that names the packages and the command when it may not. */
export const installPrograms = async (
  settings: Needs,
  note: (text: string) => void,
  more: readonly Program[] = [],
): Promise<void> => {
  const packages = missingPackages(settings, more);
  if (packages.length > 0) await installPackages(packages, note);
};

/** Installs packages from Debian. Throws a StartError that names them and the command when it may not. */
export const installPackages = async (packages: readonly string[], note: (text: string) => void): Promise<void> => {
  const command = `apt-get install -y --no-install-recommends ${packages.join(' ')}`;
  if (findProgram('apt-get') === undefined)
    throw new StartError(
      `These programs are missing and this system has no apt-get: ${packages.join(', ')}. Install them and start again.`,
    );
  const prefix = rootPrefix();
  if (prefix === undefined)
    throw new StartError(
      `These packages are missing and this user may not install them: ${packages.join(', ')}. Run: sudo ${command}`,
    );
  note(`installing ${packages.join(', ')} from Debian …`);
  const install = ['install', '-y', '--no-install-recommends', ...packages];
  if (await runApt(prefix, install, () => undefined)) return;
  await runApt(prefix, ['update'], note);
  if (await runApt(prefix, install, note)) return;
  throw new StartError(`Installing ${packages.join(', ')} failed. Run it by hand to see why: sudo ${command}`);
};
