import { strict as assert } from 'node:assert';
import { PlatformError, type Reason } from '#contract/errors';
import { asPlatformError, envelope } from '../../../control-api/http/errors.ts';

const failed = (facts: Record<string, unknown>, message = 'what the server said'): Error =>
  Object.assign(new Error(message), facts);

/** accounts-and-plumbing 2.2, row by row. */
const ROWS: [what: string, error: unknown, reason: Reason, httpStatus: number][] = [
  ['a typed error passes', new PlatformError('FLOW_NOT_FOUND', 'Flow not found.'), 'FLOW_NOT_FOUND', 404],
  [
    'a body that Express takes for too large',
    failed({ status: 413, type: 'entity.too.large' }),
    'INVALID_ARGUMENT',
    400,
  ],
  ['a request that Express takes for malformed', failed({ status: 400 }), 'INVALID_ARGUMENT', 400],
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', '57P01', '57P02', '57P03', '53300'].map(
    (code): [string, unknown, Reason, number] => [
      `a store that is away (${code})`,
      failed({ code }),
      'SERVICE_UNAVAILABLE',
      503,
    ],
  ),
  ['no connection to be had', failed({ name: 'KnexTimeoutError' }), 'SERVICE_UNAVAILABLE', 503],
  ['a connection that broke', failed({}, 'Connection terminated unexpectedly'), 'SERVICE_UNAVAILABLE', 503],
  ['an answer that did not come in time', new PlatformError('REQUEST_TIMEOUT', 'Too late.'), 'REQUEST_TIMEOUT', 503],
  ['a request given up', new PlatformError('REQUEST_CANCELED', 'Gone.'), 'REQUEST_CANCELED', 503],
  ['everything else', failed({ code: '42P01' }), 'INTERNAL', 500],
  ['a failure of Express itself', failed({ status: 500 }), 'INTERNAL', 500],
  ['what is no error at all', 'a word', 'INTERNAL', 500],
  ['nothing', undefined, 'INTERNAL', 500],
];

describe('how a failure becomes an envelope (2.2)', () => {
  for (const [what, error, reason, httpStatus] of ROWS)
    it(`${what}: ${httpStatus} ${reason}`, () => {
      const seen = asPlatformError(error);
      assert.deepEqual([seen.reason, seen.httpStatus], [reason, httpStatus]);
      const { error: shown } = envelope(seen, 'req_1');
      assert.deepEqual([shown.reason, shown.request_id, 'details' in shown], [reason, 'req_1', false]);
      if (!(error instanceof PlatformError)) assert.doesNotMatch(shown.message, /what the server said/);
    });

  it('details are shown where there are some', () => {
    const error = new PlatformError('ACCOUNT_EXPIRED', 'x', [{ recovery_endpoint: 'y' }]);
    assert.deepEqual(envelope(error, 'r').error.details, [{ recovery_endpoint: 'y' }]);
  });
});
