import { strict as assert } from 'node:assert';
import { LIVE_EVENTS, STORED_EVENTS } from '#contract/events';
import { openApiDocument } from '../../../control-api/openapi.ts';

type Schemas = Record<string, { properties?: Record<string, unknown> }>;

/** The engine of an event that this version does not have yet. */
type Later = 'ai' | 'campaigns' | 'files' | 'messaging' | 'queues' | 'speech' | 'talk' | 'webchat';

const verbs = (resource: string, ...endings: string[]): string[] => endings.map(ending => `${resource}_${ending}`);
const plain = (resource: string): string[] => verbs(resource, 'created', 'updated', 'deleted');

/** accounts-and-plumbing 28.1 and 28.2: events, the schema of their data, and the engine of those to come. */
const CATALOGUE: [events: string[], data: string, later?: Later][] = [
  // 28.1
  [plain('activeflow'), 'Activeflow'],
  [plain('agent'), 'Agent'],
  [['agent_status_updated'], 'Agent'],
  [plain('ai'), 'AI', 'ai'],
  [
    verbs('aicall_status', 'initializing', 'progressing', 'pausing', 'resuming', 'terminating', 'terminated'),
    'AICall',
    'ai',
  ],
  [verbs('aimessage', 'created', 'intermediate'), 'AIMessage', 'ai'],
  [plain('summary'), 'Summary', 'ai'],
  [plain('team'), 'Team', 'ai'],
  [verbs('call', 'created', 'dialing', 'ringing', 'progressing', 'canceling', 'terminating', 'hangup'), 'Call'],
  [verbs('call', 'updated', 'deleted'), 'Call'],
  [verbs('groupcall', 'created', 'progressing', 'hangup', 'deleted'), 'Groupcall'],
  // `recording_failed` is ours: the specification has no event for audio that is lost
  [verbs('recording', 'started', 'failed', 'finished'), 'Recording'],
  [plain('campaign'), 'Campaign', 'campaigns'],
  [verbs('campaign_status', 'run', 'stopping', 'stop'), 'Campaign', 'campaigns'],
  [plain('campaigncall'), 'Campaigncall', 'campaigns'],
  [plain('conference'), 'Conference'],
  [plain('account'), 'ConversationAccount', 'messaging'],
  [verbs('conversation', 'created', 'updated'), 'Conversation', 'messaging'],
  [plain('conversation_message'), 'ConversationMessage', 'messaging'],
  [plain('email'), 'Email', 'messaging'],
  [plain('message'), 'Message', 'messaging'],
  [plain('number'), 'Number'],
  [plain('outdial'), 'Outdial', 'campaigns'],
  [
    verbs('queuecall', 'created', 'waiting', 'connecting', 'serviced', 'done', 'abandoned', 'deleted'),
    'Queuecall',
    'queues',
  ],
  [plain('chat'), 'Chat', 'talk'],
  [verbs('chatmessage', 'created', 'deleted', 'reaction_updated'), 'ChatMessage', 'talk'],
  [verbs('chatparticipant', 'added', 'removed'), 'ChatParticipant', 'talk'],
  [verbs('transcribe', 'created', 'progressing', 'done'), 'Transcribe', 'speech'],
  [verbs('transcribe_speech', 'started', 'interim', 'ended'), 'StreamingEvent', 'speech'],
  [['transcript_created'], 'Transcript', 'speech'],
  [['webchat_message_created'], 'WebchatMessage', 'webchat'],
  [['webchat_session_ended'], 'WebchatSession', 'webchat'],
  // 28.2, those that are to be published
  [plain('extension'), 'Extension'],
  [plain('trunk'), 'Trunk'],
  [plain('flow'), 'Flow'],
  [plain('queue'), 'Queue', 'queues'],
  [plain('tag'), 'Tag'],
  [plain('contact'), 'Contact'],
  [verbs('file', 'created', 'deleted'), 'File', 'files'],
  [verbs('conferencecall', 'joining', 'joined', 'leaving', 'leaved'), 'Conferencecall'],
  [verbs('speaking', 'started', 'stopped'), 'Speaking', 'speech'],
  [verbs('customer', 'created', 'updated', 'deleted', 'frozen', 'recovered'), 'Customer'],
  [['customer_identity_verification_updated'], 'Customer'],
];

/** 28.2 and 28.3: never told to customers. */
const INTERNAL =
  /^(accesskey|billing|direct|confbridge|provider|route|providercall|streaming|transfer)_|^(dtmf_received|number_renewed|team_member_switched)$/;

const told: string[] = [...Object.values(LIVE_EVENTS).flat(), ...STORED_EVENTS];
const { schemas } = (openApiDocument() as { components: { schemas: Schemas } }).components;

describe('the catalogue of events', () => {
  for (const [events, data, later] of CATALOGUE)
    it(`${events.join(', ')} carry a ${data}${later ? `, once there is an engine of ${later}` : ''}`, () => {
      const missing = events.filter(event => !told.includes(event));
      const name = Object.keys(schemas).find(each => each.toLowerCase() === data.toLowerCase());
      if (later && (missing.length === events.length || name === undefined)) return;
      assert.deepEqual(missing, [], 'of a family all are told, or none');
      const { properties } = schemas[name ?? ''] ?? assert.fail(`no schema ${data}`);
      assert.ok(properties && 'id' in properties, `a ${data} has no id`);
    });

  it('holds every event that is told, and each once', () => {
    const known = CATALOGUE.flatMap(([events]) => events);
    assert.deepEqual([...told].sort(), known.filter(event => told.includes(event)).sort());
  });

  it('tells none of those that are internal', () => {
    assert.deepEqual(
      told.filter(event => INTERNAL.test(event)),
      [],
    );
  });
});
