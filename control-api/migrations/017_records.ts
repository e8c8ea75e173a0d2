import type { Transaction } from '../db.ts';

const OWNED = `
  id uuid primary key,
  customer_id uuid not null references customers (id)`;

const TIMES = `
  tm_create timestamptz not null,
  tm_update timestamptz,
  tm_delete timestamptz`;

const WORDS = `
  name text not null,
  detail text not null`;

const EMPTY = `'00000000-0000-0000-0000-000000000000'`;

/** Queues, and what calls people in lists: plans, lists with targets, campaigns and their tries. */
const CONTACT_CENTRE = `
create table queues (${OWNED},${WORDS},
  routing_method text not null check (routing_method in ('', 'random')),
  tag_ids jsonb not null,
  direct_hash text not null,
  wait_flow_id uuid not null,
  wait_timeout bigint not null,
  service_timeout bigint not null,
  wait_queuecall_ids jsonb not null default '[]',
  service_queuecall_ids jsonb not null default '[]',
  total_incoming_count integer not null default 0,
  total_serviced_count integer not null default 0,
  total_abandoned_count integer not null default 0,${TIMES}
);

create table outplans (${OWNED},${WORDS},
  source jsonb not null,
  dial_timeout integer not null,
  try_interval integer not null,
  max_try_count_0 integer not null,
  max_try_count_1 integer not null,
  max_try_count_2 integer not null,
  max_try_count_3 integer not null,
  max_try_count_4 integer not null,${TIMES}
);

create table outdials (${OWNED},${WORDS},
  campaign_id uuid not null default ${EMPTY},
  data text not null,${TIMES}
);

create table outdial_targets (${OWNED},
  outdial_id uuid not null references outdials (id),${WORDS},
  data text not null,
  status text not null default 'idle' check (status in ('idle', 'progressing', 'done')),
  destination_0 jsonb,
  destination_1 jsonb,
  destination_2 jsonb,
  destination_3 jsonb,
  destination_4 jsonb,
  try_count_0 integer not null default 0,
  try_count_1 integer not null default 0,
  try_count_2 integer not null default 0,
  try_count_3 integer not null default 0,
  try_count_4 integer not null default 0,${TIMES}
);
create index outdial_targets_outdial on outdial_targets (outdial_id, tm_create desc) where tm_delete is null;

create table campaigns (${OWNED},
  type text not null check (type in ('call', 'flow')),${WORDS},
  status text not null default 'stop' check (status in ('stop', 'stopping', 'run')),
  service_level integer not null,
  end_handle text not null check (end_handle in ('stop', 'continue')),
  actions jsonb not null,
  outplan_id uuid not null,
  outdial_id uuid not null,
  queue_id uuid not null,
  next_campaign_id uuid not null,${TIMES}
);

create table campaigncalls (${OWNED},
  campaign_id uuid not null references campaigns (id),
  outplan_id uuid not null,
  outdial_id uuid not null,
  outdial_target_id uuid not null,
  queue_id uuid not null,
  activeflow_id uuid not null,
  flow_id uuid not null,
  reference_type text not null check (reference_type in ('none', 'call', 'flow')),
  reference_id uuid not null,
  status text not null check (status in ('dialing', 'progressing', 'done')),
  result text not null check (result in ('', 'success', 'fail')),
  source jsonb not null,
  destination jsonb not null,
  destination_index integer not null,
  try_count integer not null,${TIMES}
);
create index campaigncalls_campaign on campaigncalls (campaign_id, tm_create desc);`;

/** Accounts at messengers, and the chat window of a web page. */
const MESSAGING = `
create table conversation_accounts (${OWNED},
  type text not null check (type in ('line', 'sms', 'whatsapp')),${WORDS},
  secret text not null,
  token text not null,
  provider_data jsonb not null default '{}',
  app_secret text not null default '',
  message_flow_id uuid not null,${TIMES}
);

create table webchat_widgets (${OWNED},
  name text not null,
  status text not null check (status in ('active', 'inactive')),
  session_flow_id uuid not null,
  message_flow_id uuid not null,
  session_idle_timeout integer not null,
  theme_config jsonb,
  direct_hash text not null,${TIMES}
);`;

/** Assistants, the history of their prompts, teams of them, and what they may look up. */
const AI = `
create table ais (${OWNED},${WORDS},
  type text not null check (type in ('normal', 'insight')),
  is_insight_active boolean not null default false,
  engine_model text not null,
  parameter jsonb not null,
  engine_key text not null,
  rag_id uuid not null,
  init_prompt text not null,
  current_prompt_history_id uuid not null default ${EMPTY},
  tts_type text not null,
  tts_voice_id text not null,
  stt_type text not null,
  stt_language text not null,
  vad_config jsonb,
  smart_turn_enabled boolean not null default false,
  auto_aicall_audit_enabled boolean not null,
  tool_names jsonb not null,
  direct_hash text not null,${TIMES}
);
create unique index ais_insight on ais (customer_id) where is_insight_active and tm_delete is null;

create table ai_prompt_histories (${OWNED},
  ai_id uuid not null references ais (id),
  prompt text not null,
  proposal_id uuid not null default ${EMPTY},${TIMES}
);
create index ai_prompt_histories_ai on ai_prompt_histories (ai_id, tm_create desc);

create table ai_participants (${OWNED},
  ai_id uuid not null references ais (id),
  aicall_id uuid not null,${TIMES}
);
create index ai_participants_ai on ai_participants (ai_id, tm_create desc);

create table teams (${OWNED},${WORDS},
  start_member_id uuid not null,
  members jsonb not null,
  parameter jsonb not null,
  direct_hash text not null,${TIMES}
);

create table rags (${OWNED},
  name text not null,
  description text not null,${TIMES}
);

create table rag_sources (${OWNED},
  rag_id uuid not null references rags (id),
  storage_file_id uuid not null default ${EMPTY},
  source_url text not null default '',
  status text not null default 'pending' check (status in ('pending', 'ready', 'error')),
  status_message text not null default '',${TIMES}
);
create unique index rag_sources_same on rag_sources (rag_id, storage_file_id, source_url) where tm_delete is null;
create index rag_sources_pending on rag_sources (tm_create) where status = 'pending' and tm_delete is null;`;

const LISTED = [
  'queues',
  'outplans',
  'outdials',
  'campaigns',
  'campaigncalls',
  'conversation_accounts',
  'webchat_widgets',
  'ais',
  'teams',
  'rags',
];

/** What carries a direct hash, by its type (009_auth). */
const DIRECTS = { queue: 'queues', ai: 'ais', ai_team: 'teams', webchat_widget: 'webchat_widgets' };

/** Records of the contact centre, of messaging and of AI. */
export const up = async (trx: Transaction): Promise<void> => {
  for (const part of [CONTACT_CENTRE, MESSAGING, AI]) await trx.raw(part);
  for (const table of LISTED)
    await trx.raw('create index ?? on ?? (customer_id, tm_create desc)', [`${table}_customer`, table]);
  for (const [type, table] of Object.entries(DIRECTS))
    await trx.raw(
      `create trigger ${type}_direct after insert or update of direct_hash, tm_delete on ${table}
       for each row execute function keep_direct('${type}')`,
    );
};
