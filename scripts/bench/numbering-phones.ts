import { Load, LoadPhone } from './rtp-load.ts';

/**
 * Phones that number their frames, in a process of its own, so that they speak in time whatever the one that measures is busy with.
 * Argument: how many. Says their descriptions to its parent, a list; takes the list of the answers, and then they talk; whenever it is
 * asked `late`, it says by how many milliseconds they were late at worst since it was asked last.
 */
const phones = await Promise.all(Array.from({ length: Number(process.argv[2]) }, (_, id) => LoadPhone.open(id)));
const load = new Load(phones);

process.on('message', (said: string[] | 'late') => {
  if (said === 'late') {
    process.send?.(load.late);
    load.late = 0;
  } else phones.forEach((phone, at) => phone.talkTo(said[at] ?? ''));
});
process.on('disconnect', () => process.exit());
process.send?.(phones.map(({ sdp }) => sdp));
