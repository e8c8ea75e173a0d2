import { Load, LoadPhone } from './rtp-load.ts';
import type { Report } from './talking-phones.ts';

/**
 * Phones that number their frames, in a process of its own (`openPhones`), so that they speak and hear in time whatever the one that
 * measures is busy with. Argument: how many. Says their descriptions to its parent, a list; takes the list of the answers, and then
 * they talk; from `begin` on it counts, and to `report` it answers with what it counted.
 */
const phones = await Promise.all(Array.from({ length: Number(process.argv[2]) }, (_, id) => LoadPhone.open(id)));
const load = new Load(phones);

const begin = (): void => {
  for (const phone of phones) phone.restart();
  load.late = 0;
};

const report = (): Report => {
  const total: Report = { late_ms: load.late, packets: 0, lost: 0, doubled: 0, on_time: 0 };
  for (const { heard, punctuality } of phones) {
    total.packets += heard.packets;
    total.lost += heard.lost;
    total.doubled += heard.doubled;
    total.on_time += punctuality.judge().onTime;
  }
  return total;
};

process.on('message', (said: string[] | 'begin' | 'report') => {
  if (said === 'begin') begin();
  else if (said === 'report') process.send?.(report());
  else phones.forEach((phone, at) => phone.talkTo(said[at] ?? ''));
});
process.on('disconnect', () => process.exit());
process.send?.(phones.map(({ sdp }) => sdp));
