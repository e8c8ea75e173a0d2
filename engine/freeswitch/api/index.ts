import type { ApiCommand } from '../api-command.ts';
import type { Core } from '../core.ts';
import { avmd } from './avmd.ts';
import { conference } from './conference.ts';
import * as control from './control.ts';
import { uuidRecord } from './record.ts';
import * as server from './server.ts';
import { uuidAudioFork } from './uuid-audio-fork.ts';
import { uuidDub } from './uuid-dub.ts';
import { uuidDisplace } from './uuid-displace.ts';
import { uuidVadDetect, uuidVadSilero } from './uuid-vad-detect.ts';
import * as variables from './variables.ts';

const all: ApiCommand[] = [
  ...Object.values(server),
  ...Object.values(variables),
  ...Object.values(control),
  avmd,
  conference,
  uuidAudioFork,
  uuidDisplace,
  uuidDub,
  uuidRecord,
  uuidVadDetect,
  uuidVadSilero,
];

const commands: ReadonlyMap<string, ApiCommand> = new Map(all.map(one => [one.name, one]));

/** Runs an api command; what we do not know is answered as FreeSWITCH answers it. Never rejects. */
export function runApi(core: Core, name: string, args: string): string | Promise<string> {
  const command = commands.get(name);
  if (!command) return `-ERR ${name} Command not found!\n`;
  try {
    const result = command.run(core, args);
    return typeof result === 'string' ? result : result.catch(failed);
  } catch (error) {
    return failed(error);
  }
}

/** A broken command must not take the connection with it. */
function failed(error: unknown): string {
  return `-ERR ${error instanceof Error ? error.message.replace(/\s+/g, ' ') : 'failed'}\n`;
}
