import { fromDate } from '#contract/time';
import type { MediaFacts } from '#contract/timeline';

/** Channel variables as `uuid_dump` gives them. */
type Variables = Record<string, string | undefined>;

const numberOf = (variables: Variables, name: string): number => {
  const value = Number(variables[`variable_rtp_audio_${name}`]);
  return Number.isFinite(value) ? value : 0;
};

/** FreeSWITCH has the variance of the arrival times, the engine the jitter of RFC 3550 section 6.4.1. */
const jitterOf = (variables: Variables): number =>
  numberOf(variables, 'in_interarrival_jitter_ms') ||
  Math.sqrt(Math.max(0, numberOf(variables, 'in_jitter_max_variance')));

const firstAudioOf = (variables: Variables): MediaFacts['first_audio'] => {
  const at = numberOf(variables, 'in_first_packet_epoch_ms');
  return at > 0 ? fromDate(new Date(at)) : null;
};

const hundredths = (value: number): number => Math.round(value * 100) / 100;

/** The media facts of a leg from its channel variables (`rtp_audio_…`, set by `uuid_set_media_stats`). */
export const mediaFacts = (variables: Variables): MediaFacts => ({
  codec: variables['variable_rtp_use_codec_name'] ?? variables['variable_read_codec'] ?? '',
  first_audio: firstAudioOf(variables),
  mos: hundredths(numberOf(variables, 'in_mos')),
  jitter_ms: hundredths(jitterOf(variables)),
  packet_loss_pct: hundredths(numberOf(variables, 'in_jitter_loss_rate')),
  packets_received: numberOf(variables, 'in_packet_count'),
  packets_sent: numberOf(variables, 'out_packet_count'),
  bytes_received: numberOf(variables, 'in_media_bytes'),
  bytes_sent: numberOf(variables, 'out_media_bytes'),
  packets_skipped: numberOf(variables, 'in_skip_packet_count'),
  rtcp_packets: numberOf(variables, 'rtcp_packet_count'),
  rtcp_bytes: numberOf(variables, 'rtcp_octet_count'),
});
