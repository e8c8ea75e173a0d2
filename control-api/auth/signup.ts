import { z } from 'zod';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { openCustomer } from '../customers/open.ts';
import { isDuplicate, type Transaction } from '../db.ts';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import { accesskeyColumns, createdAccesskey, accesskeys } from '../resources/accesskeys.ts';
import { customerFields, publicCustomerSchema, showCustomer } from '../resources/customer.ts';
import { render, type Row } from '../resources/resource.ts';
import { postVerification } from './links.ts';
import { newAccesskeyToken } from './secrets.ts';

/** The terms that whoever signs up today agrees to (accounts-and-plumbing 8.1). */
const TERMS_VERSION = '2026-01-01T00:00:00Z';
const YEAR_S = 31_536_000;

const { name, detail, phone_number, address, webhook_method, webhook_uri, email: emailRule } = customerFields;

const bodySchema = z.object({
  email: z.string().describe('Becomes the user name of the first admin.'),
  accepted_tos: z.literal(true).describe('Must be true.'),
  name,
  detail,
  phone_number: phone_number.default(''),
  address: address.default(''),
  webhook_method: webhook_method.default(''),
  webhook_uri: webhook_uri.default(''),
});

const firstKey = async (trx: Transaction, customer_id: string): Promise<z.input<typeof createdAccesskey>> => {
  const token = newAccesskeyToken();
  const text = { name: 'default', detail: 'Auto-provisioned API key' };
  const values = { id: newId(), customer_id, ...text, ...accesskeyColumns(token, YEAR_S), tm_create: timestamp() };
  const [row] = await trx<Row>('accesskeys').insert(values).returning('*');
  return { ...render(accesskeys, row as Row), token };
};

type SignUp = RouteRequest<unknown, unknown, z.output<typeof bodySchema>>;

/** Customer, admin, key and letter: all of them, or none. */
const signUp = ({ context, body, request_id, client_ip }: SignUp) =>
  context.db.transaction(async trx => {
    const { accepted_tos: _accepted, ...values } = body;
    const terms = { terms_agreed_version: TERMS_VERSION, terms_agreed_ip: client_ip };
    const { customer } = await openCustomer(trx, { ...values, ...terms, status: 'initial' }, request_id);
    const accesskey = await firstKey(trx, customer.id);
    await postVerification(trx, context, { id: customer.id, email: body.email }, 'verify');
    return { customer: showCustomer(customer), accesskey };
  });

const signup = defineRoute({
  method: 'post',
  path: '/auth/signup',
  surface: 'auth',
  operation_id: 'signup',
  summary: 'Open an account; the answer is empty when the address is no address or has one',
  tag: 'Auth',
  permission: 'public',
  body: bodySchema,
  response: z
    .object({ customer: publicCustomerSchema.optional(), accesskey: createdAccesskey.optional() })
    .meta({ id: 'Signup', description: 'Empty when nothing was opened.' }),
  async handle(request) {
    if (!emailRule.safeParse(request.body.email).success) return {};
    const { context, request_id } = request;
    try {
      const made = await signUp(request);
      context.mail.wake();
      return made;
    } catch (error) {
      // Whatever kept it from being opened, the answer is that it was not (platform-api, Errors).
      if (!isDuplicate(error)) context.log.error({ err: error, request_id }, 'signup failed');
      return {};
    }
  },
});

export const signupRoutes: Route[] = [signup];
