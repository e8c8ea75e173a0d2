import { z } from 'zod';
import { EMPTY_ID, newId } from '#contract/ids';
import { NEVER, timestamp } from '#contract/time';
import type { Transaction } from '../db.ts';
import { because } from '../http/bind.ts';
import { detailField, nameField, reference } from './fields.ts';
import { byWord } from './filters.ts';
import { defineResource, type Row } from './resource.ts';

const AI_TYPES = ['normal', 'insight'] as const;
export type AiType = (typeof AI_TYPES)[number];

const TARGETS = [
  ...['anthropic', 'aws', 'azure', 'cerebras', 'deepseek', 'fireworks', 'gemini', 'grok', 'groq', 'mistral'],
  ...['nvidia', 'ollama', 'openai', 'openrouter', 'perplexity', 'qwen', 'sambanova', 'together'],
];

const TTS_TYPES = [
  ...['', 'async', 'aws', 'azure', 'cartesia', 'deepgram', 'elevenlabs', 'fish', 'google', 'groq', 'hume'],
  ...['inworld', 'lmnt', 'minimax', 'neuphonic', 'nvidia-riva', 'openai', 'piper', 'playht', 'rime', 'sarvam', 'xtts'],
] as const;

const STT_TYPES = ['', 'cartesia', 'deepgram', 'elevenlabs', 'google'] as const;

/** What an AI of a type may do (contact-centre 23): the first fifteen, or the last four. */
export const AI_TOOLS: Record<AiType, readonly string[]> = {
  normal: [
    ...['connect_call', 'create_call', 'send_email', 'send_message', 'stop_media', 'stop_service', 'stop_flow'],
    ...['set_variables', 'get_variables', 'get_aicall_messages', 'search_knowledge', 'get_correlation'],
    ...['get_resource', 'describe_action', 'case_create'],
  ],
  insight: ['get_contact_interactions', 'get_conversation_content', 'get_related_cases', 'get_case_notes'],
};
const TOOL_NAMES = ['all', ...AI_TOOLS.normal, ...AI_TOOLS.insight];

const isModel = (text: string): boolean => {
  const [target = '', ...model] = text.split('.');
  return TARGETS.includes(target) && model.join('.') !== '';
};

const share = z.number().min(0).max(1).nullable().optional();
const seconds = z.number().min(0).max(30).nullable().optional();

const vadConfig = z
  .object({
    confidence: share.describe('How sure it must be, 0 to 1; 0.7 by default.'),
    start_secs: seconds.describe('How long somebody speaks before it counts; 0.2 by default.'),
    stop_secs: seconds.describe('How long somebody is silent before it counts; 0.2 by default.'),
    min_volume: share.describe('How loud it must be, 0 to 1; 0.6 by default.'),
  })
  .meta({ id: 'VADConfig', description: 'How it is heard that somebody speaks.' });

export const parameterField = z.record(z.string(), z.unknown()).describe('What the model is told beside its prompt.');

const declared = defineResource({
  name: 'ai',
  title: 'AI',
  path: '/ais',
  table: 'ais',
  not_found: 'AI_NOT_FOUND',
  duplicate: 'AI_INSIGHT_ACTIVATION_CONFLICT',
  read: 'manager',
  write: 'manager',
  unset: NEVER,
  told: true,
  refusals: ['INVALID_TOOL_NAMES', 'RAG_NOT_FOUND'],
  filters: { type: byWord(AI_TYPES, 'Only those of this type.') },
  fields: {
    name: nameField.unwrap(),
    detail: detailField.unwrap(),
    type: z.enum(AI_TYPES).default('normal').describe('insight: it helps agents with a case and only reads.'),
    engine_model: z
      .string()
      .max(255)
      .refine(isModel, `must be a model behind one of ${TARGETS.map(target => `${target}.`).join(' ')}`)
      .describe('Target and model, with a dot between.'),
    parameter: parameterField,
    engine_key: z.string().max(4096).describe('Your own key at the target. Always shown as empty.'),
    rag_id: reference('What it can look up.'),
    init_prompt: z.string().max(262_144).describe('What it is told first; `${variable}` is filled in.'),
    tts_type: z.enum(TTS_TYPES).describe('Who speaks; empty: the default.'),
    tts_voice_id: z.string().max(255).describe('With which voice; empty: the default.'),
    stt_type: z.enum(STT_TYPES).describe('Who listens; empty: the default.'),
    stt_language: z.string().max(35).default('').describe('BCP 47; empty: the default.'),
    vad_config: vadConfig.nullable().default(null),
    tool_names: z
      .array(z.string().refine(name => TOOL_NAMES.includes(name), because('INVALID_TOOL_NAMES', 'is no tool')))
      .max(TOOL_NAMES.length)
      .default([])
      .meta({ description: 'What it may do; ["all"]: everything its type allows.' }),
    auto_aicall_audit_enabled: z.boolean().default(false).describe('Whether each of its calls is judged.'),
  },
  changeable: [
    ...(['name', 'detail', 'type', 'engine_model', 'parameter', 'engine_key', 'rag_id', 'init_prompt'] as const),
    ...(['tts_type', 'tts_voice_id', 'stt_type', 'stt_language', 'vad_config', 'tool_names'] as const),
    'auto_aicall_audit_enabled',
  ],
  shown: {
    is_insight_active: z.boolean().describe('True for the one of the account that helps agents.'),
    current_prompt_history_id: z.uuid().describe('The entry of its prompt; the empty UUID when there is no prompt.'),
    smart_turn_enabled: z.boolean().describe('Whether a model hears when somebody has finished.'),
    direct_hash: z.string().describe('What programs of the public boot with (POST /auth/boot).'),
  },
});

