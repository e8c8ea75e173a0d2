import { parseUri } from '../../sip/uri.ts';

/** What the application asked for: `proxy|<transaction>|remainInDialog|fullResponse|followRedirects|…`. */
export interface ProxyPlan {
  /** Put ourselves into the route of the dialog (Record-Route). */
  recordRoute: boolean;
  /** Report every final response, not only that it is over. */
  fullResponse: boolean;
  /** Try the Contacts of a 3xx instead of handing it on (RFC 3261 16.5). */
  followRedirects: boolean;
  /** Ring all targets at once, not one after the other. */
  simultaneous: boolean;
  /** No provisional response by then: on to the next target; undefined for no such haste. */
  provisionalMs: number | undefined;
  /** No final response by then: on to the next target. */
  finalMs: number | undefined;
  targets: string[];
}

const MOST_TARGETS = 10;
const LONGEST_MS = 24 * 3600 * 1000;

/** `2s`, `1500ms` or nothing. */
function duration(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,8})(ms|s)$/.exec(text.trim()) ?? [];
  return digits === undefined ? undefined : Math.min(Number(digits) * (unit === 's' ? 1000 : 1), LONGEST_MS);
}

/** Reads the fields behind the transaction id; a string says what is wrong with them. */
export function planOf(fields: string[]): ProxyPlan | string {
  const [remain = '', full = '', follow = '', how = '', provisional = '', final = '', ...targets] = fields;
  const strange = targets.find(one => parseUri(one) === undefined || parseUri(one)?.scheme === 'tel');
  if (strange !== undefined || targets.length === 0) return `error proxying request to ${strange ?? 'nowhere'}`;
  if (targets.length > MOST_TARGETS) return `error proxying request to more than ${MOST_TARGETS} destinations`;
  return {
    ...{ recordRoute: remain !== '', fullResponse: full !== '', followRedirects: follow !== '' },
    ...{
      simultaneous: how === 'simultaneous',
      provisionalMs: duration(provisional),
      finalMs: duration(final),
      targets,
    },
  };
}
