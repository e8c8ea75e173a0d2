import { z } from 'zod';
import type { Reason } from '#contract/errors';
import type { Timestamp } from '#contract/time';
import type { LimitedRows } from '../billing/limits.ts';
import type { Queryable, Rows } from '../db.ts';
import type { Permission } from '../http/permit.ts';

/** What a stored resource is: tenancy, permission, events. */
interface Facts {
  /** Singular, snake_case: the first part of its events and of its topics. */
  name: string;
  /** Name of its schema in OpenAPI, and its tag. */
  title: string;
  path: string;
  table: string;
  not_found: Reason;
  read: Exclude<Permission, 'public'>;
  write: Exclude<Permission, 'public'>;
  /** How a moment that has not come is shown: null, empty or NEVER (accounts-and-plumbing 1.7). */
  unset: string | null;
  /** Shown to whoever asks, never told in events. */
  secrets?: string[];
  /** True when its changes are told as `<name>_created`, `_updated`, `_deleted`. */
  told: boolean;
  /** Reasons that its POST and PUT may answer, beside the plain ones. */
  refusals?: Reason[];
  /** Rows that lists show and writes reach; GET by id reaches the others too. */
  listed?: Record<string, unknown>;
  /** Query parameters that narrow its list (1.6); each asks for rows whose column of that name has the value. */
  filters?: z.ZodRawShape;
  /** How rows are chosen by a filter that asks for something else than an equal column. */
  narrow?: Record<string, (rows: Rows, value: unknown) => void>;
  /** How many rows a page of its list has when nobody says. */
  page_size?: number;
  /** Reads what of its records lies in other tables, before they are shown or told. */
  whole?: (db: Queryable, rows: Row[]) => Promise<Row[]>;
  /**
   * Whose its rows are, and whose lists show. `own` (default): a customer's, who lists its own. `any`: a customer's, and
   * super admins list everybody's. `none`: the platform's, without `customer_id`.
   */
  tenancy?: 'own' | 'any' | 'none';
  /** What plans call it that limit how many a customer has (14.5). */
  limited?: LimitedRows;
  /** What a POST or PUT answers when a live row has the same unique value; ALREADY_EXISTS when left out. */
  duplicate?: Reason;
}

/** A resource as declared, once. */
export interface ResourceDefinition<F extends z.ZodRawShape> extends Facts {
  /** What clients write at creation; each is shown too, unless `request_only` names it. */
  fields: F;
  /** The fields that a PUT may change. One left out stays as it is. */
  changeable: (keyof F & string)[];
  /** Fields that only the platform sets, and fields shown otherwise than they are written. */
  shown?: z.ZodRawShape;
  request_only?: (keyof F & string)[];
}

/** A resource with the schemas that follow from its definition. */
export interface Resource extends Facts {
  /** The record as shown. */
  schema: z.ZodObject;
  /** The body of PUT. */
  change: z.ZodObject;
}

/** A resource that still knows the fields of its POST by name. */
export interface ResourceOf<F extends z.ZodRawShape> extends Resource {
  /** The body of POST. */
  create: z.ZodObject<F>;
}

/** A row of a resource's table. Other columns are as its migration declares them. */
export interface Row {
  [column: string]: unknown;
  id: string;
  customer_id: string;
  tm_create: Timestamp;
  tm_update: Timestamp | null;
  tm_delete: Timestamp | null;
}

/** A field without its default: what is left out must stay left out, not be blanked. */
const bare = (field: z.core.$ZodType): z.core.$ZodType =>
  field instanceof z.ZodDefault || field instanceof z.ZodOptional ? bare(field.unwrap()) : field;

/** The fields of a PUT: chosen ones, all optional, none with a default. */
export const changesOf = (fields: z.ZodRawShape, names: string[]): z.ZodObject =>
  z.object(
    Object.fromEntries(
      names.map(name => {
        const field = fields[name];
        if (!field) throw new Error(`No field ${name} to change.`);
        const { description } = z.globalRegistry.get(field) ?? {};
        const optional = z.optional(bare(field));
        return [name, description ? optional.describe(description) : optional];
      }),
    ),
  );

const moment = (unset: Resource['unset'], text: string) =>
  (unset === null ? z.string().nullable() : z.string()).describe(text);

const shownFields = (fields: z.ZodRawShape, requestOnly: string[]): z.ZodRawShape =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => {
      if (requestOnly.includes(name)) return [];
      const { description } = z.globalRegistry.get(field) ?? {};
      const plain = bare(field);
      return [[name, description && plain instanceof z.ZodType ? plain.describe(description) : plain]];
    }),
  );

const recordSchema = <F extends z.ZodRawShape>(definition: ResourceDefinition<F>): z.ZodObject =>
  z
    .object({
      id: z.uuid().describe('Given by the platform.'),
      ...(definition.tenancy === 'none' ? {} : { customer_id: z.uuid().describe('The customer it belongs to.') }),
      ...shownFields(definition.fields, definition.request_only ?? []),
      ...definition.shown,
      tm_create: z.string().describe('When it was created, UTC.'),
      tm_update: moment(definition.unset, 'When it was last changed.'),
      tm_delete: moment(definition.unset, 'When it was deleted.'),
    })
    .meta({ id: definition.title });

/** Derives the schemas of a resource from its definition. */
export const defineResource = <const F extends z.ZodRawShape>(definition: ResourceDefinition<F>): ResourceOf<F> => {
  const { fields, changeable, request_only: _only, shown: _shown, ...facts } = definition;
  return {
    ...facts,
    schema: recordSchema(definition),
    create: z.object(fields),
    change: changesOf(fields, changeable),
  };
};

/** A row as clients see it: the schema's fields, unset moments rendered as the resource wants. */
export const render = ({ schema, unset }: Pick<Resource, 'schema' | 'unset'>, row: Row): Record<string, unknown> => {
  const shown: Record<string, unknown> = {};
  for (const name in schema.shape) shown[name] = name.startsWith('tm_') ? (row[name] ?? unset) : row[name];
  return shown;
};

/** A row as events tell it: as clients see it, without its secrets. */
export const renderForEvent = (resource: Resource, row: Row): Record<string, unknown> => {
  const shown = render(resource, row);
  return Object.fromEntries(Object.entries(shown).filter(([name]) => !resource.secrets?.includes(name)));
};
