import { z } from 'zod';
import type { Address } from '#contract/address';
import { EMPTY_ID, isSet } from '#contract/ids';
import { defineAction, next, type ActionContext } from '../action.ts';
import { validateActions } from '../validate.ts';
import { anonymous, destinations, source } from './options.ts';

/** Without a source the new call comes from our side of the present one. */
const ownAddress = ({ call }: ActionContext): Address => {
  const record = call?.record();
  if (!record) throw new Error('there is no source to call from');
  return record.direction === 'incoming' ? record.destination : record.source;
};

export const call = defineAction({
  type: 'call',
  summary: 'Starts independent outgoing calls and goes on at once.',
  needs: 'any',
  onError: 'stop',
  option: z.object({
    source,
    destinations,
    flow_id: z.string().max(64).default('').describe('The flow of the new calls.'),
    actions: z.array(z.unknown()).default([]).describe('Their actions when there is no flow_id.'),
    chained: z.boolean().default(false).describe('True: the new calls end with this one.'),
    early_execution: z.boolean().default(false).describe('True: their flow starts at ringing.'),
    anonymous,
  }),
  async run(context, given) {
    if (given.destinations.length === 0) throw new Error('there is nobody to call');
    const ownFlow = isSet(given.flow_id);
    await context.ports.createCalls({
      customer_id: context.activeflow.customer_id,
      source: given.source ?? ownAddress(context),
      destinations: given.destinations,
      flow_id: ownFlow ? given.flow_id : EMPTY_ID,
      actions: ownFlow ? [] : validateActions(given.actions),
      anonymous: given.anonymous,
      master_call_id: (given.chained && context.call?.record().id) || EMPTY_ID,
      early_execution: given.early_execution,
    });
    return next;
  },
});
