import type { ConferenceCommand } from './command.ts';
import { described, type DescribedMember } from './json-list.ts';
import type { Conference } from './conference.ts';

/** What `json_list` tells as numbers and texts, by the names that `xml_list` has for it. */
const tags = ['id', 'uuid', 'caller_id_name', 'caller_id_number', 'join_time', 'energy', 'volume_in', 'volume_out'] as const; // prettier-ignore

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`).replace(/[\0-\x08\x0b\x0c\x0e-\x1f]/g, ''); // which XML does not have

/** An element on lines of its own; attributes that are not true of it are left out. */
function element(name: string, attributes: object, children: string[] = []): string {
  const told = Object.entries(attributes).filter(([, value]) => value !== false && value !== 0 && value !== undefined);
  const written = told.map(([key, value]) => ` ${key}="${escaped(String(value))}"`).join('');
  return `<${name}${written}>\n${children.join('')}</${name}>\n`;
}

const tag = (name: string, value: unknown): string => `<${name}>${escaped(String(value))}</${name}>\n`;

function member(one: DescribedMember): string {
  const {
    can_hear,
    can_see,
    can_speak,
    mute_detect,
    talking,
    hold,
    has_video,
    has_floor,
    is_moderator,
    end_conference,
  } = one.flags;
  const flags = { can_hear, can_see, can_speak, mute_detect, talking, hold, has_video, has_floor, is_moderator, end_conference }; // prettier-ignore
  const told = Object.entries(flags).map(([name, value]) => tag(name, value));
  return element('member', { type: one.type }, [
    ...tags.map(name => tag(name, one[name])),
    element('flags', {}, told),
    tag('output-volume', one.volume_out),
  ]);
}

function room(conference: Conference): string {
  const known = described(conference);
  const { locked, wait_mod, running, answered, dynamic, recording, max_members, run_time } = known;
  const attributes = {
    ...{ name: known.conference_name, 'member-count': String(known.member_count) },
    ...{ 'ghost-count': String(known.ghost_count), rate: known.rate, uuid: known.conference_uuid },
    ...{ locked, wait_mod, running, answered, dynamic, max_members, recording, run_time: String(run_time) },
  };
  const variables = Object.entries(known.variables).map(([name, value]) => element('variable', { name, value }));
  return element('conference', attributes, [
    element('variables', {}, variables),
    element('members', {}, known.members.map(member)),
  ]);
}

/** Conferences and their members as XML, as `conference xml_list` and `conference <name> xml_list` tell them. */
export function xmlListOf(conferences: Conference[]): string {
  return `<?xml version="1.0"?>\n${element('conferences', {}, conferences.map(room))}`;
}

/** `xml_list`. */
export const xmlListCommand: ConferenceCommand = { name: 'xml_list', run: conference => xmlListOf([conference]) };
