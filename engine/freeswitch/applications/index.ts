import type { Application } from '../application.ts';
import { avmdStart, avmdStop } from './avmd_start.ts';
import { conference } from './conference.ts';
import {
  answer,
  breakApplication,
  echo,
  hangup,
  park,
  sendDtmf,
  setMute,
  sleep,
  startDtmf,
  stopDtmf,
} from './control.ts';
import { displaceSession, stopDisplaceSession } from './displace_session.ts';
import { playAndGetDigits } from './play_and_get_digits.ts';
import { playback } from './playback.ts';
import { record } from './record.ts';
import { recordSession, stopRecordSession } from './record_session.ts';
import { say, speak } from './speak.ts';
import { stopToneDetect, toneDetect } from './tone_detect.ts';
import { exportVariable, multiset, set, unset } from './variables.ts';

const all: Application[] = [
  answer,
  avmdStart,
  avmdStop,
  breakApplication,
  conference,
  displaceSession,
  echo,
  exportVariable,
  hangup,
  multiset,
  park,
  playAndGetDigits,
  playback,
  record,
  recordSession,
  say,
  sendDtmf,
  set,
  setMute,
  sleep,
  speak,
  startDtmf,
  stopDisplaceSession,
  stopDtmf,
  stopRecordSession,
  stopToneDetect,
  toneDetect,
  unset,
];

/** Every application by its name; anything else completes with an error. */
export const applications: ReadonlyMap<string, Application> = new Map(all.map(one => [one.name, one]));
