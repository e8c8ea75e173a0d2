import { randomInt } from 'node:crypto';
import type { AudioLeg } from '../media/audio-leg.ts';
import type { Certificate } from '../media/secure/certificate.ts';
import type { CodecName } from '../media/codecs/table.ts';
import type { Protection } from '../media/secure/protection.ts';
import { isIPv6 } from 'node:net';
import { isWildcard, localAddressFor, publicAddress, speaksTo } from '../sip/addresses.ts';
import type { LocalAudio, RemoteAudio, SessionDescription } from './sdp.ts';
import type { CryptoLine } from './sdp-crypto.ts';
import { newKeys } from './sdp-crypto.ts';
import type { LocalDtls } from './sdp-dtls.ts';
import { newCredentials } from './sdp-dtls.ts';
import { answerSdp, chooseAudio, describeSdp, offerSdp, parseSdp } from './sdp.ts';

/** How we find our own address for SDP. */
export interface Locality {
  /** Address the RTP socket is bound to. */
  bound: string;
  advertised?: string;
}

/** What our descriptions say of ourselves. */
export interface Abilities {
  /** Codecs that we speak, the most preferred first. */
  codecs: readonly CodecName[];
  /** What our own offers ask for; an offer of the other side is answered in kind. */
  security: Security;
}

/** How our offers protect the media. */
export type Security = 'none' | 'sdes' | 'dtls';

/** Offers and answers of one audio leg (RFC 3264); keeps what was agreed on and tells the leg. */
export class Negotiation {
  /** Our latest description. */
  localSdp = '';
  /** The other side's latest description. */
  remoteSdp = '';
  localAddress = '';
  remote: RemoteAudio | null = null;
  readonly #leg: AudioLeg;
  readonly #locality: Locality;
  readonly #abilities: Abilities;
  readonly #certificate: Certificate;
  readonly #keys = newKeys();
  #credentials = newCredentials();
  #remoteFragment: string | null = null;
  readonly #sessionId = randomInt(1, 2 ** 31);
  #version = this.#sessionId;

  constructor(leg: AudioLeg, locality: Locality, certificate: Certificate, abilities: Abilities) {
    this.#certificate = certificate;
    this.#leg = leg;
    this.#locality = locality;
    this.#abilities = abilities;
  }

  /** Answers an offer and starts the audio; null when there is no audio in it that we can serve (488). */
  answer(offer: string): string | null {
    const session = parseSdp(offer);
    const chosen = session && this.#choose(session);
    if (!session || !chosen) return null;
    this.remoteSdp = offer;
    this.localSdp = answerSdp(session, chosen, this.#local(this.#addressFor(chosen.audio.address), chosen.audio));
    this.#agree(chosen.audio);
    return this.localSdp;
  }

  /**
   * Our offer for an INVITE without one: what was agreed before, or everything we can do, over IPv6 where the INVITE came
   * over IPv6. Whom it will reach is not known, so it names the address that most can send to.
   */
  offer(from: string): string {
    const { bound, advertised } = this.#locality;
    const family = isIPv6(from) ? 'IPv6' : 'IPv4';
    const agreed = this.remote && this.#addressFor(this.remote.address);
    const local = this.#local(agreed ?? publicAddress(family, bound, advertised), this.remote);
    this.localSdp = this.remote ? describeSdp(local, this.remote) : offerSdp(local, this.#abilities.codecs);
    return this.localSdp;
  }

  /** The answer to our offer. drachtio-fsmrf sends our own description back, which means "nobody yet" (protocol page §4). */
  accept(answer: string): boolean {
    const session = parseSdp(answer);
    const chosen = session && this.#choose(session);
    if (!chosen) return false;
    this.remoteSdp = answer;
    this.#agree(chosen.audio);
    return true;
  }

  /** What we serve of a description, on an address that our sockets can reach. */
  #choose(session: SessionDescription): ReturnType<typeof chooseAudio> {
    const chosen = chooseAudio(session, this.#abilities.codecs);
    const address = chosen?.audio.address ?? '';
    return isWildcard(address) || speaksTo(this.#locality.bound, address) ? chosen : null; // 0.0.0.0 and :: hold the call
  }

  /** Our address as a party elsewhere sees it. */
  #addressFor(party: string): string {
    return localAddressFor(party, this.#locality.bound, this.#locality.advertised);
  }

  #agree(audio: RemoteAudio): void {
    this.remote = audio;
    const own = audio.port === this.#leg.localPort && audio.address === this.localAddress;
    this.#leg.setRemote(own ? null : { ...audio, protection: this.#protection(audio) });
  }

  #protection({ crypto, dtls }: RemoteAudio): Protection | null {
    if (dtls) {
      const role = dtls.setup === 'passive' ? 'client' : 'server';
      const { fingerprint } = dtls;
      return { kind: 'dtls', role, fingerprint, ice: this.#credentials, certificate: this.#certificate };
    }
    const send = crypto && this.#keys.find(one => one.suite === crypto.suite);
    return send ? { kind: 'sdes', send, receive: crypto } : null;
  }

  /** Our end of DTLS: the other side begins wherever it may. When it restarts its checks, so do we (RFC 8839 §4.4.1.1). */
  #dtls(remote: RemoteAudio | null): LocalDtls | null {
    const { fingerprint } = this.#certificate;
    const { ssrc } = this.#leg;
    if (!remote)
      return this.#abilities.security === 'dtls'
        ? { fingerprint, setup: 'actpass', ice: this.#credentials, ssrc }
        : null;
    if (!remote.dtls) return null;
    const restarts = this.#remoteFragment !== null && this.#remoteFragment !== remote.dtls.fragment;
    if (restarts) this.#credentials = newCredentials();
    this.#remoteFragment = remote.dtls.fragment;
    return { fingerprint, setup: remote.dtls.setup === 'passive' ? 'active' : 'passive', ice: this.#credentials, ssrc };
  }

  /** Our keys as the next description names them: the one that answers the other side's, or all that an offer asks for. */
  #crypto(remote: RemoteAudio | null): CryptoLine[] {
    const answered = remote?.crypto;
    if (remote)
      return this.#keys.flatMap(one => (one.suite === answered?.suite ? [{ ...one, tag: answered.tag }] : []));
    return this.#abilities.security === 'sdes' ? this.#keys.map((one, at) => ({ ...one, tag: at + 1 })) : [];
  }

  #local(address: string, remote: RemoteAudio | null): LocalAudio {
    this.localAddress = address;
    this.#version += 1;
    return {
      address: this.localAddress,
      port: this.#leg.localPort,
      sessionId: this.#sessionId,
      version: this.#version,
      crypto: this.#crypto(remote),
      dtls: this.#dtls(remote),
    };
  }
}