/** Assistants as they are set up (contact-centre 21). The key goes in and never comes out. */
export const ais = { ...declared, whole: async (_db: unknown, rows: Row[]) => rows.map(withoutKey) };

function withoutKey(row: Row): Row {
  return { ...row, engine_key: '' };
}

const declaredHistories = defineResource({
  name: 'ai_prompt_history',
  title: 'AIPromptHistory',
  path: '/ais/{id}/prompt_histories',
  table: 'ai_prompt_histories',
  not_found: 'RESOURCE_NOT_FOUND',
  read: 'manager',
  write: 'manager',
  unset: NEVER,
  told: false,
  fields: {},
  changeable: [],
  shown: {
    ai_id: z.uuid().describe('Whose prompt it was.'),
    prompt: z.string().describe('The init_prompt from then on.'),
    proposal_id: z.uuid().describe('The proposal it came from; the empty UUID: somebody wrote it.'),
  },
});

/** What an AI was told first, through time (platform-api, AIPromptHistory). Entries are never changed. */
export const promptHistories = {
  ...declaredHistories,
  schema: declaredHistories.schema.omit({ tm_update: true, tm_delete: true }).meta({ id: 'AIPromptHistory' }),
};

const declaredParticipants = defineResource({
  name: 'ai_participant',
  title: 'AIParticipant',
  path: '/ais/{id}/participants',
  table: 'ai_participants',
  not_found: 'RESOURCE_NOT_FOUND',
  read: 'manager',
  write: 'manager',
  unset: NEVER,
  told: false,
  fields: {},
  changeable: [],
  shown: { ai_id: z.uuid(), aicall_id: z.uuid().describe('The call it took part in.') },
});

/** In which calls an AI took part. */
export const participants = {
  ...declaredParticipants,
  schema: declaredParticipants.schema
    .omit({ id: true, customer_id: true, tm_update: true, tm_delete: true })
    .meta({ id: 'AIParticipant' }),
};

/**
 * Keeps the history of a prompt, in the transaction that writes it: a new prompt gets an entry, the same one none, and an
 * empty one leaves the AI without an entry (contact-centre 21.3). Returns the row with its present entry.
 */
export const keepPrompt = async (trx: Transaction, ai: Row, proposal_id: string = EMPTY_ID): Promise<Row> => {
  const [prompt, current] = [String(ai['init_prompt']), String(ai['current_prompt_history_id'])];
  const present = await trx<Row>('ai_prompt_histories').where({ id: current }).first();
  if (prompt === (present?.['prompt'] ?? '')) return ai;
  const id = prompt === '' ? EMPTY_ID : newId();
  if (prompt !== '') {
    const { id: ai_id, customer_id } = ai;
    await trx('ai_prompt_histories').insert({ id, customer_id, ai_id, prompt, proposal_id, tm_create: timestamp() });
  }
  await trx('ais').where({ id: ai.id }).update({ current_prompt_history_id: id });
  return { ...ai, current_prompt_history_id: id };
};
