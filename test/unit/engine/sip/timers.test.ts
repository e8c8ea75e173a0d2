import { strict as assert } from 'node:assert';
import { mock } from 'node:test';
import type { Hop, Source } from '../../../../engine/sip/hop.ts';
import { newRequest, responseTo, type SipRequest } from '../../../../engine/sip/message.ts';
import { defaultTimers } from '../../../../engine/sip/timers.ts';
import { InviteClientTransaction } from '../../../../engine/sip/transactions/invite-client.ts';
import { InviteServerTransaction } from '../../../../engine/sip/transactions/invite-server.ts';
import { NonInviteClientTransaction } from '../../../../engine/sip/transactions/non-invite-client.ts';
import { NonInviteServerTransaction } from '../../../../engine/sip/transactions/non-invite-server.ts';
import type { Wire } from '../../../../engine/sip/transactions/wire.ts';

type Transport = 'udp' | 'tcp';
type Machine = 'INVITE client' | 'client' | 'INVITE server' | 'server';
/** What happens in the transaction, in ms from its beginning: a response that comes or is sent, CANCEL, ACK, the request again. */
type Deed = [at: number, what: number | 'cancel' | 'ack' | 'again'];

interface Row {
  timers: string;
  title: string;
  machine: Machine;
  over: Transport;
  deeds?: Deed[];
  /** What goes over the wire and what its user hears, in order. `ended` is the end of the transaction. */
  comes: string;
}

/** Beyond all of it. */
const FOREVER_MS = 40_000;

