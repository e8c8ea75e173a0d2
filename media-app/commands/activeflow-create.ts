import { ActiveflowSession } from '../activeflow/session.ts';
import type { CommandHandler } from './catalogue.ts';

/** POST /activeflows: creates the activeflow, answers with it as it stands before its first action, then runs it. */
export const activeflowCreate: CommandHandler<'activeflow.create'> = async (services, body, origin) => {
  const { id, flow, variables, webhook_uri, webhook_method } = body;
  const session = new ActiveflowSession(services, {
    id,
    template: flow,
    variables,
    webhook_uri,
    webhook_method,
    reference_type: 'api',
    reference_id: '',
    request_id: origin.request_id,
  });
  const created = structuredClone(session.activeflow);
  await session.create();
  void session.run();
  return created;
};
