import type { Channel } from './channel.ts';
import type { ExecutionLevel } from './executions.ts';

/** What one run of an application gets. */
export interface ApplicationContext {
  channel: Channel;
  level: ExecutionLevel;
  /** The argument text, as the client wrote it. */
  data: string;
}

/** One dialplan application. `run` gives the Application-Response, at once when it is done at once; an error becomes an error response. */
export interface Application {
  name: string;
  run(context: ApplicationContext): string | Promise<string>;
}

/** The Application-Response of everything that has no own. */
export const none = '_none_';

/** Makes an application of a function that is done when it returns. */
export function immediate(name: string, run: (context: ApplicationContext) => void): Application {
  return {
    name,
    run: context => {
      run(context);
      return none;
    },
  };
}

/** Splits an argument text at spaces; single quotes keep a word with spaces together. */
export function splitArguments(text: string): string[] {
  const words = text.match(/'(?:\\'|[^'])*'|\S+/g) ?? [];
  return words.map(word =>
    word.length > 1 && word.startsWith("'") && word.endsWith("'") ? word.slice(1, -1).replaceAll("\\'", "'") : word,
  );
}
