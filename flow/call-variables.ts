import type { Address } from '#contract/address';
import type { Call } from '#contract/call';

const addressVariables = (side: 'source' | 'destination', address: Address): Record<string, string> => ({
  [`svc.call.${side}.name`]: address.name,
  [`svc.call.${side}.detail`]: address.detail,
  [`svc.call.${side}.target`]: address.target,
  [`svc.call.${side}.target_name`]: address.target_name,
  [`svc.call.${side}.type`]: address.type,
});

/** The `svc.call.*` variables a call gives to its activeflow when it is created (voice-and-flows 5.4). */
export const callVariables = (call: Readonly<Call>): Record<string, string> => ({
  'svc.call.id': call.id,
  ...addressVariables('source', call.source),
  ...addressVariables('destination', call.destination),
  'svc.call.direction': call.direction,
  'svc.call.master_call_id': call.master_call_id,
  'svc.call.digits': '',
});