/** RFC 3261 17, figures 5 to 8 and table 4, with the Accepted state of RFC 6026; T1 500 ms, T2 4 s, T4 5 s. */
const ROWS: Row[] = [
  {
    ...{ timers: 'A, B', machine: 'INVITE client', over: 'udp', title: 'an INVITE nobody answers' },
    comes:
      '0 INVITE, 500 INVITE, 1500 INVITE, 3500 INVITE, 7500 INVITE, 15500 INVITE, 31500 INVITE, 32000 ended, 32000 timeout',
  },
  {
    ...{ timers: 'B', machine: 'INVITE client', over: 'tcp', title: 'an INVITE nobody answers' },
    comes: '0 INVITE, 32000 ended, 32000 timeout',
  },
  {
    ...{
      timers: 'A',
      machine: 'INVITE client',
      over: 'udp',
      title: 'an INVITE that rings is repeated no more, and waits',
    },
    deeds: [[600, 180]],
    comes: '0 INVITE, 500 INVITE, 600 180',
  },
  {
    ...{
      timers: 'D',
      machine: 'INVITE client',
      over: 'udp',
      title: 'a failure is acknowledged as often as it comes for 32 s',
    },
    deeds: [
      [100, 486],
      [600, 486],
      [32_000, 486],
      [32_200, 486],
    ],
    comes: '0 INVITE, 100 ACK, 100 486, 600 ACK, 32000 ACK, 32100 ended',
  },
  {
    ...{ timers: 'D', machine: 'INVITE client', over: 'tcp', title: 'a failure ends it at once' },
    deeds: [[100, 486]],
    comes: '0 INVITE, 100 ACK, 100 486, 200 ended',
  },
  {
    ...{ timers: 'M', machine: 'INVITE client', over: 'udp', title: 'every 2xx within 32 s of the first is told' },
    deeds: [
      [100, 200],
      [600, 200],
      [32_000, 200],
      [32_200, 200],
    ],
    comes: '0 INVITE, 100 200, 600 200, 32000 200, 32100 ended',
  },
  {
    ...{
      timers: 'E, B',
      machine: 'INVITE client',
      over: 'udp',
      title: 'a CANCEL waits for the first word, and is given up',
    },
    deeds: [
      [100, 'cancel'],
      [600, 180],
    ],
    comes: [
      '0 INVITE, 500 INVITE, 600 CANCEL, 600 180, 1100 CANCEL, 2100 CANCEL, 4100 CANCEL, 8100 CANCEL, 12100 CANCEL, 16100 CANCEL',
      '20100 CANCEL, 24100 CANCEL, 28100 CANCEL, 32100 CANCEL, 32600 ended, 32600 timeout',
    ].join(', '),
  },
  {
    ...{ timers: 'E, F', machine: 'client', over: 'udp', title: 'a request nobody answers' },
    comes: [
      '0 OPTIONS, 500 OPTIONS, 1500 OPTIONS, 3500 OPTIONS, 7500 OPTIONS, 11500 OPTIONS, 15500 OPTIONS, 19500 OPTIONS',
      '23500 OPTIONS, 27500 OPTIONS, 31500 OPTIONS, 32000 ended, 32000 timeout',
    ].join(', '),
  },
  {
    ...{ timers: 'F', machine: 'client', over: 'tcp', title: 'a request nobody answers' },
    comes: '0 OPTIONS, 32000 ended, 32000 timeout',
  },
  {
    ...{
      timers: 'E',
      machine: 'client',
      over: 'udp',
      title: 'a request that is being worked on is repeated every 4 s',
    },
    deeds: [
      [600, 100],
      [9700, 200],
    ],
    comes: '0 OPTIONS, 500 OPTIONS, 600 100, 1500 OPTIONS, 5500 OPTIONS, 9500 OPTIONS, 9700 200, 14700 ended',
  },
  {
    ...{ timers: 'K', machine: 'client', over: 'udp', title: 'repeats of an answer are swallowed for 5 s' },
    deeds: [
      [100, 200],
      [600, 200],
    ],
    comes: '0 OPTIONS, 100 200, 5100 ended',
  },
  {
    ...{ timers: 'K', machine: 'client', over: 'tcp', title: 'an answer ends it at once' },
    deeds: [[100, 200]],
    comes: '0 OPTIONS, 100 200, 200 ended',
  },
  {
    ...{
      timers: '200 ms',
      machine: 'INVITE server',
      over: 'udp',
      title: 'Trying is said for a slow user, and again when asked',
    },
    deeds: [[500, 'again']],
    comes: '200 100, 500 100',
  },
  {
    ...{
      timers: 'G, H',
      machine: 'INVITE server',
      over: 'udp',
      title: 'a failure after ringing is repeated until its time is over',
    },
    deeds: [
      [100, 180],
      [200, 486],
    ],
    comes: [
      '100 180, 200 486, 700 486, 1700 486, 3700 486, 7700 486, 11700 486, 15700 486, 19700 486, 23700 486, 27700 486, 31700 486',
      '32200 ended, 32200 timeout',
    ].join(', '),
  },
  {
    ...{ timers: 'H', machine: 'INVITE server', over: 'tcp', title: 'a failure after ringing is said once' },
    deeds: [
      [100, 180],
      [200, 486],
    ],
    comes: '100 180, 200 486, 32200 ended, 32200 timeout',
  },
  {
    ...{
      timers: 'I',
      machine: 'INVITE server',
      over: 'udp',
      title: 'an ACK to a failure ends the repeats; 5 s it swallows more',
    },
    deeds: [
      [100, 180],
      [200, 486],
      [800, 'ack'],
    ],
    comes: '100 180, 200 486, 700 486, 800 ended for 5000',
  },
  {
    ...{ timers: 'I', machine: 'INVITE server', over: 'tcp', title: 'an ACK to a failure ends it at once' },
    deeds: [
      [100, 180],
      [200, 486],
      [800, 'ack'],
    ],
    comes: '100 180, 200 486, 800 ended',
  },
  {
    ...{ timers: 'G, L', machine: 'INVITE server', over: 'udp', title: 'a 200 is repeated until its time is over' },
    deeds: [[100, 200]],
    comes: [
      '100 200, 600 200, 1600 200, 3600 200, 7600 200, 11600 200, 15600 200, 19600 200, 23600 200, 27600 200, 31600 200',
      '32100 ended, 32100 timeout',
    ].join(', '),
  },
  {
    ...{ timers: 'L', machine: 'INVITE server', over: 'tcp', title: 'a 200 is said once, and again when asked' },
    deeds: [
      [100, 200],
      [1000, 'again'],
    ],
    comes: '100 200, 1000 200, 32100 ended, 32100 timeout',
  },
  {
    ...{
      timers: 'L',
      machine: 'INVITE server',
      over: 'udp',
      title: 'an ACK to a 200 is told once; 32 s it swallows more',
    },
    deeds: [
      [100, 200],
      [800, 'ack'],
    ],
    comes: '100 200, 600 200, 800 ack, 800 ended for 32000',
  },
  {
    ...{ timers: 'J', machine: 'server', over: 'udp', title: 'an answer is there for 32 s for whoever asks again' },
    deeds: [[100, 200]],
    comes: '100 200, 100 ended for 32000',
  },
  {
    ...{ timers: 'J', machine: 'server', over: 'tcp', title: 'an answer ends it at once' },
    deeds: [[100, 200]],
    comes: '100 200, 100 ended',
  },
  {
    ...{ timers: 'J', machine: 'server', over: 'udp', title: 'a request again before its answer gets none' },
    deeds: [
      [100, 'again'],
      [200, 100],
      [300, 'again'],
      [400, 200],
    ],
    comes: '200 100, 300 100, 400 200, 400 ended for 32000',
  },
];

