import { Stranger } from '../../test/support/stranger.ts';
import type { Target } from './attack-waves.ts';

/** So many standard errors apart two distributions are not the same. */
const TELLING = 4;
const KNOWN = 'a known user';

/** How long refusals take, by who was guessed; the answers have to be the same. */
export const timeRefusals = async (target: Target, samples: number): Promise<[Record<string, number[]>, string[]]> => {
  const { realm, victim, server, domain } = target;
  const kinds: [name: string, username: string, realm: string][] = [
    [KNOWN, victim, realm],
    ['an unknown user', '4711', realm],
    ['an unknown customer', victim, `zzzz.reg.${domain}`],
  ];
  const times: Record<string, number[]> = {};
  const breaches: string[] = [];
  for (let sample = 0, one: Stranger | undefined; sample < samples; sample++) {
    if (sample % 2 === 0) {
      one = await Stranger.start(`127.200.${sample >> 8}.${sample & 255}`, server);
      await one.ask({ method: 'OPTIONS', uri: `sip:${domain}` }); // the first of a socket takes longer
    }
    for (const [name, username, host] of [...kinds.slice(sample % 3), ...kinds.slice(0, sample % 3)]) {
      const request = { method: 'REGISTER', uri: `sip:${host}`, from: `<sip:${username}@${host}>` };
      const answer = await one?.attempt(request, { username, password: 'wrong' });
      if (answer?.status !== 403) breaches.push(`${name} with a wrong password was told ${answer?.status}, not 403`);
      (times[name] ??= []).push(answer?.ms ?? 0);
    }
    if (sample % 2) one?.close();
  }
  return [times, [...breaches, ...tellingTimes(times)]];
};

/** Pairs of kinds that can be told apart by the clock (Mann and Whitney's test). */
const tellingTimes = (times: Record<string, number[]>): string[] => {
  const { [KNOWN]: known = [], ...others } = times;
  return Object.entries(others).flatMap(([name, other]) => {
    const wins = known.reduce((sum, a) => sum + other.reduce((n, b) => n + (a > b ? 1 : a === b ? 0.5 : 0), 0), 0);
    const size = known.length * other.length;
    const apart = (wins - size / 2) / Math.sqrt((size * (known.length + other.length + 1)) / 12);
    return Math.abs(apart) > TELLING ? [`${name} is told by the clock, ${apart.toFixed(1)} standard errors`] : [];
  });
};
