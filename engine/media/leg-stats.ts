import type { Rtcp } from './rtcp.ts';
import type { RtpReceiver } from './rtp-receiver.ts';
import type { RtpSender } from './rtp-sender.ts';

/** Counters of a leg, named as FreeSWITCH's `rtp_audio_…` channel variables. */
export interface LegStats {
  in_raw_bytes: number;
  in_media_bytes: number;
  in_packet_count: number;
  in_media_packet_count: number;
  in_skip_packet_count: number;
  in_dtmf_packet_count: number;
  in_cng_packet_count: number;
  in_jitter_packet_count: number;
  in_jitter_depth_ms: number;
  /** Share of packets that never came, in percent. */
  in_jitter_loss_rate: number;
  /** Jitter of RFC 3550; FreeSWITCH has no such variable. */
  in_interarrival_jitter_ms: number;
  /** When the first audio came, milliseconds since the epoch, 0 before; FreeSWITCH has no such variable. */
  in_first_packet_epoch_ms: number;
  /** Frames that had to be made up. */
  in_flaw_total: number;
  in_quality_percentage: number;
  /** Mean opinion score estimated from loss, 1 to 4.5. */
  in_mos: number;
  out_raw_bytes: number;
  out_media_bytes: number;
  out_packet_count: number;
  out_media_packet_count: number;
  out_dtmf_packet_count: number;
  out_skip_packet_count: number;
  rtcp_packet_count: number;
  rtcp_octet_count: number;
  /** By the party's reports, which FreeSWITCH does not tell: how long a packet takes there and back, and our stream there. */
  rtcp_round_trip_ms: number;
  rtcp_reported_loss_rate: number;
  rtcp_reported_jitter_ms: number;
}

/** Reads the counters of a leg. */
export function legStats(receiver: RtpReceiver, sender: RtpSender, rtcp: Rtcp): LegStats {
  return { ...received(receiver), ...sent(sender), ...control(rtcp) };
}

type Incoming = Pick<LegStats, Extract<keyof LegStats, `in_${string}`>>;
type Control = Pick<LegStats, Extract<keyof LegStats, `rtcp_${string}`>>;
type Outgoing = Pick<LegStats, Extract<keyof LegStats, `out_${string}`>>;

function received({ counts, jitter, interarrivalJitter, firstAudioAt }: RtpReceiver): Incoming {
  const heard = jitter.stats();
  const flawed = heard.played === 0 ? 0 : (100 * heard.concealed) / heard.played;
  return {
    in_raw_bytes: counts.bytes,
    in_media_bytes: counts.mediaBytes,
    in_packet_count: counts.packets,
    in_media_packet_count: counts.media,
    in_skip_packet_count: counts.skipped,
    in_dtmf_packet_count: counts.digits,
    in_cng_packet_count: counts.noise,
    in_jitter_packet_count: heard.late + heard.duplicate,
    in_jitter_depth_ms: heard.depth_ms,
    in_jitter_loss_rate: heard.lost === 0 ? 0 : (100 * heard.lost) / (heard.lost + counts.packets),
    in_interarrival_jitter_ms: interarrivalJitter,
    in_first_packet_epoch_ms: firstAudioAt,
    in_flaw_total: heard.concealed,
    in_quality_percentage: Math.max(0, 100 - flawed),
    in_mos: opinionScore(flawed),
  };
}

function sent({ counts }: RtpSender): Outgoing {
  return {
    out_raw_bytes: counts.bytes,
    out_media_bytes: counts.mediaBytes,
    out_packet_count: counts.packets,
    out_media_packet_count: counts.media,
    out_dtmf_packet_count: counts.digits,
    out_skip_packet_count: counts.failed,
  };
}

function control({ received, bytes, party }: Rtcp): Control {
  return {
    rtcp_packet_count: received,
    rtcp_octet_count: bytes,
    rtcp_round_trip_ms: party.round_trip_ms,
    rtcp_reported_loss_rate: party.loss_rate,
    rtcp_reported_jitter_ms: party.jitter_ms,
  };
}

/** The E-model of ITU-T G.107 with G.711's robustness to random loss (Bpl 25.1) and no other impairment. */
function opinionScore(lossPercent: number): number {
  const r = 93.2 - (95 * lossPercent) / (lossPercent + 25.1);
  const score = 1 + 0.035 * r + 7e-6 * r * (r - 60) * (100 - r);
  return Math.min(4.5, Math.max(1, score));
}
