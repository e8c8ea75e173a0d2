import { TestPhone } from '../../test/support/phone.ts';
import { PLAN } from './plan.ts';
import type { System } from './systems.ts';

const target = (system: System) => `sip:${system.number}@${system.domain}`;

const phoneFor = (system: System, incoming = {}): Promise<TestPhone> =>
  TestPhone.start({ username: 'bench', domain: system.domain, server: system.sip, incoming });

/** Milliseconds from POST /calls leaving to the INVITE arriving at the phone, which is busy. */
export const orderToInvite = async (system: System, calls: number): Promise<number[]> => {
  const phone = await phoneFor(system, { refuse: 486 });
  const samples: number[] = [];
  for (let count = 1; count <= calls; count++) {
    const began = performance.now();
    await system.order(phone.address);
    const invite = await phone.message('INVITE', { direction: 'received', count });
    samples.push(invite.at - began);
    await phone.message('ACK', { direction: 'received', count });
  }
  await phone.stop();
  return samples;
};

/** Milliseconds from INVITE out to 200 in, and from 200 to the first audible RTP packet. */
export const answerAndHear = async (system: System, calls: number): Promise<{ answer: number[]; hear: number[] }> => {
  const phone = await phoneFor(system);
  const [answer, hear]: [number[], number[]] = [[], []];
  for (let count = 1; count <= calls; count++) {
    const call = await phone.dial(target(system));
    await call.answered();
    await call.hears(1000);
    const { invite, answered, firstAudible } = call.times;
    answer.push((answered ?? NaN) - (invite ?? NaN));
    hear.push((firstAudible ?? NaN) - (answered ?? NaN));
    await call.hangup();
  }
  await phone.stop();
  return { answer, hear };
};

/** Calls a second (answer, tone heard, BYE) with so many in the air, and how many failed. */
export const rate = async (system: System): Promise<{ per_second: number; failed: number }> => {
  const phone = await phoneFor(system);
  const until = performance.now() + PLAN.load_s * 1000;
  let [done, failed] = [0, 0];
  const caller = async (): Promise<void> => {
    while (performance.now() < until) {
      try {
        const call = await phone.dial(target(system));
        await call.answered();
        await call.hears(1000);
        await call.hangup();
        done++;
      } catch {
        failed++; // counted, and reported with the figure
      }
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: PLAN.concurrency }, caller));
  const seconds = (performance.now() - began) / 1000;
  await phone.stop({ hangup: true });
  return { per_second: done / seconds, failed };
};
