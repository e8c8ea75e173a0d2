import type { Law } from './g711.ts';
import type { RtpEndpoint } from './rtp-endpoint.ts';
import { EVENT_PAYLOAD_TYPE, formatAnswer, formatSdp, mirrored, parseSdp, payloadTypeOf } from './sdp.ts';
import type { AudioDescription, Direction, LocalDescription } from './sdp.ts';
import type { CallMedia } from './sip-call.ts';

export interface AudioOptions {
  /** Our address as the other side must see it. */
  host: string;
  /** In order of preference; default both. */
  codecs?: Law[];
  /** False: a phone without RFC 4733, whose keys are tones. */
  events?: boolean;
}

/** Session descriptions of a phone that can put others on hold. */
export interface DirectedMedia extends CallMedia {
  /** What we want to do: `sendonly` puts the other side on hold. */
  wanted: Direction;
  /** Whether this phone can answer an offer; one that it cannot is refused before anybody is rung. */
  takes(offer: string): boolean;
}

/** Offer and answer for one RTP endpoint (RFC 3264). */
export class CallAudio implements DirectedMedia {
  wanted: Direction = 'sendrecv';
  #endpoint: RtpEndpoint;
  #options: AudioOptions;
  #version = 0;
  #id = Date.now();

  constructor(endpoint: RtpEndpoint, options: AudioOptions) {
    this.#endpoint = endpoint;
    this.#options = options;
  }

  offer(): string {
    return formatSdp(
      this.#describe(this.wanted, this.#laws(), this.#options.events === false ? undefined : EVENT_PAYLOAD_TYPE),
    );
  }

  takes(offer: string): boolean {
    return parseSdp(offer)?.codecs.some(({ law }) => this.#speaks(law)) ?? false;
  }

  answer(text: string): string | undefined {
    const offer = parseSdp(text);
    const codec = offer?.codecs.find(c => this.#speaks(c.law));
    if (!offer || !codec) return undefined;
    const events = this.#options.events === false ? undefined : offer.eventPayloadType;
    const direction = mirrored(offer.direction, this.wanted);
    this.#connect(offer, codec, events);
    const local = this.#describe(direction, [codec], events);
    return formatAnswer(local, offer);
  }

  accept(text: string): boolean {
    const answer = parseSdp(text);
    const codec = answer?.codecs.find(c => this.#speaks(c.law));
    if (!answer || !codec) return false;
    this.#connect(answer, codec, this.#options.events === false ? undefined : answer.eventPayloadType);
    return true;
  }

  #connect(theirs: AudioDescription, codec: { law: Law; payloadType: number }, events: number | undefined): void {
    const direction = mirrored(theirs.direction, this.wanted);
    const send = direction === 'sendrecv' || direction === 'sendonly';
    this.#endpoint.connect({ remote: theirs.remote, ...codec, eventPayloadType: events, send });
  }

  #speaks(law: Law): boolean {
    return (this.#options.codecs ?? ['PCMU', 'PCMA']).includes(law);
  }

  #laws(): { law: Law; payloadType: number }[] {
    return (this.#options.codecs ?? (['PCMU', 'PCMA'] as const)).map(law => ({ law, payloadType: payloadTypeOf(law) }));
  }

  #describe(
    direction: Direction,
    codecs: { law: Law; payloadType: number }[],
    events: number | undefined,
  ): LocalDescription {
    this.#version += 1;
    const remote = { host: this.#options.host, port: this.#endpoint.port };
    return { id: this.#id, version: this.#version, remote, direction, codecs, eventPayloadType: events };
  }
}
