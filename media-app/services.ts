import type { Groupcall } from '#contract/groupcall';
import type { HttpAnswer, HttpRequest } from '#flow/action';
import type { AudioRoad } from './audio/road.ts';
import type { CarrierCallers } from './carrier/callers.ts';
import type { Carriers } from './carrier/carriers.ts';
import type { CallRequest, CreatedCalls } from './call/request.ts';
import type { GroupcallRequest } from './groupcall/create.ts';
import type { CallElsewhere } from './call/elsewhere.ts';
import type { CallRegistry } from './call/registry.ts';
import type { CallSession } from './call/session.ts';
import type { StateStore } from './call/state-store.ts';
import type { Directory } from './directory.ts';
import type { Log } from '#process/log';
import type { AudioLibrary } from './media/audio-library.ts';
import type { MediaServers } from './media/servers.ts';
import type { Neighbours } from './neighbours.ts';
import type { Notices } from './notices.ts';
import type { Presences } from './presence.ts';
import type { Contacts } from './sip/contacts.ts';
import type { Guard } from './sip/guard/guard.ts';
import type { SipServers } from './sip/servers.ts';
import type { Settings } from './config.ts';
import type { Speech } from './speech/speech.ts';

/** What calls, groupcalls and activeflows work with; made once in `app.ts` and handed down. */
export interface Services {
  settings: Settings;
  log: Log;
  store: StateStore;
  directory: Directory;
  registry: CallRegistry;
  sip: SipServers;
  carriers: Carriers;
  carrierCallers: CarrierCallers;
  contacts: Contacts;
  presences: Presences;
  guard: Guard;
  notices: Notices;
  neighbours: Neighbours;
  media: MediaServers;
  audio: AudioLibrary;
  speech: Speech;
  /** The file of the music on hold, as media servers find it. */
  holdMusic: () => Promise<string>;
  /** Places a groupcall (groupcall/create.ts). */
  placeGroupcall: (request: GroupcallRequest) => Promise<Groupcall>;
  /** The one way of audio into and out of our code. */
  road: AudioRoad;
  /** Places calls (call/create.ts); here, so that what a call does may itself place calls. */
  placeCalls: (request: CallRequest) => Promise<CreatedCalls>;
  /** Calls into a conversation that another node holds (call/elsewhere.ts). */
  callElsewhere: (request: CallElsewhere) => CallSession;
  /** The address behind a host name that a customer chose; rejects what may not be asked (#outbound). */
  resolve: (host: string) => Promise<{ address: string; family: number }>;
  sendHttp: (request: HttpRequest) => Promise<HttpAnswer>;
}
