import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { NEVER } from '#contract/time';
import { newDirectHash } from '../auth/secrets.ts';
import type { Queryable } from '../db.ts';
import type { Route } from '../http/route.ts';
import { AI_TOOLS, ais, parameterField } from './ai-store.ts';
import { crud } from './crud.ts';
import { regenerateHash } from './direct-hash.ts';
import { detailField, nameField } from './fields.ts';
import { defineResource, type Row } from './resource.ts';

const MOST_MEMBERS = 100;
const ownId = (what: string) =>
  z
    .uuid()
    .overwrite(text => text.toLowerCase())
    .describe(what);

const transitionSchema = z
  .object({
    function_name: z.string().min(1, 'must not be empty').max(64).describe('What the model calls to hand over.'),
    description: z.string().max(4096).describe('When it should.'),
    next_member_id: ownId('Who takes over.'),
  })
  .meta({ id: 'TeamTransition' });

const memberSchema = z
  .object({
    id: ownId('Chosen by you; unique in the team.'),
    name: z.string().min(1, 'must not be empty').max(255).describe('What people see.'),
    ai_id: ownId('The AI that it is.'),
    transitions: z.array(transitionSchema).max(MOST_MEMBERS).default([]).describe('To whom it may hand over.'),
  })
  .meta({ id: 'TeamMember' });
type Member = z.output<typeof memberSchema>;

/** AIs that hand callers to one another (contact-centre 24). */
export const teams = defineResource({
  name: 'team',
  title: 'Team',
  path: '/teams',
  table: 'teams',
  not_found: 'TEAM_NOT_FOUND',
  read: 'manager',
  write: 'manager',
  unset: NEVER,
  told: true,
  fields: {
    name: nameField.unwrap(),
    detail: detailField.unwrap(),
    start_member_id: ownId('Who begins.'),
    members: z.array(memberSchema).min(1, 'needs at least one').max(MOST_MEMBERS),
    parameter: parameterField.default({}),
  },
  changeable: ['name', 'detail', 'start_member_id', 'members', 'parameter'],
  shown: { direct_hash: z.string().describe('What programs of the public boot with (POST /auth/boot).') },
});

const TOOLS = [...AI_TOOLS.normal, ...AI_TOOLS.insight];
const hasDoubles = (words: string[]): boolean => new Set(words).size < words.length;

/** What a team breaks, as a sentence; each rule is one line of section 24. */
const faultOf = (start: string, members: Member[]): string | undefined => {
  const ids = members.map(({ id }) => id);
  if (hasDoubles(ids)) return 'members: every id may be there once';
  if (!ids.includes(start)) return 'start_member_id: no member has this id';
  for (const { name, transitions } of members) {
    const functions = transitions.map(({ function_name }) => function_name);
    const taken = functions.find(each => TOOLS.includes(each));
    if (taken !== undefined) return `members: ${taken} of ${name} is the name of a tool`;
    if (hasDoubles(functions)) return `members: every function_name of ${name} may be there once`;
    if (transitions.some(each => !ids.includes(each.next_member_id)))
      return `members: ${name} hands over to somebody who is no member`;
  }
  return undefined;
};

const invalid = (sentence: string): PlatformError => new PlatformError('INVALID_ARGUMENT', `${sentence}.`);

const mustHold = async (db: Queryable, customer_id: string, start: string, members: Member[]): Promise<void> => {
  const fault = faultOf(start, members);
  if (fault !== undefined) throw invalid(fault);
  const wanted = new Set(members.map(({ ai_id }) => ai_id));
  const own = db<Row>(ais.table).where({ customer_id, type: 'normal' }).whereNull('tm_delete');
  const known: { id: string }[] = await own.whereIn('id', [...wanted]).select('id');
  const missing = [...wanted].find(id => !known.some(ai => ai.id === id));
  if (missing !== undefined) throw invalid(`members: there is no AI ${missing} of type normal`);
};

const routes = crud(teams, {
  async prepare({ context, identity }, body) {
    await mustHold(context.db, identity.customer_id, body.start_member_id, body.members);
    return { ...body, direct_hash: newDirectHash() };
  },
  async revise({ context, identity }, body, row) {
    const team = { ...row, ...body } as unknown as { start_member_id: string; members: Member[] };
    if (body['start_member_id'] !== undefined || body['members'] !== undefined)
      await mustHold(context.db, identity.customer_id, team.start_member_id, team.members);
    return body;
  },
});

export const teamRoutes: Route[] = [...Object.values(routes), ...regenerateHash(teams)];
