/** What the server that is asked for the way of a request may order (drachtio's `{"action": …, "data": {…}}`). */
export type Instruction =
  | { action: 'reject'; status: number; reason: string | undefined }
  | { action: 'redirect'; contacts: string[] }
  /** Fields as an application sends them behind `proxy|<transaction>|`. */
  | { action: 'proxy'; fields: string[] }
  | { action: 'route'; uri: string }
  | { action: 'route'; tag: string };

const MOST_CONTACTS = 10;

/** Reads the answer; undefined when it is no order. */
export function readInstruction(body: string): Instruction | undefined {
  const answer = objectOf(parsed(body));
  const data = objectOf(answer?.['data']);
  const read = typeof answer?.['action'] === 'string' ? READERS[answer['action']] : undefined;
  return data && read?.(data);
}

const READERS: Record<string, (data: Record<string, unknown>) => Instruction | undefined> = {
  reject: ({ status, reason }) =>
    Number.isInteger(status) && Number(status) >= 300 && Number(status) < 700
      ? { action: 'reject', status: Number(status), reason: typeof reason === 'string' ? reason : undefined }
      : undefined,
  redirect: ({ contact }) => {
    const contacts = textsOf(contact);
    return contacts.length > 0 ? { action: 'redirect', contacts: contacts.slice(0, MOST_CONTACTS) } : undefined;
  },
  proxy: data => ({ action: 'proxy', fields: proxyFields(data) }),
  route: ({ uri, tag }) => {
    if (typeof uri === 'string') return { action: 'route', uri };
    return typeof tag === 'string' ? { action: 'route', tag } : undefined;
  },
};

function proxyFields(data: Record<string, unknown>): string[] {
  const { recordRoute, followRedirects = true, simultaneous, destination } = data;
  const { provisionalTimeout = '5s', finalTimeout = '60s' } = data;
  return [
    recordRoute === true ? 'remainInDialog' : '',
    '',
    followRedirects === true ? 'followRedirects' : '',
    simultaneous === true ? 'simultaneous' : 'serial',
    String(provisionalTimeout),
    String(finalTimeout),
    ...textsOf(destination),
  ];
}

const textsOf = (given: unknown): string[] =>
  (Array.isArray(given) ? (given as unknown[]) : [given]).filter(one => typeof one === 'string');

const objectOf = (given: unknown): Record<string, unknown> | undefined =>
  typeof given === 'object' && given !== null ? (given as Record<string, unknown>) : undefined;

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined; // said by the answer that follows
  }
}
