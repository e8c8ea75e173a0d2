import { isIPv6 } from 'node:net';
import { AudioLeg } from '../media/audio-leg.ts';
import { codecNamed } from '../media/codecs/table.ts';
import { speaksTo } from '../sip/addresses.ts';
import type { SipLog } from '../sip/log.ts';
import { headerOf, responseTo, type SipRequest } from '../sip/message.ts';
import { SipStack } from '../sip/stack.ts';
import type { ServerTransaction } from '../sip/transactions/server.ts';
import { parseUri, tagOf } from '../sip/uri.ts';
import { Channel } from './channel.ts';
import type { Core } from './core.ts';
import type { Route } from './dialplan.ts';
import { routeOf } from './dialplan.ts';
import type { Security } from './negotiation.ts';
import { Negotiation } from './negotiation.ts';
import { withDirection } from './sdp.ts';
import type { SipLegEvents } from './sip-leg.ts';
import { allowed, SipLeg } from './sip-leg.ts';

/** What happens to a call once it is answered and acknowledged. */
export type OnEstablished = (channel: Channel, route: Route) => void;

/** The media server's SIP side: takes the calls that drachtio-fsmrf makes and keeps their dialogs. */
export class SipUserAgent {
  readonly #core: Core;
  readonly #stack: SipStack;
  readonly #onEstablished: OnEstablished;
  readonly #legs = new Map<string, SipLeg>();

  constructor(core: Core, listen: { host: string; port: number }, onEstablished: OnEstablished, log?: SipLog) {
    this.#core = core;
    this.#onEstablished = onEstablished;
    const hosts = [listen.host, ...(speaksBoth(core, listen.host) ? ['::1'] : [])];
    this.#stack = new SipStack({ listeners: hosts.map(host => ({ transport: 'udp', host, port: listen.port })), log });
    this.#stack.on('request', transaction => this.#onRequest(transaction));
  }

  /** Listens and gives the port, and the one on `::1` where there is one. Rejects with a sentence when it is in use. */
  async start(): Promise<[port: number, six: number | undefined]> {
    await this.#stack.start();
    const [first, six] = this.#stack.addresses;
    return [first?.port ?? 0, six?.port];
  }

  /** Stops listening; calls should have been hung up before. */
  async stop(): Promise<void> {
    await this.#stack.stop();
  }

  /** Open transactions and dialogs. */
  stats(): { transactions: number; dialogs: number } {
    return { transactions: this.#stack.stats().transactions, dialogs: this.#legs.size };
  }

  #onRequest(transaction: ServerTransaction): void {
    const { request } = transaction;
    const leg = this.#legs.get(headerOf(request, 'call-id') ?? '');
    if (leg?.owns(request)) return leg.receive(transaction);
    if (tagOf(headerOf(request, 'to')) !== undefined) return transaction.respond(responseTo(request, 481));
    if (request.method === 'INVITE') return void this.#onInvite(transaction);
    const status = request.method === 'OPTIONS' ? 200 : 405;
    transaction.respond(responseTo(request, status, undefined, { Allow: allowed, Accept: 'application/sdp' }));
  }

