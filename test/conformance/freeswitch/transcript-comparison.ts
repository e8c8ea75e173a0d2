import type { Replay } from './transcript-replay.ts';
import type { Said } from './transcript-message.ts';

/** Where the engine says something else than the server that was recorded, on purpose, or where a recording cannot say it. */
export interface Difference {
  /** Recordings that it is seen in. */
  in: RegExp;
  /** Messages that were recorded and are not sent; as `connection line {headers}`. */
  lacks?: RegExp;
  /** Messages that are sent and were not recorded. */
  adds?: RegExp;
  /** Headers with another value: `line`, `header`. */
  differs?: [line: RegExp, header: RegExp];
  /** It hangs on the moment: it may be seen or not. */
  sometimes?: true;
  why: string;
}

/** Headers whose values hang on how long the recorder waited: a number is to be there, whichever. */
const measured =
  /^(variable_(playback|record)_(ms|seconds|samples|last_offset_pos|file_size)|milliseconds|samples|seconds|Milliseconds-Elapsed|DTMF-Duration|Samples-Out|Current-Energy)$/;

const isAnswer = ({ line }: Said): boolean => /^(reply|response) to|^channel data/.test(line);
const streamOf = (one: Said): string => `${one.connection}, ${isAnswer(one) ? 'answers' : 'events'}`;
const shown = (one: Said): string => `${one.connection} ${one.line} ${JSON.stringify(one.headers)}`;

/** What one recording and one server agree on, apart from known differences; remembers which of those were met. */
export class Comparison {
  readonly #known: Difference[];
  readonly met = new Set<Difference>();

  constructor(recording: string, differences: Difference[]) {
    this.#known = differences.filter(one => one.in.test(recording));
  }

  /** Whether a recorded message is to be sent. */
  isWanted(recorded: Said): boolean {
    return !this.#covers('lacks', recorded);
  }

  /** Whether a message that was sent is one to compare. */
  isExpected(said: Said): boolean {
    return !this.#covers('adds', said);
  }

  #covers(kind: 'lacks' | 'adds', one: Said): boolean {
    const difference = this.#known.find(known => known[kind]?.test(shown(one)));
    if (difference) this.met.add(difference);
    return difference !== undefined;
  }

  /** A line for everything that differs: connections are compared apart, their answers and their events apart. */
  differences(recorded: Said[], replay: Replay): string[] {
    const wanted = recorded.filter(one => this.isWanted(one));
    const said = replay.said.filter(one => this.isExpected(one));
    const streams = new Set([...wanted, ...said].map(streamOf));
    return [...streams].flatMap(stream =>
      this.#inStream(
        stream,
        wanted.filter(one => streamOf(one) === stream),
        said.filter(one => streamOf(one) === stream),
        replay,
      ),
    );
  }

  #inStream(stream: string, wanted: Said[], said: Said[], replay: Replay): string[] {
    for (const [at, one] of wanted.entries()) {
      const other = said[at];
      const context = `${stream}: message ${at + 1} after ${wanted[at - 1]?.line ?? 'nothing'}`;
      if (other === undefined) return [`${context} was to be ${one.line}, and is missing`];
      if (other.line !== one.line) return [`${context} was to be ${one.line}, and is ${shown(other).slice(0, 300)}`];
    }
    const more = said[wanted.length];
    if (more) return [`${stream}: after the last message came ${shown(more).slice(0, 300)}`];
    return wanted.flatMap((one, at) => this.#headersOf(stream, one, said[at] as Said, replay));
  }

  #headersOf(stream: string, wanted: Said, said: Said, replay: Replay): string[] {
    return Object.entries(wanted.headers).flatMap(([name, value]) => {
      const recorded = replay.translate(value, name);
      const here = said.headers[name];
      if (here === recorded || (measured.test(name) && /^\d+$/.test(here ?? ''))) return [];
      const known = this.#known.find(({ differs }) => differs?.[0].test(shown(wanted)) && differs[1].test(name));
      if (known) this.met.add(known);
      return known
        ? []
        : [`${stream}: ${name} of ${wanted.line} was to be ${recorded.slice(0, 300)}, and is ${here?.slice(0, 300)}`];
    });
  }
}
