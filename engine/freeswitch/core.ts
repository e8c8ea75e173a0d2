import { randomUUID } from 'node:crypto';
import type { EslConnection } from '../esl/connection.ts';
import type { EslEvent, EslHeaders, EventFormat } from '../esl/encode.ts';
import type { MediaClock } from '../media/clock.ts';
import type { CodecName } from '../media/codecs/table.ts';
import type { RtpPorts } from '../media/rtp-ports.ts';
import type { Certificate } from '../media/secure/certificate.ts';
import type { Channel } from './channel.ts';
import { Conferences } from './conference/conferences.ts';
import { addChannelHeaders, addVariables, eventHeaders, version } from './events.ts';

/** A logger, of which any subset of levels may go anywhere. */
export interface MediaLog {
  debug(fields: object, text: string): void;
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
}

/** What the media server's parts share. */
export interface CoreOptions {
  /** Address that RTP sockets are bound to. */
  rtpHost: string;
  /** Address written into SDP instead of the bound one, for parties that are not on this machine. */
  advertisedAddress?: string;
  /** Codecs that are spoken, the most preferred first. */
  codecs: readonly CodecName[];
  soundsDir: string;
  /** Where files fetched over HTTP and speech are kept for a while. */
  cacheDir: string;
  maxSessions: number;
  /** Time between two heartbeats; FreeSWITCH sends one every 20 s. */
  heartbeatMs: number;
  ports: RtpPorts;
  /** What DTLS handshakes show. */
  certificate: Certificate;
  clock: MediaClock;
  log: MediaLog;
}

/** The media server's identity, its channels and its events. */
export class Core {
  readonly uuid = randomUUID();
  readonly startedAt = Date.now();
  readonly options: CoreOptions;
  readonly channels = new Map<string, Channel>();
  readonly conferences: Conferences;
  readonly globals = new Map<string, string>();
  /** Inbound connections; the server that accepts them keeps this set. */
  inbound: ReadonlySet<EslConnection> = new Set();
  /** `host:port` of the SIP listener, as `sofia status` shows it. */
  sipAddress = '';
  /** The same over IPv6; null where it is not spoken. */
  sipAddress6: string | null = null;
  sessionsSinceStart = 0;
  peakSessions = 0;
  #sequence = 0;
  #heartbeat: NodeJS.Timeout | null = null;

  constructor(options: CoreOptions) {
    this.options = options;
    this.conferences = new Conferences(this);
    this.globals.set('core_uuid', this.uuid);
    this.globals.set('sound_prefix', options.soundsDir);
    this.globals.set('version', version);
  }

  /** Starts the heartbeats that tell clients the load. */
  start(): void {
    this.#heartbeat ??= setInterval(() => this.beat(), this.options.heartbeatMs);
    this.#heartbeat.unref();
  }

