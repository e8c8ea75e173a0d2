/**
 * Every Redis key and queue name, in one place. Keys of one installation share the prefix `tl:`; live records carry
 * `{id}` so that one record's keys hash to one slot.
 */

/** Kinds of live records that media-app owns and the projector copies to Postgres. */
export const LIVE_KINDS = [
  'call',
  'groupcall',
  'activeflow',
  'conference',
  'conferencecall',
  'recording',
  'transfer',
] as const;
export type LiveKind = (typeof LIVE_KINDS)[number];

export const keys = {
  /** String, JSON of a `LiveRecord`: the live state of a call, groupcall, activeflow or recording. */
  live: (kind: LiveKind, id: string) => `tl:${kind}:${id}`,
  /** String with expiry: when a client deleted the record, for readers that find it in Redis still. */
  deleted: (kind: LiveKind, id: string) => `tl:deleted:${kind}:${id}`,
  /** Stream of `LiveEntry` (every committed change) and `CallTrace`, read by the projector. */
  stream: 'tl:events',
  /** String with a lease (PX): JSON of a `NodeReport`; present while the media-app lives. */
  node: (nodeId: string) => `tl:node:${nodeId}`,
  /** Set of node ids that ever took a lease and were not yet buried. */
  nodes: 'tl:nodes',
  /** Set of `<kind>:<id>`: the live records a node owns. */
  owned: (nodeId: string) => `tl:node:${nodeId}:owned`,
  /** Pub/sub channel on which a media-app hears the other ones (media-app/neighbours.ts). */
  neighbour: (nodeId: string) => `tl:neighbour:${nodeId}`,
  /** Pub/sub channel on which a control-api hears the answers to its commands. */
  replies: (apiId: string) => `tl:replies:${apiId}`,
  /** String with expiry: an id while a `once` command is obeyed, then its `CommandReply` as JSON. */
  obeyed: (commandId: string) => `tl:obeyed:${commandId}`,
  /** Hash, binding → JSON of a `Contact`: where an extension is registered now; who reads minds `expires_at`. */
  contacts: (extensionId: string) => `tl:contacts:${extensionId}`,
  /** Sorted set, `<extension id> <binding>` by when it expires in milliseconds since the epoch. */
  contactEnds: 'tl:contact-ends',
  /** Sorted set, `<extension id> <binding>` by when it is asked next whether it is there: those of a SIP server. */
  contactChecks: (sipServer: string) => `tl:contact-checks:${sipServer}`,
  /** Set of the SIP servers that phones registered through. */
  contactServers: 'tl:contact-servers',
  /** Hash, extension id → when a phone of it was heard of last, in milliseconds since the epoch. */
  extensionsSeen: 'tl:extensions-seen',
  /** Hash with expiry, call id → JSON of what others may know of it: the calls of an extension (its number, or its id). */
  busy: (customerId: string, extension: string) => `tl:busy:${customerId}:${extension}`,
  /** Pub/sub channel: the names of `contacts` and `busy` hashes that changed. */
  presence: 'tl:presence',
  /** Set with expiry: ids of the extensions that registered over a connection, `<sip server>/<transport>/<address>/<port>`. */
  connection: (name: string) => `tl:connection:${name}`,
  /** String with expiry: JSON of a `CarrierHealth`, what the latest OPTIONS to a provider found. */
  carrierHealth: (providerId: string) => `tl:carrier:${providerId}:health`,
  /** String with expiry: a media-app asks the carriers for this round. */
  carrierRound: 'tl:carrier:round',
  /** String with a lease: id of the node that keeps the registration at a provider. */
  carrierRegistrar: (providerId: string) => `tl:carrier:${providerId}:registrar`,
  /** Hash, node id → calls it holds: how many calls there are under a ceiling (`provider:<id>`, `customer:<id>`). */
  callPlaces: (scope: string) => `tl:places:${scope}`,
  /** String with expiry: when the next call under a ceiling is due, milliseconds since the epoch. */
  callRate: (scope: string) => `tl:rate:${scope}`,
  /** String: the secret that signs digest nonces, shared by all nodes. */
  nonceSecret: 'tl:secret:nonce',
  /** String with expiry: when a customer's bucket of a tier of rate limits is full again, in microseconds. */
  rateLimit: (tier: string, customerId: string) => `tl:limit:${tier}:${customerId}`,
  /** Set of banned sources, as SIP servers read it (the format of drachtio-server's blacklist). */
  bannedSources: 'tl:guard:banned',
  /** Hash, source → JSON of a ban. */
  bans: 'tl:guard:bans',
  /** Sorted set, source by the end of its ban in milliseconds since the epoch. */
  banEnds: 'tl:guard:ends',
  /** Hash with expiry: how full the measure of a source is, and since when. */
  guardPoints: (source: string) => `tl:guard:points:${source}`,
  /** String with expiry: a phone at this source proved itself lately. */
  guardKnown: (source: string) => `tl:guard:known:${source}`,
  /** String with expiry: how often a source was banned within a day. */
  guardRecord: (source: string) => `tl:guard:record:${source}`,
  /** Hash, source → how many messages a SIP server could not read since media-app last looked. */
  malformed: 'tl:guard:malformed',
  /** String with expiry: JSON of whose phone a token sets up; the SHA-256 of the token in hex. */
  provisioning: (hash: string) => `tl:provisioning:${hash}`,
  /** String with expiry: a nonce was answered with this count, which is good once. */
  nonceCount: (nonce: string, count: string) => `tl:nonce:${nonce}:${count}`,
} as const;

/** BullMQ queue names (BullMQ adds its own `bull:` prefix). */
export const queues = {
  /** Commands any media-app may take. */
  media: 'tl-media',
  /** Commands only the owner of a record may take. */
  node: (nodeId: string) => `tl-media-${nodeId}`,
} as const;

/** True for the text under `keys.obeyed` once the command is answered. */
export const isReply = (text: string | null): text is string => text?.startsWith('{') ?? false;

/** How long a `once` command is remembered, in seconds: longer than the request that may bring it again. */
export const OBEYED_TTL_S = 90_000;

/** How long a finished live record stays readable in Redis for a projector that lags, in seconds. */
export const FINISHED_TTL_S = 3600;
