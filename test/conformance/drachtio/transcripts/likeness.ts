import { COMPACT_NAMES } from '../../../../scripts/phone/sip-message.ts';

/**
 * Whether two messages are one but for what every run makes anew: ids, tags, branches, Call-IDs and sequence numbers of the server,
 * times and sizes. What stands for what is learnt from the first message in which it appears and holds from then on, both
 * ways: texts to be played are rewritten with it.
 */
export class Likeness {
  #actual = new Map<string, string>();
  #recorded = new Map<string, string>();
  /** What was played so far, in which nothing is new. */
  #played = '';
  /** How far the server's numbers in a call are from the recorded ones. */
  #shift = new Map<string, number>();
  readonly #ignored: Set<string>;

  /** `ignored`: names of headers, in lower case, that are not compared. */
  constructor(ignored: string[] = []) {
    this.#ignored = new Set(ignored);
  }

  /** A recorded text with what this run has in its place. */
  play(text: string, shifts: boolean): string {
    this.#played += text;
    let now = text;
    for (const [recorded, actual] of this.#actual) now = now.replaceAll(recorded, actual);
    if (!shifts) return now;
    const shift = this.#shift.get(callOf(now)) ?? 0;
    return now.replace(
      /^(CSeq: *|RAck: *\d+ +)(\d+)/im,
      (_all, before: string, n: string) => before + (Number(n) + shift),
    );
  }

  /** The first difference, or nothing. The fields before the SIP text are those of an admin frame. */
  differs(recorded: string, actual: string, shifts: boolean): string {
    const [expected, found] = [dissect(recorded), dissect(actual)];
    const learnt = [[...this.#actual], [...this.#recorded], [...this.#shift]] as const;
    const difference = this.#fields(expected.meta, found.meta) || this.#message(expected, found, shifts);
    if (difference !== '') [this.#actual, this.#recorded] = [new Map(learnt[0]), new Map(learnt[1])];
    if (difference !== '') this.#shift = new Map(learnt[2]);
    return difference;
  }

  #fields(expected: string, found: string): string {
    const [fields, others] = [expected.split('|').map(orderless), found.split('|').map(orderless)];
    if (fields.length !== others.length) return `${found} in place of ${expected}`;
    const odd = fields.findIndex(
      (field, at) => !isMasked(fields, at) && !this.#same(field, others[at] ?? '', MADE.test(field)),
    );
    return odd < 0 ? '' : `field ${odd} of ${found} in place of ${expected}`;
  }

  #message(expected: Dissected, found: Dissected, shifts: boolean): string {
    if (!this.#same(expected.start, found.start)) return `${found.start} in place of ${expected.start}`;
    this.#learnShift(expected, found, shifts);
    for (const [name, values] of expected.headers) {
      if (this.#ignored.has(name) || (name === 'to' && isToCancel(expected))) continue;
      const others = found.headers.get(name);
      if (!others) return `no ${name}: ${values.join()} in ${found.start}`;
      if (others.length !== values.length) return `${name} ${others.length} times in ${found.start}`;
      const odd = values.findIndex((value, at) => !this.#sameHeader(name, value, others[at] ?? ''));
      if (odd >= 0) return `${name}: ${others[odd]} in place of ${values[odd]} in ${found.start}`;
    }
    for (const [name, values] of found.headers)
      if (!expected.headers.has(name) && !this.#ignored.has(name))
        return `${name}: ${values.join()} in ${found.start} was not there`;
    return expected.body === found.body ? '' : `body ${found.body} in place of ${expected.body}`;
  }

  #learnShift(expected: Dissected, found: Dissected, shifts: boolean): void {
    const call = found.headers.get('call-id')?.[0] ?? '';
    const [then, now] = [expected, found].map(one => parseInt(one.headers.get('cseq')?.[0] ?? '0'));
    if (shifts && !this.#shift.has(call)) this.#shift.set(call, (now ?? 0) - (then ?? 0));
    expected.shift = shifts ? (this.#shift.get(call) ?? 0) : 0;
    if (expected.shift === 0) return;
    expected.headers.set(
      'cseq',
      (expected.headers.get('cseq') ?? []).map(one => one.replace(/^\d+/, n => String(Number(n) + expected.shift))),
    );
  }

  #sameHeader(name: string, value: string, other: string): boolean {
    if (name === 'via') return this.#same(sorted(value), sorted(other), true);
    return this.#same(value, other, MAKES.has(name));
  }

  /** Word by word. A word that was never played may stand for another, if it is of a kind that runs make. */
  #same(expected: string, found: string, makes = false): boolean {
    const [words, others] = [expected, found].map(one => one.split(WORD).filter(word => word !== '')) as [
      string[],
      string[],
    ];
    return words.length === others.length && words.every((word, at) => this.#sameWord(word, others[at] ?? '', makes));
  }

  #sameWord(word: string, other: string, makes: boolean): boolean {
    const known = this.#actual.get(word);
    if (known !== undefined) return known === other;
    if (word === other) return true;
    if (!makes || word.length < 5 || this.#played.includes(word) || this.#recorded.has(other)) return false;
    this.#actual.set(word, other);
    this.#recorded.set(other, word);
    return true;
  }
}

/** Whose tag is that of the INVITE's answers (RFC 3261 9.2); drachtio-server makes one of its own. */
const isToCancel = ({ start, headers }: Dissected): boolean =>
  start.startsWith('SIP/2.0 ') && (headers.get('cseq')?.[0] ?? '').endsWith('CANCEL');

interface Dissected {
  meta: string;
  start: string;
  headers: Map<string, string[]>;
  body: string;
  shift: number;
}

/** Between words of a header value. */
const WORD = /[\s;,<>"=:|/]+/;
/** A message id, a transaction's or a dialog's. */
const MADE = /^[0-9a-f-]{36}$|;from-tag=/;
const TIME_OR_VERSION = /^(\d\d:\d\d:\d\d\.\d{6}|v\d+\.\d+\.\d+\S*)$/;
/** Headers in which the server puts values of its own. */
const MAKES = new Set(['from', 'to', 'call-id', 'rseq', 'rack', 'replaces']);

/** Message ids, sizes, times and the version; a transport that drachtio-server does not tell. */
function isMasked(fields: string[], at: number): boolean {
  const after = fields[1] === 'sip' ? at : at - 2;
  const field = fields[at] ?? '';
  return at === 0 || after === 3 || (after === 4 && field === '') || TIME_OR_VERSION.test(field);
}

/** Addresses that are listened on, in any order. */
const orderless = (field: string): string => (/^(udp|tcp)\//.test(field) ? field.split(',').sort().join() : field);

const sorted = (via: string): string => {
  const [first, ...rest] = via.split(';');
  return [first, ...rest.sort()].join(';');
};

const callOf = (text: string): string => /^Call-ID: *(.*)$/im.exec(text)?.[1]?.trim() ?? '';

function dissect(text: string): Dissected {
  const sip = /^[A-Z]+ \S+ SIP\/2\.0\r$|^SIP\/2\.0 /m.exec(text);
  const meta = text.slice(0, sip ? sip.index : undefined).trim();
  const [head = '', ...bodies] = (sip ? text.slice(sip.index) : '').split('\r\n\r\n');
  const [start = '', ...lines] = head.replace(/\r\n[ \t]+/g, ' ').split('\r\n');
  const headers = new Map<string, string[]>();
  for (const line of lines.filter(one => one !== '')) {
    const [, given = '', value = ''] = /^([^:]*?) *: *(.*?) *$/.exec(line) ?? [];
    const name = COMPACT_NAMES[given.toLowerCase()] ?? given.toLowerCase();
    headers.set(name, [...(headers.get(name) ?? []), value]);
  }
  return { meta, start, headers, body: bodies.join('\r\n\r\n').replace(/(\r\n)+$/, ''), shift: 0 };
}
