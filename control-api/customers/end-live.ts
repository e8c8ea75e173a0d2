import type { Context } from '../http/context.ts';
import { LIVE_TABLES } from '../live.ts';

type Ended = 'call' | 'conference';

/** A status that nothing is ordered of any more. */
export const OVER: Record<Ended, string> = { call: 'hangup', conference: 'terminated' };

/** What of a customer may still be up: by the rows, and by the newest live records, which rows may lack for a moment. */
const candidates = async ({ db, live }: Context, kind: Ended, customer_id: string): Promise<Set<string>> => {
  const rows = await db(LIVE_TABLES[kind])
    .where({ customer_id })
    .whereRaw("data ->> 'status' <> ?", [OVER[kind]])
    .select<{ id: string }[]>('id');
  const { result } = await live.list(kind, customer_id, { page_size: 100 });
  return new Set([...rows, ...result].map(each => each.id));
};

/** Orders the end of everything of these kinds that a customer has up. The orders lie in queues; nobody waits for them. */
export const endLive = async (
  context: Context,
  customer_id: string,
  request_id: string,
  kinds: readonly Ended[],
): Promise<void> => {
  const { live, commands } = context;
  for (const kind of kinds)
    for (const id of await candidates(context, kind, customer_id)) {
      const found = await live.find(kind, customer_id, id);
      if (!found?.live || found.owner === undefined) continue;
      const order = { customer_id, request_id, owner: found.owner };
      if (kind === 'call') await commands.tell('call.hangup', { ...order, body: { call_id: id } });
      else await commands.tell('conference.delete', { ...order, body: { conference_id: id } });
    }
};
