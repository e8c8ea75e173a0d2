import type { Log } from '#process/log';
import type { Carrier } from '../carriers/carrier.ts';
import type { Db } from '../db.ts';
import { Sweep } from './sweep.ts';

const BATCH = 100;

interface Row {
  id: string;
  number: string;
  carrier: string;
  carrier_reference: string;
}

/** A carrier that is away ends the look. */
const releaseSome = async (db: Db, carrier: Carrier, log: Log): Promise<void> => {
  const rows = await db<Row>('numbers')
    .whereNotNull('tm_delete')
    .where('carrier', carrier.name)
    .where('carrier', '<>', '')
    .limit(BATCH)
    .select('id', 'number', 'carrier_reference');
  for (const { id, number, carrier_reference } of rows as Row[]) {
    await carrier.release(number, carrier_reference);
    await db('numbers').where({ id }).update({ carrier: '' });
    log.info({ number_id: id }, 'a deleted number was given back to the carrier');
  }
};

/** Gives deleted numbers back to their carrier (accounts-and-plumbing 15.2). */
export const numberSweep = (db: Db, carrier: Carrier, log: Log): Sweep =>
  new Sweep(() => releaseSome(db, carrier, log), 'deleted numbers not given back', log);
