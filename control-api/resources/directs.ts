import { z } from 'zod';
import { NEVER } from '#contract/time';
import type { Route } from '../http/route.ts';
import { crud } from './crud.ts';
import { defineResource } from './resource.ts';

/** What has a direct hash (accounts-and-plumbing 17). */
const DIRECT_TYPES = ['extension', 'agent', 'conference', 'queue', 'flow', 'ai', 'ai_team', 'webchat_widget'] as const;

/** Records of direct hashes. The database writes them beside their resources (migration 009); clients only read. */
export const directs = defineResource({
  name: 'direct',
  title: 'Direct',
  path: '/directs',
  table: 'directs',
  not_found: 'DIRECT_NOT_FOUND',
  read: 'manager',
  write: 'super',
  unset: NEVER,
  told: false,
  fields: {},
  changeable: [],
  shown: {
    resource_type: z.enum(DIRECT_TYPES).describe('What the hash leads to.'),
    resource_id: z.uuid().describe('Its id.'),
    hash: z.string().describe('With its prefix `direct.`; also the user part of the direct SIP URI.'),
  },
});

const { list, get } = crud(directs);
export const directRoutes: Route[] = [list, get];