const METHODS: Record<Machine, string> = {
  ...{ 'INVITE client': 'INVITE', 'INVITE server': 'INVITE', client: 'OPTIONS', server: 'OPTIONS' },
};

/** Runs one transaction on a clock of its own and writes down what happens. */
class Run {
  readonly #log: string[] = [];
  readonly #request: SipRequest;
  readonly #over: Transport;
  #now = 0;

  constructor(method: string, over: Transport) {
    this.#over = over;
    this.#request = newRequest(method, 'sip:b@127.0.0.1', {
      ...{ Via: 'SIP/2.0/UDP h;branch=z9hG4bK1', From: '<sip:a@b>;tag=1', To: '<sip:b@b>', 'Call-ID': 'c' },
      CSeq: `1 ${method}`,
    });
  }

  get #wire(): Wire {
    const send = (message: Buffer): void => this.#note(/^(?:SIP\/2\.0 )?(\w+)/.exec(message.toString())?.[1] ?? '');
    return { timers: defaultTimers, send, probe: () => undefined };
  }

  #note(what: string): void {
    this.#log.push(`${this.#now} ${what}`);
  }

  get #source(): Source {
    return { transport: this.#over, address: 'h', port: 5060, localAddress: 'l', localPort: 5061, size: 1 };
  }

  client(machine: Machine): (what: Deed[1]) => void {
    const hop: Hop = { transport: this.#over, host: '127.0.0.1', port: 5060 };
    const Kind = machine === 'INVITE client' ? InviteClientTransaction : NonInviteClientTransaction;
    const transaction = new Kind(this.#request, 'z9hG4bK1', hop, this.#wire);
    transaction.on('response', ({ status }) => this.#note(String(status)));
    transaction.on('timeout', () => this.#note('timeout'));
    transaction.on('ended', () => this.#note('ended'));
    transaction.start();
    return what => {
      if (what === 'cancel') transaction.cancel();
      else
        transaction.receive(
          responseTo(this.#request, Number(what), undefined, { To: '<sip:b@b>;tag=2' }),
          this.#source,
        );
    };
  }

  server(machine: Machine): (what: Deed[1]) => void {
    const Kind = machine === 'INVITE server' ? InviteServerTransaction : NonInviteServerTransaction;
    const transaction = new Kind(this.#request, this.#source, this.#wire);
    transaction.on('timeout', () => this.#note('timeout'));
    transaction.on('ack', () => this.#note('ack'));
    transaction.on('ended', remains => this.#note(remains ? `ended for ${remains.ms}` : 'ended'));
    transaction.start();
    return what => {
      if (what === 'again') transaction.retransmitted();
      else if (what !== 'ack') transaction.respond(responseTo(this.#request, Number(what)));
      else if (transaction instanceof InviteServerTransaction) transaction.acknowledged(this.#request, this.#source);
    };
  }

  /** Lets the time pass, a tenth of a second at a time. */
  async pass(deeds: Deed[], act: (what: Deed[1]) => void): Promise<string> {
    for (; this.#now <= FOREVER_MS; this.#now += STEP_MS) {
      for (const [at, what] of deeds) if (at === this.#now) act(what);
      await Promise.resolve(); // a transaction says that it is over once its user has gone on
      this.#now += STEP_MS;
      mock.timers.tick(STEP_MS);
      await Promise.resolve();
      this.#now -= STEP_MS;
    }
    return this.#log.join(', ');
  }
}

/** Of which all times are multiples. A timer of nothing rings a step later. */
const STEP_MS = 100;

describe('sip timers, on a clock of their own (RFC 3261 table 4, RFC 6026)', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  for (const { timers, title, machine, over, deeds = [], comes } of ROWS)
    it(`${timers}, ${machine} over ${over}: ${title}`, async () => {
      const run = new Run(METHODS[machine], over);
      const act = machine.endsWith('client') ? run.client(machine) : run.server(machine);
      assert.equal(await run.pass(deeds, act), comes);
    });
});
