import type { NoVacancy, Vacancy } from './replace.ts';
import type { Services } from '../services.ts';
import type { DialogName } from '../sip/replaces.ts';

/**
 * A place in a conversation that another node holds. A call inside the house leads there: its calling side is here, its
 * called side takes the place there, and their media servers hear each other.
 */
export interface Elsewhere {
  node: string;
  dialog: DialogName;
  customer_id: string;
  vacancy: Vacancy;
}

/** Looks for a dialog among the calls of all other nodes. */
export const findElsewhere = async (
  { neighbours }: Services,
  dialog: DialogName,
  customer_id: string,
): Promise<Elsewhere | NoVacancy | undefined> => {
  const found = await neighbours.find('dialog.look', { dialog, customer_id });
  if (!found || 'status' in found.answer) return found?.answer as NoVacancy | undefined;
  return { node: found.node, dialog, customer_id, vacancy: found.answer };
};
