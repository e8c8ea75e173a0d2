import type { Application, ApplicationContext } from '../application.ts';
import { none } from '../application.ts';
import type { Channel } from '../channel.ts';
import { parseJoin } from '../conference/conferences.ts';
import type { Conference } from '../conference/conference.ts';
import type { Member } from '../conference/member.ts';
import { withPin } from '../conference/pin-prompt.ts';

/** `conference <name>[@<profile>][+[<pin>]][+flags{a|b}]`: completes when the member leaves, or cannot join. */
export const conference: Application = {
  name: 'conference',
  run: async context => {
    const { channel } = context;
    const joined = channel.core.conferences.join(channel, await withPin(context, parseJoin(context.data)));
    const room = joined.conference;
    describe(context.channel, room, joined.member);
    await stay(context, room, joined.member);
    room.remove(joined.member);
    if (joined.member.destination !== null) continueIn(joined.member.destination, joined.member);
    if (room.over) await room.closed;
    return none;
  },
};

/** What the channel's variables tell of its membership, also after it. */
function describe(channel: Channel, room: Conference, member: Member): void {
  channel.set('conference_name', room.name);
  channel.set('conference_uuid', room.uuid);
  channel.set('conference_member_id', String(member.id));
  channel.set('conference_moderator', String(member.moderator));
  channel.set('conference_ghost', String(member.ghost));
}

/** Until the member is sent out, hangs up, or is bridged or transferred away; a mere break means nothing here. */
async function stay({ level }: ApplicationContext, room: Conference, member: Member): Promise<void> {
  level.onDigit = digit => room.pressed(member, digit);
  for (;;) {
    const end = await level.play(member.seat, stop => member.stays(stop));
    if (end !== 'break' || level.dismissed || member.leaving) return;
  }
}

/** A moved member joins its new conference once the present application is complete, with the number it has. */
function continueIn(destination: string, { channel, id }: Member): void {
  channel.core.conferences.keepId(channel, id);
  setImmediate(() => {
    if (channel.hangupCause === null && proceed(channel, destination)) return;
    channel.core.conferences.forget(channel);
  });
}

function proceed(channel: Channel, destination: string): boolean {
  channel.endBase();
  channel.setCallState('RINGING');
  channel.setCallState('ACTIVE');
  return channel.execute('conference', `${destination}@default`);
}