  /** Stops the heartbeats. */
  stop(): void {
    if (this.#heartbeat) clearInterval(this.#heartbeat);
    this.#heartbeat = null;
  }

  /** Registers a new channel. */
  add(channel: Channel): void {
    this.channels.set(channel.uuid, channel);
    this.sessionsSinceStart += 1;
    this.peakSessions = Math.max(this.peakSessions, this.channels.size);
  }

  /** Milliseconds since the start. */
  uptimeMs(): number {
    return Date.now() - this.startedAt;
  }

  /** Raises an event of no channel. */
  raise(event: EslEvent): void {
    const heard = [...this.inbound].filter(one => one.subscriptions.wants(event.name));
    const controlling = [...this.channels.values()].flatMap(one =>
      one.connection?.subscriptions.wants(event.name) ? [one.connection] : [],
    );
    this.#deliver([...heard, ...controlling], {
      ...event,
      headers: { ...this.headers(event.name, event.subclass), ...event.headers },
    });
  }

  /** Raises an event of a channel, if anybody listens; `extra` follows the channel's own headers. */
  raiseFor(channel: Channel, name: string, extra: EslHeaders = {}, withVariables = true): void {
    const heard = [...this.inbound].filter(one => one.subscriptions.wants(name));
    if (channel.connection?.subscriptions.wants(name)) heard.push(channel.connection);
    if (heard.length === 0) return;
    const headers = addChannelHeaders(this.headers(name), channel);
    if (withVariables) addVariables(headers, channel);
    this.#deliver(heard, { name, headers: Object.assign(headers, extra) });
  }

  /** Raises a CUSTOM event of a channel, with its variables, as add-on modules do; `body` only where there is one. */
  raiseCustomFor(channel: Channel, subclass: string, body?: string, extra: EslHeaders = {}): void {
    const heard = [...this.inbound].filter(one => one.subscriptions.wants('CUSTOM'));
    if (channel.connection?.subscriptions.wants('CUSTOM')) heard.push(channel.connection);
    if (heard.length === 0) return;
    const headers = addChannelHeaders(this.headers('CUSTOM', subclass), channel);
    Object.assign(addVariables(headers, channel), extra);
    this.#deliver(heard, { name: 'CUSTOM', subclass, headers, ...(body === undefined ? {} : { body }) });
  }

  /** The headers every event has, with the next sequence number. */
  headers(name: string, subclass?: string): EslHeaders {
    const headers = eventHeaders(name, this.uuid, ++this.#sequence);
    if (subclass !== undefined) headers['Event-Subclass'] = subclass;
    return headers;
  }

  /**
   * Sends one HEARTBEAT. A client that never subscribed gets it too: drachtio-fsmrf does not subscribe again when it has
   * re-opened its connection (protocol page §3).
   */
  beat(): void {
    const event: EslEvent = { name: 'HEARTBEAT', headers: { ...this.headers('HEARTBEAT'), ...this.#load() } };
    const encoded = new Map<EventFormat, string>();
    for (const one of this.inbound) {
      if (one.subscribed) one.offer(event, encoded);
      else one.force(event);
    }
  }

  #load(): EslHeaders {
    const up = this.uptimeMs();
    return {
      'Event-Info': 'System Ready',
      'Up-Time': upTime(up),
      'FreeSWITCH-Version': version,
      'Uptime-msec': String(up),
      'Session-Count': String(this.channels.size),
      'Max-Sessions': String(this.options.maxSessions),
      'Session-Per-Sec': '200',
      'Session-Since-Startup': String(this.sessionsSinceStart),
      'Session-Peak-Max': String(this.peakSessions),
      'Heartbeat-Interval': String(Math.round(this.options.heartbeatMs / 1000)),
      'Idle-CPU': idleCpu(),
    };
  }

  #deliver(connections: EslConnection[], event: EslEvent): void {
    const encoded = new Map<EventFormat, string>();
    for (const one of connections) one.offer(event, encoded);
  }
}

/** A duration as FreeSWITCH writes it: `0 years, 0 days, 0 hours, 0 minutes, 6 seconds, 838 milliseconds, 0 microseconds`. */
export function upTime(ms: number): string {
  const parts: [number, string][] = [
    [Math.floor(ms / 31_536_000_000), 'year'],
    [Math.floor(ms / 86_400_000) % 365, 'day'],
    [Math.floor(ms / 3_600_000) % 24, 'hour'],
    [Math.floor(ms / 60_000) % 60, 'minute'],
    [Math.floor(ms / 1000) % 60, 'second'],
    [ms % 1000, 'millisecond'],
    [0, 'microsecond'],
  ];
  return parts.map(([number, unit]) => `${number} ${unit}${number === 1 ? '' : 's'}`).join(', ');
}

let lastCpu = process.cpuUsage();
let lastAt = performance.now();

/** Percent of one core that this process has not used since the last question. */
function idleCpu(): string {
  const now = performance.now();
  const used = process.cpuUsage(lastCpu);
  const share = (used.user + used.system) / 1000 / Math.max(1, now - lastAt);
  lastCpu = process.cpuUsage();
  lastAt = now;
  return Math.max(0, 100 - share * 100).toFixed(6);
}
