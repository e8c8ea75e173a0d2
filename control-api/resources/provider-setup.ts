import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import type { CarrierConnection } from '../carriers/carrier.ts';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import { scopeOf } from './crud.ts';
import { detailField, nameField } from './fields.ts';
import { providers } from './providers.ts';
import { render } from './resource.ts';
import { Store } from './store.ts';

/** The one carrier that can be set up: whoever stands behind the adapter of the settings. */
const CARRIERS = ['http'] as const;

const setupBody = z.object({
  carrier: z.enum(CARRIERS).describe('http: the carrier adapter of this installation.'),
  name: nameField.unwrap().min(1, 'must not be empty').describe('What people see.'),
  detail: detailField,
  credentials: z
    .object({ api_key: z.string().min(1, 'must not be empty').max(1024).describe('Your key there.') })
    .describe('Checked at the carrier; kept nowhere.'),
});

/** The connection as the body of a new provider. */
const providerOf = ({ name, detail }: z.output<typeof setupBody>, made: CarrierConnection) => {
  const { hostname, username, password, tech_prefix } = made;
  const tech = { tech_prefix, tech_postfix: '', tech_headers: {} };
  return { type: 'sip', name, detail, hostname, ...tech, username, password, register: username !== '' };
};

/** Takes back what the carrier made for a provider that could not be stored. */
const rollBack = async ({ context }: RouteRequest, apiKey: string, reference: string): Promise<void> => {
  await context.carrier.disconnect(apiKey, reference).catch((error: unknown) => {
    // The answer tells the first failure; whoever runs the platform finds the rest here.
    context.log.error({ err: error, connection: reference }, 'a connection is left behind at the carrier');
  });
};

const setup = defineRoute({
  method: 'post',
  path: '/providers/setup',
  operation_id: 'setup_provider',
  summary: 'Make a connection at a carrier, and the provider that leads there',
  tag: 'Provider',
  permission: 'super',
  body: setupBody,
  response: providers.schema,
  reasons: ['CARRIER_CREDENTIALS_REJECTED', 'SERVICE_UNAVAILABLE'],
  async handle(request) {
    const { context, body } = request;
    const { api_key } = body.credentials;
    const made = await context.carrier.connect(api_key, body.name);
    try {
      const values = providers.create.parse(providerOf(body, made));
      const metadata = { carrier: body.carrier, connection: made.reference };
      const row = await new Store(providers, context.db).insert(scopeOf(request), { ...values, metadata });
      return render(providers, row);
    } catch (error) {
      await rollBack(request, api_key, made.reference);
      if (error instanceof z.ZodError)
        throw new PlatformError('SERVICE_UNAVAILABLE', 'The carrier named a connection that cannot be used.');
      throw error;
    }
  },
});

export const providerSetupRoutes: Route[] = [setup];
