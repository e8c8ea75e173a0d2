import { ConferenceSession } from '../conference/session.ts';
import type { CommandHandler } from './catalogue.ts';

/** POST /conferences: opens a conference on this node and answers with it as it began. */
export const conferenceCreate: CommandHandler<'conference.create'> = (services, body, origin) =>
  new ConferenceSession(services, { ...body, ...origin }).create();
