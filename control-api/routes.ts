import { bootRoutes } from './auth/boot.ts';
import { delegateRoutes } from './auth/delegate.ts';
import { emailVerifyRoutes } from './auth/email-verify.ts';
import { loginRoutes } from './auth/login.ts';
import { passwordRoutes } from './auth/password.ts';
import { signupRoutes } from './auth/signup.ts';
import { unregisterRoutes } from './auth/unregister.ts';
import { probeRoutes } from './http/probes.ts';
import type { Route } from './http/route.ts';
import { accesskeyRoutes } from './resources/accesskeys.ts';
import { activeflowRoutes } from './resources/activeflows.ts';
import { agentRoutes } from './resources/agents.ts';
import { availableNumberRoutes } from './resources/available-numbers.ts';
import { billingAccountRoutes } from './resources/billing-accounts.ts';
import { billingRoutes } from './resources/billings.ts';
import { banRoutes } from './resources/bans.ts';
import { callControlRoutes } from './resources/call-controls.ts';
import { callRecordingRoutes } from './resources/call-recordings.ts';
import { callRoutes } from './resources/calls.ts';
import { conferencecallRoutes } from './resources/conferencecalls.ts';
import { conferenceRecordingRoutes } from './resources/conference-recordings.ts';
import { conferenceTranscribeRoutes } from './resources/conference-transcribes.ts';
import { conferenceRoutes } from './resources/conferences.ts';
import { contactAddressRoutes } from './resources/contact-addresses.ts';
import { contactInteractionRoutes } from './resources/contact-interactions.ts';
import { contactRoutes } from './resources/contacts.ts';
import { customerRoutes } from './resources/customer.ts';
import { customersRoutes } from './resources/customers.ts';
import { storageAccountRoutes } from './resources/storage-accounts.ts';
import { storageFileRoutes } from './resources/storage-files.ts';
import { directRoutes } from './resources/directs.ts';
import { extensionRoutes } from './resources/extensions.ts';
import { provisioningRoutes } from './provisioning/routes.ts';
import { flowRoutes } from './resources/flows.ts';
import { groupcallRoutes } from './resources/groupcalls.ts';
import { mediaStreamRoutes } from './resources/media-stream.ts';
import { meRoutes } from './resources/me.ts';
import { numberRenewalRoutes } from './resources/number-renewal.ts';
import { numberRoutes } from './resources/numbers.ts';
import { findable } from './resources/records.ts';
import { aiRoutes } from './resources/ais.ts';
import { campaignRoutes } from './resources/campaigns.ts';
import { conversationAccountRoutes } from './resources/conversation-accounts.ts';
import { outdialRoutes } from './resources/outdials.ts';
import { outplanRoutes } from './resources/outplans.ts';
import { queueRoutes } from './resources/queues.ts';
import { ragRoutes } from './resources/rags.ts';
import { teamRoutes } from './resources/teams.ts';
import { webchatWidgetRoutes } from './resources/webchat-widgets.ts';
import { tagRoutes } from './resources/tags.ts';
import { outboundConfigRoutes } from './resources/outbound-config.ts';
import { providerSetupRoutes } from './resources/provider-setup.ts';
import { providercallRoutes } from './resources/providercalls.ts';
import { providerRoutes } from './resources/providers.ts';
import { routeRoutes } from './resources/routes.ts';
import { trunkRoutes } from './resources/trunks.ts';
import { timelineRoutes } from './resources/timelines.ts';
import { recordingRoutes } from './resources/recordings.ts';
import { serviceAgentRoutes } from './resources/agent-surface.ts';
import { simulationRoutes } from './resources/simulate.ts';
import { transferRoutes } from './resources/transfers.ts';
import { webhookDeliveryRoutes } from './resources/webhook-deliveries.ts';

const all: Route[] = [
  ...probeRoutes,
  ...signupRoutes,
  ...emailVerifyRoutes,
  ...loginRoutes,
  ...passwordRoutes,
  ...unregisterRoutes,
  ...bootRoutes,
  ...delegateRoutes,
  ...accesskeyRoutes,
  ...activeflowRoutes,
  ...agentRoutes,
  ...availableNumberRoutes,
  ...billingAccountRoutes,
  ...billingRoutes,
  ...banRoutes,
  ...callControlRoutes,
  ...callRoutes,
  ...conferenceRoutes,
  ...conferencecallRoutes,
  ...contactRoutes,
  ...contactAddressRoutes,
  ...contactInteractionRoutes,
  ...customerRoutes,
  ...customersRoutes,
  ...storageAccountRoutes,
  ...storageFileRoutes,
  ...directRoutes,
  ...extensionRoutes,
  ...provisioningRoutes,
  ...flowRoutes,
  ...groupcallRoutes,
  ...meRoutes,
  ...mediaStreamRoutes,
  ...numberRenewalRoutes,
  ...numberRoutes,
  ...outboundConfigRoutes,
  ...providerSetupRoutes,
  ...providerRoutes,
  ...providercallRoutes,
  ...routeRoutes,
  ...trunkRoutes,
  ...timelineRoutes,
  ...callRecordingRoutes,
  ...conferenceRecordingRoutes,
  ...conferenceTranscribeRoutes,
  ...recordingRoutes,
  ...serviceAgentRoutes,
  ...simulationRoutes,
  ...tagRoutes,
  ...aiRoutes,
  ...campaignRoutes,
  ...conversationAccountRoutes,
  ...outdialRoutes,
  ...outplanRoutes,
  ...queueRoutes,
  ...ragRoutes,
  ...teamRoutes,
  ...webchatWidgetRoutes,
  ...transferRoutes,
  ...webhookDeliveryRoutes,
];

/** Every operation of the API. */
export const routes: Route[] = all.map(findable);
