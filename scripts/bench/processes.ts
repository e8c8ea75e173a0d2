import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Ticks of the processor time in /proc, in a second. */
const TICKS = 100;
/** The state of a socket that listens, in /proc/net/tcp (proc(5)). */
const LISTENING = '0A';

/** Processor seconds that a process has used. */
export const processorSeconds = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
};

/** The sockets that listen on a TCP port of this machine, as /proc/<pid>/fd names them. */
const listeningOn = (port: number): string[] =>
  ['tcp', 'tcp6']
    .flatMap(table => readFileSync(`/proc/net/${table}`, 'utf8').split('\n'))
    .map(line => line.trim().split(/\s+/))
    .filter(([, local = '', , state]) => state === LISTENING && parseInt(local.split(':')[1] ?? '', 16) === port)
    .map(fields => `socket:[${fields[9] ?? ''}]`);

const holds = (pid: string, sockets: string[]): boolean => {
  try {
    return readdirSync(`/proc/${pid}/fd`).some(fd => sockets.includes(readlinkSync(`/proc/${pid}/fd/${fd}`)));
  } catch {
    return false; // it has ended, or is somebody else's
  }
};

/** The process that listens on a TCP port of this machine. Throws when there is none that we may look at. */
export const listenerOf = (port: number): number => {
  const sockets = listeningOn(port);
  const pid = readdirSync('/proc').find(entry => /^\d+$/.test(entry) && holds(entry, sockets));
  if (pid === undefined) throw new Error(`nobody on this machine listens on port ${port}`);
  return Number(pid);
};
