import type { ConferenceCommand } from './command.ts';
import type { Conference } from './conference.ts';
import type { Member } from './member.ts';

const secondsSince = (at: number): number => Math.floor((Date.now() - at) / 1000);

/** What `json_list` tells of a conference, with the names of the real server; what we have nothing of is left out. */
export function described(conference: Conference) {
  return {
    conference_name: conference.name,
    member_count: conference.size,
    ghost_count: conference.ghosts,
    rate: conference.rate,
    run_time: secondsSince(conference.createdAt),
    conference_uuid: conference.uuid,
    locked: conference.locked,
    wait_mod: conference.mixer.hushed,
    running: true,
    answered: true,
    dynamic: true,
    recording: conference.recordings.paths.length > 0,
    max_members: conference.maxMembers,
    variables: Object.fromEntries(conference.variables),
    members: conference.newestFirst().map(one => describedMember(conference, one)),
  };
}

/** The same of a member. */
export type DescribedMember = ReturnType<typeof describedMember>;

function describedMember(conference: Conference, member: Member) {
  const { channel, seat, talk, volume, flags } = member;
  return {
    type: 'caller',
    id: member.id,
    flags: {
      can_hear: !member.held && seat.hears,
      can_see: !member.held,
      can_speak: !member.held && seat.speaks,
      hold: member.held,
      mute_detect: flags.has('mute-detect'),
      talking: talk.talking && seat.speaks,
      has_video: false,
      has_floor: conference.floor === member,
      is_moderator: member.moderator,
      end_conference: flags.has('endconf'),
      pass_digits: flags.has('dist-dtmf'),
    },
    uuid: channel.uuid,
    caller_id_name: 'unknown',
    caller_id_number: '',
    join_time: secondsSince(member.joinedAt),
    energy: talk.energy,
    volume_in: volume.in,
    volume_out: volume.out,
    'output-volume': volume.out,
    'input-volume': volume.in,
  };
}

/** `json_list [compact]`. */
export const jsonListCommand: ConferenceCommand = {
  name: 'json_list',
  run: (conference, [how]) => listed([conference], how),
};

/** The same of several conferences, as `conference json_list` asks. */
export function listed(conferences: Conference[], how?: string): string {
  return JSON.stringify(conferences.map(described), null, how === 'compact' ? undefined : '\t');
}
