import type { Conference } from './conference.ts';
import type { Member } from './member.ts';
import { setHearing, setSpeaking } from './mute.ts';
import { openSound } from './play-queue.ts';
import { defaultEnergy } from './talk-detector.ts';

type Control = (conference: Conference, member: Member) => void;

const energyStep = 200;
const maxEnergy = 1800;

/** What the keys do with `conference_controls=default`, as in the stock configuration of the real server. */
const keys: Readonly<Record<string, Control>> = {
  '0': toggleMute,
  '*': toggleDeafMute,
  '9': (conference, member) => setEnergy(conference, member, member.talk.energy + energyStep),
  '8': (conference, member) => setEnergy(conference, member, defaultEnergy),
  '7': (conference, member) => setEnergy(conference, member, member.talk.energy - energyStep),
  '3': (conference, member) => setVolume(conference, member, 'out', member.volume.out + 1),
  '2': (conference, member) => setVolume(conference, member, 'out', 0),
  '1': (conference, member) => setVolume(conference, member, 'out', member.volume.out - 1),
  '6': (conference, member) => setVolume(conference, member, 'in', member.volume.in + 1),
  '5': (conference, member) => setVolume(conference, member, 'in', 0),
  '4': (conference, member) => setVolume(conference, member, 'in', member.volume.in - 1),
  '#': (_conference, member) => member.leave(),
};

/** Does what a key is for; without `conference_controls=default` keys are for nothing. */
export function pressControl(conference: Conference, member: Member, digit: string): void {
  if (member.controls === 'default') keys[digit]?.(conference, member);
}

function toggleMute(conference: Conference, member: Member): void {
  if (member.held) return;
  const on = !member.seat.speaks;
  setSpeaking(member, conference, on);
  if (on && !member.seat.hears) setHearing(member, conference, true);
}

function toggleDeafMute(conference: Conference, member: Member): void {
  if (member.seat.speaks && member.seat.hears && !member.held) setHearing(member, conference, false);
  toggleMute(conference, member);
}

function setEnergy(conference: Conference, member: Member, level: number): void {
  member.setEnergy(Math.min(maxEnergy, Math.max(0, level)));
  const energy = member.talk.energy;
  conference.raiseAbout(member, 'energy-level', { 'New-Level': String(energy) });
  void tell(conference, member, Math.floor(energy / energyStep));
}

function setVolume(conference: Conference, member: Member, direction: 'in' | 'out', step: number): void {
  member.setVolume(direction, step);
  const level = member.volume[direction];
  conference.raiseAbout(member, direction === 'in' ? 'gain-level' : 'volume-level', { 'New-Level': String(level) });
  void tell(conference, member, level);
}

/** Tells a member a level, where the recordings of the real server are in the folder of sounds. */
async function tell(conference: Conference, member: Member, level: number): Promise<void> {
  const files = [...(level < 0 ? ['currency/negative.wav'] : []), `digits/${Math.abs(level)}.wav`];
  for (const file of files) {
    const source = await openSound(conference, file).catch(() => null); // a comfort: without it the key works all the same
    if (source) member.plays?.add(file, source, false);
  }
}
