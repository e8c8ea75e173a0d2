import { strict as assert } from 'node:assert';
import { pino } from 'pino';
import type { ConferenceType } from '#contract/conference';
import { newId } from '#contract/ids';
import { MediaServers } from '../../../../media-app/media/servers.ts';
import { SipServers } from '../../../../media-app/sip/servers.ts';
import { Confbridge } from '../../../../media-app/conference/confbridge.ts';

/** What happens to the bridge: calls of other nodes, which need no media here, come and go; no_auto_leave is set or not. */
type Doing = ['comes' | 'leaves', who: string] | ['keep open' | 'let go'];

interface Row {
  type: ConferenceType;
  rule: string;
  doings: Doing[];
  /** Who is put out, and whether the bridge is over. */
  putOut: string[];
  closed: boolean;
  /** Who found company as it came in. */
  company: string[];
}

/** voice-and-flows 12, the rules of leaving and waiting; what is heard meanwhile is in test/calls/conference. */
const ROWS: Row[] = [
  {
    type: 'connect',
    rule: 'the first member is alone',
    doings: [['comes', 'ann']],
    putOut: [],
    closed: false,
    company: [],
  },
  {
    type: 'connect',
    rule: 'a second one joins and finds company: nobody is put out',
    doings: [
      ['comes', 'ann'],
      ['comes', 'bob'],
    ],
    putOut: [],
    closed: false,
    company: ['bob'],
  },
  {
    type: 'connect',
    rule: 'a leave leaves exactly one member: the bridge terminates, ejecting it',
    doings: [
      ['comes', 'ann'],
      ['comes', 'bob'],
      ['leaves', 'ann'],
    ],
    putOut: ['bob'],
    closed: true,
    company: ['bob'],
  },
  {
    type: 'connect',
    rule: 'a leave leaves two: they talk on',
    doings: [
      ['comes', 'ann'],
      ['comes', 'bob'],
      ['comes', 'eve'],
      ['leaves', 'bob'],
    ],
    putOut: [],
    closed: false,
    company: ['bob', 'eve'],
  },
  {
    type: 'connect',
    rule: 'no_auto_leave: the one that is left stays',
    doings: [['comes', 'ann'], ['comes', 'bob'], ['keep open'], ['leaves', 'ann']],
    putOut: [],
    closed: false,
    company: ['bob'],
  },
  {
    type: 'connect',
    rule: 'no_auto_leave is removed while one is left alone: it is ejected then',
    doings: [['comes', 'ann'], ['comes', 'bob'], ['keep open'], ['leaves', 'ann'], ['let go']],
    putOut: ['bob'],
    closed: true,
    company: ['bob'],
  },
  {
    type: 'connect',
    rule: 'no_auto_leave is removed when a new party is in: the two talk on',
    doings: [['comes', 'ann'], ['comes', 'bob'], ['keep open'], ['leaves', 'ann'], ['comes', 'eve'], ['let go']],
    putOut: [],
    closed: false,
    company: ['bob', 'eve'],
  },
  {
    type: 'conference',
    rule: 'never terminates by itself: one is left',
    doings: [
      ['comes', 'ann'],
      ['comes', 'bob'],
      ['leaves', 'ann'],
    ],
    putOut: [],
    closed: false,
    company: ['bob'],
  },
  {
    type: 'conference',
    rule: 'never terminates by itself: nobody is left',
    doings: [
      ['comes', 'ann'],
      ['leaves', 'ann'],
    ],
    putOut: [],
    closed: false,
    company: [],
  },
];

describe('the internal audio mixer, row for row (voice-and-flows 12)', () => {
  const log = pino({ level: 'silent' });
  const media = new MediaServers([], '127.0.0.1', new SipServers([], log), log);

  for (const { type, rule, doings, ...expected } of ROWS)
    it(`${type}: ${rule}`, () => {
      const bridge = new Confbridge({ id: newId(), type, server: { name: '' }, media, mayEnter: () => false });
      const seen = { putOut: [] as string[], closed: false, company: [] as string[] };
      bridge.on('closed', () => (seen.closed = true));
      for (const [what, who = ''] of doings) {
        if (what === 'comes') bridge.expect(who, '', () => seen.putOut.push(who));
        if (what === 'comes' && bridge.lodge(who)) seen.company.push(who);
        if (what === 'leaves') bridge.forget(who);
        if (what === 'keep open' || what === 'let go') bridge.keepOpen(what === 'keep open');
      }
      assert.deepEqual(seen, expected);
    });
});
