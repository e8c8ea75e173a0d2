import type { Error as Envelope } from './types.ts';

type Failure = Envelope['error'];

/** Answers that a later try may better. */
const LATER = [429, 503];

/** A refusal of the API: `reason` is what programs branch on, `message` is for people. */
export class TrunklineError extends Error {
  /** HTTP status. */
  readonly status: number;
  /** Empty where the API answers with a status alone (`/auth`). */
  readonly reason: Failure['reason'] | '';
  readonly request_id: string;
  readonly details: Record<string, unknown>[];
  readonly #retryAfter: string | null;

  constructor(response: Response, failure: Partial<Failure>) {
    super(failure.message ?? `The API answered ${response.status}.`);
    this.name = 'TrunklineError';
    this.status = response.status;
    this.reason = failure.reason ?? '';
    this.request_id = failure.request_id ?? response.headers.get('x-request-id') ?? '';
    this.details = failure.details ?? [];
    this.#retryAfter = response.headers.get('retry-after');
  }

  /** Reads an answer of 4xx or 5xx; a body that is no envelope (a proxy's page) leaves the status alone. */
  static async of(response: Response): Promise<TrunklineError> {
    const text = await response.text();
    return new TrunklineError(response, failureIn(text));
  }

  /** How long to wait before asking again, in milliseconds: as Retry-After says, `otherwise` without; infinite for never. */
  retryAfterMs(otherwise: number): number {
    if (!LATER.includes(this.status)) return Infinity;
    // A ceiling of the account (RESOURCE_LIMIT_EXCEEDED) does not rise by waiting.
    if (this.status === 429 && this.reason === 'RESOURCE_LIMIT_EXCEEDED') return Infinity;
    const seconds = Number(this.#retryAfter ?? NaN);
    return seconds >= 0 ? seconds * 1000 : otherwise;
  }
}

const failureIn = (text: string): Partial<Failure> => {
  try {
    return (JSON.parse(text) as Partial<Envelope> | null)?.error ?? {};
  } catch {
    return {}; // no JSON: the status says it all
  }
};