  async #onInvite(transaction: ServerTransaction): Promise<void> {
    const { request } = transaction;
    const route = routeOf(request);
    if (!route) return transaction.respond(responseTo(request, 404));
    if (this.#core.channels.size >= this.#core.options.maxSessions)
      return transaction.respond(responseTo(request, 503));
    if (this.#legs.has(headerOf(request, 'call-id') ?? '')) return transaction.respond(responseTo(request, 482));
    if (request.body.length > 0) transaction.respond(responseTo(request, 100));
    const { ports, clock, log } = this.#core.options;
    try {
      const audio = await AudioLeg.open({ ports, clock });
      if (transaction.answered) return audio.close(); // cancelled meanwhile
      this.#answer(transaction, audio, route);
    } catch (error) {
      log.warn({ reason: error instanceof Error ? error.message : String(error) }, 'no RTP port for a new call');
      transaction.respond(responseTo(request, 503));
    }
  }

  #answer(transaction: ServerTransaction, audio: AudioLeg, route: Route): void {
    const { rtpHost, advertisedAddress, certificate, codecs } = this.#core.options;
    const locality = { bound: rtpHost, advertised: advertisedAddress };
    const abilities = { codecs, security: securityOf(transaction.request) };
    const negotiation = new Negotiation(audio, locality, certificate, abilities);
    const channel = new Channel(this.#core, audio);
    const leg = new SipLeg(this.#stack, transaction, negotiation, this.#eventsFor(channel, negotiation, route));
    this.#legs.set(leg.callId, leg);
    channel.onDestroyed = () => this.#legs.delete(leg.callId);
    describe(channel, transaction.request, transaction, this.#core);
    channel.created();
    if (!leg.answer(transaction)) return void channel.hangup('INCOMPATIBLE_DESTINATION');
    channel.dialog = leg;
    describeMedia(channel, negotiation);
  }

  #eventsFor(channel: Channel, negotiation: Negotiation, route: Route): SipLegEvents {
    return {
      established: () => {
        describeMedia(channel, negotiation);
        channel.answered();
        this.#onEstablished(channel, route);
      },
      modified: () => {
        describeMedia(channel, negotiation);
        updateHold(channel, negotiation);
      },
      ended: cause => void channel.hangup(cause),
      digit: (digit, durationMs) => channel.pressed(digit, durationMs * 8, 'ENDPOINT'),
    };
  }
}

/** Whether a call over IPv6 is to be taken beside those over IPv4: drachtio-fsmrf's option `family` asks for an offer over it. */
function speaksBoth({ options }: Core, host: string): boolean {
  return speaksTo(options.rtpHost, '::1') && !isIPv6(host);
}

/**
 * What is asked for where our offer comes first: drachtio-fsmrf's option `srtp` is one header (protocol page §4), FreeSWITCH's
 * variable `media_webrtc` as a header the other.
 */
function securityOf(request: SipRequest): Security {
  if (headerOf(request, 'x-media-webrtc') === 'true') return 'dtls';
  return headerOf(request, 'x-secure-rtp') === 'true' ? 'sdes' : 'none';
}

/** The variables that tell what the INVITE said (protocol page §5). */
function describe(channel: Channel, request: SipRequest, { source }: ServerTransaction, core: Core): void {
  const target = parseUri(request.uri);
  const userAgent = headerOf(request, 'user-agent') ?? '';
  channel.name = `sofia/drachtio_mrf/nobody@${source.address}:${source.port}`;
  const variables: Record<string, string> = {
    direction: 'inbound',
    session_id: String(core.sessionsSinceStart),
    channel_name: channel.name,
    sip_network_ip: source.address,
    sip_network_port: String(source.port),
    sip_received_ip: source.address,
    sip_received_port: String(source.port),
    sip_via_protocol: source.transport,
    sofia_profile_name: 'drachtio_mrf',
    sofia_profile_url: `sip:mod_sofia@${core.sipAddress}`,
    sip_req_user: target?.user ?? '',
    sip_req_host: target?.host ?? '',
    sip_user_agent: userAgent,
    sip_call_id: headerOf(request, 'call-id') ?? '',
    sip_full_from: headerOf(request, 'from') ?? '',
    endpoint_disposition: 'ANSWER',
    playback_terminators: 'none',
    park_after_bridge: 'true',
    hangup_after_bridge: 'false',
  };
  for (const [name, value] of Object.entries(variables)) channel.set(name, value);
  const custom = request.headers.filter(one => one.name.toLowerCase().startsWith('x-')).slice(0, 100);
  for (const { name, value } of custom) channel.set(`sip_h_${name}`, value);
}

/** The variables that tell what was negotiated; renewed by every re-INVITE. */
function describeMedia(channel: Channel, { localSdp, remoteSdp, localAddress, remote }: Negotiation): void {
  const event = remote?.telephoneEvent;
  const codec = remote?.codec ?? 'PCMU';
  const rate = String(codecNamed(codec).toldRate);
  const variables: Record<string, string> = {
    rtp_local_sdp_str: localSdp === '' ? '' : withDirection(localSdp),
    local_media_ip: localAddress,
    local_media_port: String(channel.leg.localPort),
    advertised_media_ip: localAddress,
    switch_r_sdp: remoteSdp,
    remote_media_ip: remote?.address ?? '',
    remote_media_port: remote ? String(remote.port) : '',
    remote_audio_media_flow: remote?.direction ?? 'sendrecv',
    read_codec: codec,
    write_codec: codec,
    read_rate: rate,
    write_rate: rate,
    rtp_use_codec_name: codec,
    rtp_use_codec_ptime: String(remote?.ptime ?? 20),
    rtp_2833_send_payload: event === null || event === undefined ? '' : String(event),
    rtp_has_crypto: remote?.crypto?.suite ?? '',
    rtp_secure_media_confirmed: remote?.crypto || remote?.dtls ? 'true' : '',
    media_webrtc: remote?.dtls ? 'true' : '',
    dtmf_type: event === null ? 'info' : 'rfc2833',
  };
  for (const [name, value] of Object.entries(variables)) channel.set(name, value);
}

/** A party that listens no longer is on hold: HELD, and back over UNHELD to ACTIVE (protocol page §7). */
function updateHold(channel: Channel, { remote }: Negotiation): void {
  const held = remote?.direction === 'inactive' || remote?.direction === 'sendonly';
  if (held) return channel.setCallState('HELD');
  if (channel.callState !== 'HELD') return;
  channel.setCallState('UNHELD');
  channel.setCallState('ACTIVE');
}
