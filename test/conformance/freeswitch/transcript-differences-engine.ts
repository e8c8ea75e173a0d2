import type { Difference } from './transcript-comparison.ts';

const anywhere = /./;
const rooms = /esl\/(16|17|18|38)-/;
const unknownCommands =
  /response to api (expr|eval|fsctl|reloadxml|module_exists|uptime|hostname|time_test|regex|sched_api|json|uuid_dub|uuid_vad_detect|uuid_hold|uuid_media|uuid_answer|uuid_simplify|uuid_debug_media|uuid_codec_param|uuid_loglevel|uuid_buglist|uuid_fileman|uuid_flush_dtmf|uuid_jambonz_transcribe)\b/;

/** Where the engine does otherwise than FreeSWITCH, old and new. */
export const ofEngine: Difference[] = [
  {
    in: /esl\/(04|16|17|18|28|37|38)-/,
    differs: [/^SIP 200 OK/, /^audio$/],
    why: 'an offer of our own has no SRTP beside plain RTP, and no comfort noise',
  },
  { in: /esl\/(03|26)-/, differs: [unknownCommands, /^body$/], why: 'commands of one server and not of the other' },
  {
    in: /esl\/03-/,
    differs: [/api (show|conference|avmd)|reply to (myevents|sendevent|AUTH)/i, /^(body|text)$/],
    why: 'usage texts, white space in JSON, and a second password or subscription, which is taken',
  },
  {
    in: /esl\/08-/,
    differs: [/CHANNEL_EXECUTE_COMPLETE playback/, /^variable_playback_/],
    why: 'a file that is not found shows no results of the one before',
  },
  {
    in: /esl\/08-/,
    differs: [/PLAYBACK_ST/, /^Playback-File-Path$/],
    why: 'file_string tells of its files, one after the other',
  },
  {
    in: /esl\/10-/,
    lacks: /CHANNEL_EXECUTE playback|PLAYBACK_START/,
    adds: /CHANNEL_EXECUTE playback|PLAYBACK_START/,
    why: 'three that are given at once begin at once, and not one by one with the ticks',
  },
  {
    in: /esl\/11-/,
    differs: [
      /PLAYBACK_STOP|CHANNEL_EXECUTE_COMPLETE play_and_get_digits/,
      /^(variable_(read_terminator_used|myDigitBuffer_invalid)|Playback-Status)$/,
    ],
    why: 'no result of an earlier collection is shown; a prompt that a key ends is done',
  },
  {
    in: /esl\/12-/,
    adds: /PLAYBACK_ST|COMPLETE say/,
    lacks: /COMPLETE say/,
    why: 'there is speech, where the recorder had no sound files',
  },
  {
    in: /esl\/14-/,
    differs: [/COMPLETE (record|socket)|CALLSTATE HANGUP/, /^(Hangup-Cause|Answer-State|variable_record_.*)$/],
    why: 'record makes the folder that is missing, as record_session does, where FreeSWITCH ends the call',
  },
  {
    in: /esl\/14-/,
    adds: /reply to hangup|CHANNEL_EXECUTE hangup|COMPLETE hangup/,
    why: 'record makes the folder that is missing, as record_session does, where FreeSWITCH ends the call',
  },
  {
    in: rooms,
    lacks: /conference-destroy|stop-recording/,
    adds: /conference-destroy|stop-recording/,
    why: 'the end of a conference, or of its recording, is told at once, and not at the next tick',
  },
  {
    in: /esl\/16-/,
    lacks: /^OUT2 (.*(hup-member|del-member.*"Conference-Size":"0")|CHANNEL_EXECUTE_COMPLETE conference)/,
    adds: /speak-text |^OUT2 (.*del-member.*"Conference-Size":"0"|CHANNEL_EXECUTE_COMPLETE conference)/,
    why: 'the conference is gone when its control leg is destroyed, which FreeSWITCH never does; and `say` is spoken',
  },
  {
    in: /esl\/16-/,
    differs: [/^(IN|OUT2) response to api conference/, /^body$/],
    why: 'the conference is gone earlier, `say` is spoken, fewer flags are told, and as many recordings as were stopped',
  },
  {
    in: /esl\/17-/,
    lacks:
      /^OUT1 (CHANNEL_CALLSTATE HANGUP|notice|closed)|^OUT1 .*del-member.*rec3|^OUT1 CHANNEL_EXECUTE_COMPLETE conference.*rec3|^SIP/,
    adds: /^SIP|^OUT1 .*(del-member|COMPLETE conference).*rec3/,
    why: 'a member that was moved is parked when that conference ends, and not hung up',
  },
  {
    in: /esl\/17-/,
    adds: /^OUT3 (.*del-member|CHANNEL_EXECUTE_COMPLETE|CHANNEL_CALLSTATE HANGUP)|^OUT4 (.*del-member|CHANNEL_EXECUTE_COMPLETE (conference|socket)|CHANNEL_CALLSTATE HANGUP)/,
    why: 'what runs at the hang-up is completed, and who leaves a conference that ends is told before its control leg goes',
  },
  {
    in: /esl\/(18|38)-/,
    lacks: /^SIP/,
    adds: /^SIP|^OUT\d (CHANNEL_EXECUTE(_COMPLETE)? (hangup|conference|socket)|CHANNEL_CALLSTATE HANGUP).*"Answer-State":"hangup"|CHANNEL_EXECUTE hangup|del-member.*"Conference-Size":"0"|^OUT[246] .*del-member.*"Answer-State":"hangup"/,
    why: 'the control leg of a conference obeys `hangup`',
  },
  { in: /esl\/18-/, differs: [/api show/, /^body$/], why: 'the control leg of a conference obeys `hangup`' },
  {
    in: /esl\/38-/,
    lacks: /^OUT2 CHANNEL_(ANSWER|CALLSTATE (ACTIVE|RINGING)|EXECUTE(_COMPLETE)? (answer|set|socket))/,
    why: 'late events from before the subscription, which only a server that has just started sends',
  },
  {
    in: /esl\/26-/,
    lacks: /^SIP (INVITE|ACK)|CALLSTATE (HELD|UNHELD|ACTIVE)/,
    why: 'the media server puts nobody on hold itself (uuid_hold)',
  },
  {
    in: /esl\/26-/,
    lacks: /^OUT1 (CHANNEL_EXECUTE_COMPLETE socket|CHANNEL_CALLSTATE HANGUP|notice|closed)|^SIP BYE/,
    adds: /CHANNEL_EXECUTE(_COMPLETE)? nosuchapp/,
    why: 'an application that does not exist says so, and does not end the call',
  },
  { in: /esl\/26-/, differs: [/api show/, /^body$/], why: 'the usage names what can be shown here' },
  {
    in: /esl\/22-/,
    adds: /avmd::/,
    lacks: /avmd::/,
    why: 'tones that FreeSWITCH took for no beep are heard; each event is told once',
  },
  { in: /esl\/22-/, differs: [/api avmd/, /^body$/], why: 'there are no settings' },
  {
    in: /esl\/25-/,
    lacks:
      /CHANNEL_STATE|CODEC|PROGRESS_MEDIA|CALLSTATE EARLY|PRIVATE_COMMAND|CHANNEL_EXECUTE(_COMPLETE)? (answer|set)/,
    why: 'the states, codecs and dialplan of FreeSWITCH are not told',
  },
  { in: /esl\/25-/, differs: [/CHANNEL_ANSWER/, /^Channel-Call-State$/], why: 'there is no early media' },
  {
    in: /esl\/26-/,
    differs: [/playback/i, /^Channel-Call-State$/],
    why: 'the media server puts nobody on hold itself (uuid_hold)',
  },
  { in: /esl\/16-/, differs: [/-recording/, /^Other-Recordings$/], why: 'there are no other recordings' },
  { in: /esl\/27-/, lacks: /CHANNEL_STATE/, adds: /CHANNEL_DESTROY/, why: 'the states of FreeSWITCH are not told' },
  { in: /esl\/27-/, adds: /PLAYBACK_ST/, lacks: /PLAYBACK_ST/, why: 'a sound is played as often as `loops` says' },
  { in: /esl\/27-/, differs: [/^OUT1 reply to/, /^text$/], why: 'what cannot be done is refused' },
  { in: /esl\/29-/, differs: [/api show/, /^body$/], why: 'the channel is there as soon as the call' },
  {
    in: /audio-fork\/04-/,
    lacks: /^WS text \{"p":/,
    adds: /^WS text \{"p":/,
    why: 'a text arrives as it was given, apostrophes and backslashes and all',
  },
  {
    in: /audio-fork\/(04|08)-/,
    differs: [/api uuid_(audio_fork|buglist)/, /^body$/],
    why: 'a fork without a name can be stopped without one; stop_play takes a name',
  },
  {
    in: /audio-fork\/05-/,
    lacks: /connect_failed.*(Unable to connect|SSL)/,
    adds: /connect_failed.*(Unable to connect|SSL)/,
    why: 'a name that cannot be resolved says so, too, and TLS its own reason',
  },
  { in: /esl\/21-/, lacks: /^SIP 100/, adds: /^SIP 100/, why: 'a re-INVITE is answered at once' },
  { in: anywhere, lacks: /MEDIA_BUG_(START|STOP)/, why: 'there are no media bugs' },
];
