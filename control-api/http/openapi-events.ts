type Json = Record<string, unknown>;

const TEXT = { type: 'string' };

/** What a client says on the WebSocket (accounts-and-plumbing 26.2). */
const CLIENT_MESSAGE = {
  type: 'object',
  properties: {
    type: { type: 'string', enum: ['subscribe', 'unsubscribe'] },
    topics: { type: 'array', items: TEXT },
    after_sequence: {
      type: 'integer',
      minimum: 0,
      description: 'The sequence of the last event seen: what came after it is delivered first, without gap or copy.',
    },
  },
  required: ['type', 'topics'],
  example: {
    type: 'subscribe',
    topics: ['customer_id:5f0c7f52-3b0e-4c53-9f6c-2d5f6a8e1b10:call:*'],
    after_sequence: 41,
  },
};

const SERVER_MESSAGE = { $ref: '#/components/schemas/EventMessage' };

/** The WebSocket of events, which OpenAPI has no words for; served by events/websocket.ts. */
export const websocketOf = (versionPrefix: string): Json => ({
  path: `${versionPrefix}/ws`,
  agent_path: `${versionPrefix}/service_agents/ws`,
  description: `Events as they happen, as JSON text. Connect with \`token\` or \`accesskey\` in the query, and send a message
of type subscribe. \`agent_path\` takes the tokens of agents who logged in only, delegate tokens are refused at both.`,
  credentials: ['token', 'accesskey'],
  topics: {
    'customer_id:{customer_id}': 'every event of the account; admins, managers, accesskeys',
    'customer_id:{customer_id}:{resource}': 'every event of a type of resource; the same',
    'customer_id:{customer_id}:{resource}:{resource_id}':
      'the events of one resource, or of all of its type with * as the last part; the same, and a direct token for its own',
    'agent_id:{agent_id}': 'events of what an agent owns, narrowed by resource and id in the same way; that agent',
  },
  client_message: CLIENT_MESSAGE,
  server_message: SERVER_MESSAGE,
  close_codes: {
    1001: 'the server stops; connect again',
    1008: 'a topic is invalid or not permitted, there are more than 1000, or the credential ended',
    1011: 'the event log cannot be read; connect again and resume',
  },
});

const header = (description: string): Json => ({ in: 'header', required: false, schema: TEXT, description });

/** What the webhook of an account receives (accounts-and-plumbing 27). */
export const WEBHOOKS: Json = {
  event: {
    post: {
      operationId: 'receive_event',
      summary: 'An event of the account, sent to its webhook_uri by its webhook_method',
      description: `Answer 200 within 5 seconds. A failure (5xx, no answer, no connection) is tried again, ever later, for three
days; any other answer is final. The events of one resource come in order, and the same event always under the same id.`,
      tags: ['Webhook'],
      security: [],
      parameters: [
        {
          name: 'X-Webhook-Signature',
          ...header(
            '`sha256=` and the HMAC-SHA256 of the raw body in hex, keyed with the webhook_secret of the customer.',
          ),
        },
        { name: 'X-Request-Id', ...header('Of the request that caused the event, when one did.') },
      ],
      requestBody: { required: true, content: { 'application/json': { schema: SERVER_MESSAGE } } },
      responses: { 200: { description: 'Taken.' } },
    },
  },
};
