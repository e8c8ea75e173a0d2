import { z } from 'zod';
import { HEALTH_STATUSES, TECH_AFFIX } from '#contract/carrier';
import { PlatformError } from '#contract/errors';
import { NEVER } from '#contract/time';
import { because } from '../http/bind.ts';
import type { Route } from '../http/route.ts';
import { crud } from './crud.ts';
import { detailField, nameField } from './fields.ts';
import { ipRanges } from './ip-ranges.ts';
import { defineResource } from './resource.ts';

const HOST = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)(:\d{1,5})?$/i;

const isHost = (text: string): boolean => {
  const match = HOST.exec(text);
  return match !== null && Number(match[3]?.slice(1) ?? 0) <= 65_535;
};

const isCodecList = (text: string): boolean =>
  text.length <= 255 &&
  (text === '' || (!/[\r\n()]/.test(text) && text.split(',').every(codec => codec.trim() !== '')));

/** Names and values of headers; those that must not be sent are dropped when a call is placed, not here (22). */
const MOST_HEADERS = { count: 32, name: 64, value: 512 };

const isHeaderList = (headers: Record<string, unknown>): boolean =>
  Object.entries(headers).every(([, value]) => typeof value === 'string');

const fitsHeaderLimits = (headers: Record<string, unknown>): boolean =>
  Object.keys(headers).length <= MOST_HEADERS.count &&
  Object.entries(headers).every(
    ([name, value]) => name.length <= MOST_HEADERS.name && String(value).length <= MOST_HEADERS.value,
  );

const techAffix = z.string().regex(TECH_AFFIX, 'must be at most 64 letters, digits or * # + . ; = - _');
const cap = (what: string) => z.int().min(0).max(1_000_000).default(0).describe(what);

/** Carriers that calls to the world go through; the platform's, for all customers (accounts-and-plumbing 22). */
export const providers = defineResource({
  name: 'provider',
  title: 'Provider',
  path: '/providers',
  table: 'providers',
  not_found: 'PROVIDER_NOT_FOUND',
  read: 'super',
  write: 'super',
  unset: NEVER,
  told: false,
  tenancy: 'none',
  refusals: ['INVALID_CODECS'],
  fields: {
    type: z.enum(['sip']).describe('Always sip.'),
    hostname: z
      .string()
      .refine(isHost, 'must be a host or host:port')
      .toLowerCase()
      .describe('SIP host, or host:port.'),
    tech_prefix: techAffix.describe('Put before the dialled number.'),
    tech_postfix: techAffix.describe('Put behind the dialled number.'),
    tech_headers: z
      .record(z.string(), z.unknown())
      .refine(isHeaderList, 'must have strings as values')
      .refine(fitsHeaderLimits, 'has at most 32 headers, names of 64 and values of 512 characters')
      .describe('More SIP headers of each INVITE. Reserved names and unsafe values are not sent.'),
    name: nameField.unwrap(),
    detail: detailField.unwrap(),
    codecs: z
      .string()
      .refine(
        isCodecList,
        because('INVALID_CODECS', 'must be at most 255 characters of names with commas between them'),
      )
      .default('')
      .describe('Codecs offered, the best first; empty: what the media server offers.'),
    username: z
      .string()
      .regex(/^[^\s"\\]{0,128}$/u)
      .default('')
      .describe('Answers the digest challenges of the carrier.'),
    password: z
      .string()
      .regex(/^\P{C}{0,128}$/u)
      .default('')
      .describe('The same.'),
    register: z.boolean().default(false).describe('Whether the carrier wants us to register, as username.'),
    allowed_ips: ipRanges.describe('Where its calls come from, beside the addresses of hostname.'),
    max_calls: cap('Most calls through it at a time; 0: any number.'),
    max_calls_per_second: cap('Most new calls in a second; 0: any number.'),
  },
  changeable: [
    'hostname',
    'tech_prefix',
    'tech_postfix',
    'tech_headers',
    'name',
    'detail',
    'codecs',
    'username',
    'password',
    'register',
    'allowed_ips',
    'max_calls',
    'max_calls_per_second',
  ],
  shown: {
    tech_headers: z.record(z.string(), z.string()),
    metadata: z.record(z.string(), z.unknown()).describe('Notes of the setup.'),
    health_status: z.enum(HEALTH_STATUSES).describe('What the latest OPTIONS found.'),
    health_checked_at: z.string().nullable().describe('When that was; null: never.'),
  },
  secrets: ['password'],
});

const mustHaveLogin = (provider: Record<string, unknown>): void => {
  if (provider['register'] === true && provider['username'] === '')
    throw new PlatformError('INVALID_ARGUMENT', 'register: needs a username.');
};

const routes = crud(providers, {
  async prepare(_request, body) {
    mustHaveLogin(body);
    return body;
  },
  /** At another host nobody knows yet how it is. */
  async revise(_request, body, row) {
    mustHaveLogin({ ...row, ...body });
    const moved = body['hostname'] !== undefined && body['hostname'] !== row['hostname'];
    return moved ? { ...body, health_status: 'unknown', health_checked_at: null } : body;
  },
});

export const providerRoutes: Route[] = Object.values(routes);
