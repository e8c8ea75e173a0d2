import { extensionKey, normalizeAddress, type Address } from '#contract/address';
import { PlatformError } from '#contract/errors';
import { isDuplicate, type Queryable, type Transaction } from '../db.ts';
import type { Row } from './resource.ts';

const REACHABLE = ['extension', 'tel', 'sip'];

const invalid = (message: string) => new PlatformError('INVALID_ARGUMENT', `addresses: ${message}`);

/** An extension by its number or its id, as it is stored: under its number, which is what it is dialled by. */
const ofExtension = async (db: Queryable, customerId: string, address: Address): Promise<Address> => {
  const keys = [extensionKey(address), address.target];
  const found = await db<Row & { extension: string }>('extensions')
    .where('customer_id', customerId)
    .whereNull('tm_delete')
    .where(either => either.whereIn('extension', keys).orWhereRaw('id::text = any(?)', [keys]))
    .first('extension');
  if (!found) throw invalid(`there is no extension ${extensionKey(address)}.`);
  return { ...address, target: found.extension, target_name: found.extension };
};

/**
 * The addresses of an agent as they are stored (accounts-and-plumbing 11.3): normalized, extensions by their number.
 * Rejects INVALID_ARGUMENT for types that no agent is reached at, empty targets, unknown extensions and doubles.
 */
export const agentAddresses = async (db: Queryable, customerId: string, given: Address[]): Promise<Address[]> => {
  const addresses: Address[] = [];
  for (const each of given.map(normalizeAddress)) {
    if (!REACHABLE.includes(each.type)) throw invalid(`an agent has no address of type ${each.type}.`);
    if (each.target === '') throw invalid('a target is empty.');
    addresses.push(each.type === 'extension' ? await ofExtension(db, customerId, each) : each);
  }
  const known = new Set(addresses.map(({ type, target }) => `${type} ${target}`));
  if (known.size < addresses.length) throw invalid('one is there twice.');
  return addresses;
};

/** Makes addresses an agent's own, in place of those it had. Rejects ADDRESS_ALREADY_ASSIGNED when another agent has one. */
export const assignAddresses = async (trx: Transaction, agent: Row, addresses: Address[]): Promise<void> => {
  await trx('agent_addresses').where('agent_id', agent.id).delete();
  const { id: agent_id, customer_id } = agent;
  const rows = addresses.map(({ type, target }) => ({ customer_id, type, target, agent_id }));
  if (rows.length === 0) return;
  await trx('agent_addresses')
    .insert(rows)
    .catch((error: unknown) => {
      if (!isDuplicate(error)) throw error;
      throw new PlatformError('ADDRESS_ALREADY_ASSIGNED', 'Another agent of the account has one of these addresses.');
    });
};
