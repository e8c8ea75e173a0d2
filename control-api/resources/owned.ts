import { isSet } from '#contract/ids';
import type { Queryable } from '../db.ts';
import type { Resource, Row } from './resource.ts';
import { Store } from './store.ts';

/** The live record of a customer that an id names; nothing for an unset id. Rejects the resource's not-found reason. */
export const ownedRecord = async (
  db: Queryable,
  resource: Resource,
  customer_id: string,
  id: unknown,
): Promise<Row | undefined> => {
  if (typeof id !== 'string' || !isSet(id)) return undefined;
  return new Store(resource, db).get({ customer_id, any_customer: false, request_id: '' }, id);
};
