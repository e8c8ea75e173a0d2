import type { Permission } from './permit.ts';
import type { Route } from './route.ts';

const WHO: Record<Permission, string> = {
  public: 'Needs no credentials.',
  any: 'Needs credentials; which ones are good is said by the answer.',
  login: 'For every agent who logged in, with its token; accesskeys and delegate tokens are refused.',
  agent: 'For everybody of the account: agents of any permission, accesskeys and delegate tokens.',
  own: 'For admins and managers, accesskeys and delegate tokens, and for an agent on its own id.',
  manager: 'For admins and managers, accesskeys and delegate tokens.',
  admin: 'For admins, accesskeys and delegate tokens.',
  super: 'For super admins of the project.',
};

/** What a client has to know of an operation beyond its summary and schemas, from the record that serves it. */
export const wordsOf = ({ permission, surface, method, params, query, quiet, form, upload }: Route): string =>
  [
    WHO[permission],
    ...(surface === 'versioned' && params && permission !== 'super'
      ? ['What belongs to another account is not found.']
      : []),
    ...(query && 'page_token' in query.shape
      ? ['Newest first. Give `next_page_token` as `page_token` for the next page; it is empty on the last one.']
      : []),
    ...(surface === 'versioned' && method === 'post' ? ['Safe to repeat with an `Idempotency-Key`.'] : []),
    ...(surface === 'auth' && !quiet ? ['A refusal by the operation itself has a status and no body.'] : []),
    ...(quiet ? ['The answer is the same whatever was done, so that nobody learns which addresses exist.'] : []),
    ...(form ? ['It takes plain HTML forms too, and answers them with a page.'] : []),
    ...(upload ? ['The file comes as multipart/form-data.'] : []),
  ].join(' ');

/** How to use the API, shown above its operations. CommonMark. */
export const GUIDE = `A programmable phone platform: calls, flows, extensions and numbers.

**Credentials.** A token from \`POST /auth/login\` (\`Authorization: Bearer\`, cookie or query parameter \`token\`), or an accesskey in
the query parameter \`accesskey\`.

**Failures.** Every 4xx and 5xx below /v1.0 is \`{"error": {status, reason, message, request_id, details}}\`. Branch on \`reason\`. The
\`request_id\` is also in the header \`X-Request-Id\`, in our log, and in the events that the request caused. 429 says in \`Retry-After\`
when to ask again. A frozen, expired or deleted account is refused with 403 and, in \`details\`, the way back.

**Lists** are newest first, 100 rows at most; give \`next_page_token\` as \`page_token\`.

**Idempotency-Key** on a POST makes it safe to repeat for a day.

**Events** come over the WebSocket \`/v1.0/ws?token=…\` after \`{"type": "subscribe", "topics": ["customer_id:{customer_id}:call:*"]}\`; topics
have two, three or four parts, and \`after_sequence\` resumes behind the last event seen (\`x-websocket\` in this document says all of
it). They are also sent to the \`webhook_uri\` of the customer, signed (see Webhooks).`;
