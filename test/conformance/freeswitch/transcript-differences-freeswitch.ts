import type { Difference } from './transcript-comparison.ts';

/** Where FreeSWITCH 1.11-dev with the configuration of `freeswitch/` does otherwise than 1.10.12 with the recorder's. */
export const ofFreeSwitch: Difference[] = [
  {
    in: /esl\/03-/,
    differs: [/api (expr|avmd)/, /^body$/],
    why: 'our configuration loads neither mod_expr nor mod_avmd',
  },
  {
    in: /esl\/03-/,
    differs: [/api (fsctl|conference|uptime|time_test)/, /^body$/],
    why: 'another version and another time; our configuration allows more sessions',
  },
  {
    in: /esl\/(04|28)-/,
    differs: [/^SIP 200 OK/, /^audio$/],
    why: 'our configuration offers its codecs in another order, and no SRTP',
  },
  {
    in: /esl\/16-/,
    differs: [/api conference/, /^body$/],
    why: 'our conferences mix at 16 kHz',
  },
  {
    in: /audio-fork\/08-/,
    adds: /^WS text .*"name":"m2", "event": "playout"/,
    why: 'the mod_audio_fork of today tells that a mark was reached which the recorded one forgot',
  },
  {
    in: /./,
    lacks: /^OUT\d+ .*(COMPLETE (socket|conference)|CALLSTATE HANGUP|del-member).*"Answer-State":"hangup"/,
    adds: /^OUT\d+ .*(COMPLETE (socket|conference)|CALLSTATE HANGUP|del-member).*"Answer-State":"hangup"/,
    why: 'the socket of a leg that hangs up may be closed before the rest is told (listener_run of mod_event_socket)',
  },
  {
    in: /esl\/(16|17|18)-/,
    lacks: /^OUT\d+ .*(floor-change|conference-destroy|del-member.*"Conference-Size":"0")/,
    adds: /^OUT\d+ .*(floor-change|conference-destroy|del-member.*"Conference-Size":"0")/,
    why: 'the same, of a conference that ends with its last leg',
  },
  {
    in: /esl\/17-/,
    lacks: /^SIP BYE/,
    adds: /^SIP BYE/,
    why: 'of a control leg that `hup all` ended no BYE comes in time',
  },
  {
    in: /esl\/19-/,
    lacks: /^IN CHANNEL_(UN)?PARK/,
    adds: /^IN CHANNEL_(UN)?PARK/,
    why: 'two legs are told of by two threads, in whichever order',
  },
  {
    in: /esl\/21-/,
    lacks: /CHANNEL_CALLSTATE (HELD|UNHELD|ACTIVE)/,
    differs: [/playback|PLAYBACK/, /^Channel-Call-State$/],
    why: 'our configuration takes no notice of a phone that holds (disable-hold)',
  },
  {
    in: /esl\/26-/,
    lacks: /PLAYBACK_STOP|COMPLETE playback|CALLSTATE (HELD|UNHELD|ACTIVE)/,
    adds: /PLAYBACK_STOP|COMPLETE playback|CALLSTATE (HELD|UNHELD|ACTIVE)/,
    differs: [/playback/i, /^Channel-Call-State$/],
    why: 'what plays when the server itself puts the leg on hold (uuid_hold) ends only after that',
  },
  {
    in: /esl\/25-/,
    lacks: /CHANNEL_EXECUTE(_COMPLETE)? set/,
    adds: /CHANNEL_EXECUTE(_COMPLETE)? set|RE_SCHEDULE/,
    why: 'our dialplan sets its variables before it answers; and a task of the server itself falls into the call',
  },
];
