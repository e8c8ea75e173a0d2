import { z } from 'zod';
import { NEVER } from '#contract/time';
import { newDirectHash } from '../auth/secrets.ts';
import { because } from '../http/bind.ts';
import type { Route, RouteRequest } from '../http/route.ts';
import { crud } from './crud.ts';
import { regenerateHash } from './direct-hash.ts';
import { reference } from './fields.ts';
import { byWord } from './filters.ts';
import { mustBeFlow } from './flow-store.ts';
import { defineResource } from './resource.ts';

const STATUSES = ['active', 'inactive'] as const;
const IDLE_S = 1800;
const LONGEST_IDLE_S = 7 * 86_400;

const themed = (rule: (text: string) => boolean, message: string) =>
  z.string().refine(rule, because('INVALID_THEME_CONFIG', message));

const color = themed(text => /^#[0-9a-fA-F]{6}$/.test(text), 'must be #rrggbb')
  .optional()
  .meta({ pattern: '^#[0-9a-fA-F]{6}$', description: 'A color as #rrggbb.' });

const words = (most: number, usual: string) =>
  themed(text => text.length <= most, `must be at most ${most} characters`)
    .default(usual)
    .meta({ maxLength: most });

const choice = (values: readonly string[], usual: string) =>
  themed(text => values.includes(text), `must be one of ${values.join(', ')}`)
    .default(usual)
    .meta({ enum: [...values] });

const isSecureAddress = (text: string): boolean =>
  text.length <= 2048 && URL.canParse(text) && new URL(text).protocol === 'https:';

/** How the window looks (contact-centre 16.1). A visitor's browser gets exactly this. */
export const themeSchema = z
  .object({
    primary_color: color,
    secondary_color: color,
    header_background_color: color,
    header_text_color: color,
    logo_url: themed(isSecureAddress, 'must be an https URL').optional().describe('An https URL.'),
    position: choice(['bottom_right', 'bottom_left'], 'bottom_right'),
    theme_mode: choice(['light', 'dark', 'auto'], 'light'),
    header_title: words(100, 'Chat with us'),
    header_subtitle: words(200, ''),
    connecting_indicator_enabled: z.boolean().nullable().default(true),
    connecting_indicator_text: words(100, 'Connecting…'),
    typing_indicator_enabled: z.boolean().nullable().default(true),
    border_radius: choice(['sharp', 'rounded', 'pill'], 'rounded'),
    font_size: choice(['compact', 'default', 'large'], 'default'),
  })
  .meta({ id: 'WidgetThemeConfig' });

/** Chat windows of web pages. */
export const webchatWidgets = defineResource({
  name: 'webchat_widget',
  title: 'WebchatWidget',
  path: '/webchat_widgets',
  table: 'webchat_widgets',
  not_found: 'RESOURCE_NOT_FOUND',
  read: 'manager',
  write: 'manager',
  unset: NEVER,
  told: false,
  refusals: ['INVALID_THEME_CONFIG', 'FLOW_NOT_FOUND'],
  filters: { status: byWord(STATUSES, 'Only those with this status.') },
  fields: {
    name: z.string().max(255).describe('What people see.'),
    status: z.enum(STATUSES).default('active').describe('inactive: nobody can begin to chat.'),
    session_flow_id: reference('Run when a visitor comes.').unwrap(),
    message_flow_id: reference('Run by what visitors write.'),
    session_idle_timeout: z
      .number()
      .int()
      .max(LONGEST_IDLE_S)
      .overwrite(seconds => (seconds <= 0 ? IDLE_S : seconds))
      .default(IDLE_S)
      .describe('Seconds after which a silent visitor is gone.'),
    theme_config: themeSchema.nullable().default(null).describe('How the window looks; null: as the page wants.'),
  },
  changeable: ['name', 'status', 'session_flow_id', 'message_flow_id', 'session_idle_timeout', 'theme_config'],
  shown: { direct_hash: z.string().describe('What visitors boot with (POST /auth/boot).') },
});

const mustBeFlows = async ({ context, identity }: RouteRequest, body: Record<string, unknown>): Promise<void> => {
  await mustBeFlow(context.db, identity.customer_id, body['session_flow_id']);
  await mustBeFlow(context.db, identity.customer_id, body['message_flow_id']);
};

const routes = crud(webchatWidgets, {
  async prepare(request, body) {
    await mustBeFlows(request, body);
    return { ...body, direct_hash: newDirectHash() };
  },
  async revise(request, body) {
    await mustBeFlows(request, body);
    return body;
  },
});

export const webchatWidgetRoutes: Route[] = [...Object.values(routes), ...regenerateHash(webchatWidgets)];
