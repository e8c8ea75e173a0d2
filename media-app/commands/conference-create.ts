import { openConference } from '../conference/session.ts';
import type { CommandHandler } from './catalogue.ts';

/** POST /conferences: opens a conference on this node and answers with it as it began. */
export const conferenceCreate: CommandHandler<'conference.create'> = (services, body, origin) =>
  openConference(services, { ...body, customer_id: origin.customer_id }, origin.request_id);
