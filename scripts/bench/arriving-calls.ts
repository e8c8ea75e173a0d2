import { setTimeout as pause } from 'node:timers/promises';
import { TestPhone } from '../../test/support/phone.ts';

/**
 * So many calls a second from a process of its own, each answered and hung up; goes on until it is stopped.
 * Arguments: SIP port, number of calls a second. Prints a line of JSON when it is ready.
 */
const [port = 0, rate = 1] = process.argv.slice(2).map(Number);
const domain = `127.0.0.1:${port}`;
/** Calls of one phone, which remembers them all. */
const EACH = 1000;
/** More at once than this and somebody is too slow: calls that do not come in time do not come at all. */
const MOST_OPEN = 100;
let open = 0;

const call = async (phone: TestPhone): Promise<void> => {
  open += 1;
  try {
    const made = await phone.dial(`sip:1000@${domain}`);
    await made.answered();
    await made.hangup();
  } catch {
    // judged is what the others hear meanwhile
  } finally {
    open -= 1;
  }
};

console.log(JSON.stringify({ ready: port }));
for (let began = performance.now(), made = 0; ;) {
  const phone = await TestPhone.start({ username: 'arrives', domain, server: { host: '127.0.0.1', port } });
  const calls: Promise<void>[] = [];
  while (calls.length < EACH) {
    for (; made < ((performance.now() - began) / 1000) * rate && calls.length < EACH; made += 1)
      if (open < MOST_OPEN) calls.push(call(phone));
    await pause(5);
  }
  await Promise.all(calls);
  await phone.stop({ hangup: true });
}
