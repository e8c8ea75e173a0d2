import { ownServers } from '../../support/own-servers.ts';
import type { Difference } from './transcript-comparison.ts';
import { ofEngine } from './transcript-differences-engine.ts';
import { ofFreeSwitch } from './transcript-differences-freeswitch.ts';

const anywhere = /./;
const rooms = /esl\/(16|17|18|38)-/;

/** What no server can do again: what hangs on the recorder, its machine and the moment. */
const ofRecordings: Difference[] = [
  {
    in: anywhere,
    differs: [/CHANNEL_EXECUTE(_COMPLETE)? (socket|park|conference)/, /^Application-(UUID|Response)$/],
    sometimes: true,
    why: 'an identifier of the run, and what an application before it left behind',
  },
  {
    in: anywhere,
    differs: [/response to api (uuid_dump|status|version|strepoch|sofia)|response to API version/, /^body$/],
    why: 'they tell of the server and its machine',
  },
  {
    in: /esl\/03-/,
    lacks: /(reply|response) to (api|api expr|) \{/,
    adds: /(reply|response) to (api|api expr|exit) \{/,
    why: 'the recording lost a blank, and shows two answers before their commands',
  },
  { in: /esl\/(04|10)-/, adds: /^SIP BYE/, why: 'the recording ended before it' },
  {
    in: /esl\/(07|09|15)-/,
    adds: /^OUT\d (PLAYBACK_STOP|CHANNEL_EXECUTE_COMPLETE (?!hangup)|CHANNEL_CALLSTATE HANGUP).*"Answer-State":"hangup"/,
    sometimes: true,
    why: 'a real server may close the socket of a leg that hangs up before it told the rest; the engine tells it first, always',
  },
  {
    in: /esl\/15-/,
    adds: /CHANNEL_EXECUTE(_COMPLETE)? hangup/,
    sometimes: true,
    why: 'the same, of the hang-up itself',
  },
  {
    in: rooms,
    lacks: /(start|stop)-talking|floor-change|gain-level/,
    adds: /(start|stop)-talking|floor-change/,
    differs: [/conference::maintenance/, /^Floor$/],
    why: 'who talks when hangs on the voice of the recorder',
  },
  {
    in: /audio-fork\/02-/,
    lacks: /CHANNEL_EXECUTE playback|PLAYBACK_START/,
    adds: /CHANNEL_EXECUTE playback|PLAYBACK_START/,
    why: 'a sound begins when it begins, before or after a fork is connected',
  },
  {
    in: /audio-fork\/(04|10)-/,
    lacks: /^SIP BYE/,
    adds: /^SIP BYE/,
    why: 'the recording shows one of a call that was made before it',
  },
];

/** Everything that a client of the server under test meets otherwise than in the recordings of FreeSWITCH 1.10.12, and why. */
export const differences: Difference[] = [...ofRecordings, ...(ownServers() ? ofFreeSwitch : ofEngine)];
