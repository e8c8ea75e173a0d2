import { z } from 'zod';
import { defineAction } from '../action.ts';
import { compareNumbers } from './compare.ts';
import { decision } from './decision.ts';
import { operator, targetId } from './options.ts';

const option = z.object({
  condition: operator,
  minute: z.number().int().default(0).describe('0-59; -1 matches all.'),
  hour: z.number().int().default(0).describe('0-23; -1 matches all.'),
  day: z.number().int().default(0).describe('1-31; 0 or -1 matches all.'),
  month: z.number().int().default(0).describe('1-12; 0 or -1 matches all.'),
  weekdays: z.array(z.number().int()).max(31).default([]).describe('0 Sunday to 6 Saturday; empty matches all.'),
  false_target_id: targetId,
});
type Given = z.infer<typeof option>;

/** `[now, value, least value that is no wildcard]`, in the order of voice-and-flows 6.5. */
const parts = (now: Date, given: Given): [number, number, number][] => [
  [now.getUTCMonth() + 1, given.month, 1],
  [now.getUTCDate(), given.day, 1],
  [now.getUTCHours(), given.hour, 0],
  [now.getUTCMinutes(), given.minute, 0],
];

/** Each part is compared on its own as `now OP value`; all must hold. The operator is not used for weekdays. */
const holds = (now: Date, given: Given): boolean =>
  (given.weekdays.length === 0 || given.weekdays.includes(now.getUTCDay())) &&
  parts(now, given).every(([part, value, least]) => value < least || compareNumbers(part, given.condition, value));

export const conditionDatetime = defineAction({
  type: 'condition_datetime',
  summary: 'Goes on when the present moment in UTC compares true, else jumps.',
  needs: 'any',
  onError: 'stop',
  option,
  async run({ ports }, given) {
    return decision(holds(ports.clock.now(), given), given.false_target_id);
  },
});
