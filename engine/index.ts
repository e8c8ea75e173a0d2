import type { AdminConfig } from './drachtio/admin.ts';
import { startSipServer, type ExtraPorts } from './drachtio/server.ts';
import type { RequestHandlers } from './drachtio/outbound/director.ts';
import { BanList } from './sip/ban-list.ts';
import type { MediaServer, MediaServerConfig, MediaServerStats } from './freeswitch/server.ts';
import { startMediaThread } from './freeswitch/thread.ts';
import type { CodecName } from './media/codecs/table.ts';
import { Certificates, type CertificateFiles } from './sip/certificates.ts';
import { ownCertificate } from './sip/self-signed.ts';
import type { SipLog } from './sip/log.ts';
import { threadMemory } from './thread-memory.ts';

/** Everything the embedded engine needs to know. */
export interface EngineConfig {
  /** Address that SIP and RTP are bound to. */
  host: string;
  /** Address shown to others in SIP and SDP when the bound one is not what they see. */
  advertisedAddress?: string;
  /** SIP port for phones and trunks, UDP and TCP; 0 = any. */
  sipPort: number;
  /** DNS servers to ask for SIP servers; those of the system without any. */
  nameServers?: string[];
  /** How many SIP connections one source may have; 0 for any number. */
  connectionsPerSource?: number;
  /** Ports for SIP over TLS, WS and WSS; 0 = any, none without one. */
  sipPorts?: ExtraPorts;
  /** Needed with any port for TLS or WSS. */
  tls?: TlsConfig;
  /** Codecs that are spoken, the most preferred first; all by default. */
  codecs?: readonly CodecName[];
  /** First and last RTP port. */
  rtpPorts: [low: number, high: number];
  /** The admin port that drachtio-srf connects to, and that for TLS. */
  admin: AdminConfig;
  /** Where new requests go instead of applications that have connected, by method. */
  requestHandlers?: RequestHandlers;
  /** The event socket that drachtio-fsmrf connects to; port 0 = any. */
  eventSocket: { host: string; port: number; password: string };
  /** The media server's own SIP side, only for SIP servers: best a loopback address; port 0 = any. */
  mediaSip: { host: string; port: number };
  /** URL of the Redis that lists banned sources; without it nobody is banned. */
  bansRedis?: string;
  /** Where relative sound files are looked for. */
  soundsDir: string;
  /** Where fetched sounds and speech are kept; a temporary directory by default. */
  cacheDir?: string;
  /** Whether the media server runs in this thread, too, which tests do to start quickly; else it has one of its own. */
  singleThread?: boolean;
  log: SipLog;
}

/** What TLS and WSS show. */
export interface TlsConfig {
  /** Without any, a self-signed one is made and kept in `dir`. */
  files: CertificateFiles[];
  dir: string;
  /** Host names and addresses in the self-signed certificate. */
  names: string[];
  /** Whether TLS servers we connect to have to prove their names. */
  verify: boolean;
}

/** A running engine. */
export interface Engine {
  sipPort: number;
  sipPorts: ExtraPorts;
  adminPort: number;
  adminTlsPort: number | undefined;
  eventSocketPort: number;
  mediaSipPort: number;
  /** Reads the certificates again; calls go on. */
  reloadCertificates(): void;
  stop(): Promise<void>;
  stats(): Promise<EngineStats>;
}

/** What is open, and what each thread keeps in MB. */
export interface EngineStats {
  dialogs: number;
  transactions: number;
  channels: number;
  rtp_ports: number;
  /** Messages of banned sources that were dropped so far. */
  dropped: number;
  /** Requests of strangers that were turned away because too many waited. */
  turned_away: number;
  sip_heap_mb: number;
  sip_buffers_mb: number;
  media_heap_mb: number;
  media_buffers_mb: number;
}

/**
 * Starts the embedded SIP server in this thread and the media server in another. Others reach them by their sockets only.
 * @throws Error with a sentence when a port cannot be bound; nothing is left running then
 */
export async function startEngine(config: EngineConfig): Promise<Engine> {
  const { host, advertisedAddress, admin, eventSocket, soundsDir, cacheDir, log } = config;
  const certificates = certificatesOf(config);
  const bans = config.bansRedis ? new BanList(config.bansRedis, log) : undefined;
  const ports = config.sipPorts;
  const sip = await startSipServer({
    ...{ host, advertisedAddress, port: config.sipPort, tcp: true, ports, certificates, admin, bans, log },
    ...{ nameServers: config.nameServers, connectionsPerSource: config.connectionsPerSource },
    requestHandlers: config.requestHandlers,
  }).catch((error: unknown) => {
    certificates?.stop();
    throw error;
  });
  bans?.start();
  const start = config.singleThread ? startMediaHere : startMediaThread;
  const media = await start({
    rtpHost: host,
    advertisedAddress,
    codecs: config.codecs,
    rtpPorts: config.rtpPorts,
    sip: config.mediaSip,
    eventSocket,
    soundsDir,
    cacheDir,
    log,
  }).catch(async (error: unknown) => {
    certificates?.stop();
    bans?.stop();
    await sip.stop();
    throw error;
  });
  return {
    sipPort: sip.port,
    sipPorts: sip.ports,
    reloadCertificates: () => void certificates?.reload(),
    ...{ adminPort: sip.adminPort, adminTlsPort: sip.adminTlsPort },
    eventSocketPort: media.eventSocketPort,
    mediaSipPort: media.sipPort,
    stop: async () => {
      certificates?.stop();
      bans?.stop();
      await media.stop(); // first, so that its BYEs still find the SIP server
      await sip.stop();
    },
    stats: async () => ({ ...statsOf(sip.stats(), await media.stats()), dropped: bans?.dropped ?? 0 }),
  };
}

/** Loaded only here, so that a thread has no code of the other's. */
async function startMediaHere(config: MediaServerConfig): Promise<MediaServer> {
  const { startMediaServer } = await import('./freeswitch/server.ts');
  return startMediaServer(config);
}

/** @throws Error with a sentence when a certificate cannot be used */
function certificatesOf({ sipPorts = {}, admin, tls, log }: EngineConfig): Certificates | undefined {
  if (!tls || [sipPorts.tls, sipPorts.wss, admin.tlsPort].every(port => port === undefined)) return undefined;
  const [first = ownCertificate(tls.dir, tls.names), ...others] = tls.files;
  return new Certificates({ files: [first, ...others], verify: tls.verify, log });
}

function statsOf(
  sip: { dialogs: number; transactions: number; turned_away: number },
  { channels, rtp_ports, transactions, memory }: MediaServerStats,
): Omit<EngineStats, 'dropped'> {
  const own = threadMemory();
  return {
    dialogs: sip.dialogs,
    transactions: sip.transactions + transactions,
    ...{ channels, rtp_ports, turned_away: sip.turned_away },
    ...{ sip_heap_mb: own.heap_mb, sip_buffers_mb: own.buffers_mb },
    ...{ media_heap_mb: memory.heap_mb, media_buffers_mb: memory.buffers_mb },
  };
}
