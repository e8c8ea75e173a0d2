import type { LiveKind } from '#contract/keys';
import type { Route } from '../http/route.ts';
import { accesskeys } from './accesskeys.ts';
import { activeflows } from './activeflows.ts';
import { agents } from './agents.ts';
import { ais } from './ai-store.ts';
import { campaigns, outdials, outplans } from './campaign-store.ts';
import { conversationAccounts } from './conversation-accounts.ts';
import { queues } from './queues.ts';
import { rags } from './rag-store.ts';
import { teams } from './teams.ts';
import { webchatWidgets } from './webchat-widgets.ts';
import { billingAccounts } from './billing-accounts.ts';
import { billings } from './billings.ts';
import { calls } from './calls.ts';
import { conferencecalls } from './conferencecalls.ts';
import { conferences } from './conferences.ts';
import { contactAddresses, contacts } from './contact-store.ts';
import { scopeOf } from './crud.ts';
import { findCustomer } from './customers.ts';
import { directs } from './directs.ts';
import { extensions } from './extensions.ts';
import { flows } from './flow-store.ts';
import { groupcalls } from './groupcalls.ts';
import { findLive, type LiveResource } from './live.ts';
import { numbers } from './numbers.ts';
import { outboundConfigs } from './outbound-config.ts';
import { providercalls } from './providercalls.ts';
import { providers } from './providers.ts';
import { recordings } from './recordings.ts';
import type { Resource } from './resource.ts';
import { routeRecords } from './routes.ts';
import { storageAccounts } from './storage-accounts.ts';
import { storageFiles } from './storage-files.ts';
import { Store } from './store.ts';
import { tags } from './tags.ts';
import { trunks } from './trunks.ts';
import { findDelivery } from './webhook-deliveries.ts';

type Find = NonNullable<Route['find']>;

const stored =
  (resource: Resource): Find =>
  request =>
    new Store(resource, request.context.db).get(scopeOf(request), request.params['id'] ?? '');

const live =
  <K extends LiveKind>(resource: LiveResource<K>): Find =>
  request =>
    findLive(resource, request, request.params['id'] ?? '');

/** How the record behind `/{collection}/{id}…` is looked for. */
const RECORDS: Record<string, Find> = {
  '/accesskeys': stored(accesskeys),
  '/activeflows': live(activeflows),
  '/agents': stored(agents),
  '/ais': stored(ais),
  '/billing-accounts': stored(billingAccounts),
  '/billing_accounts': stored(billingAccounts),
  '/billings': stored(billings),
  '/bans': ({ context, params }) => context.bans.get(params['id'] ?? ''),
  '/calls': live(calls),
  '/campaigns': stored(campaigns),
  '/conferencecalls': live(conferencecalls),
  '/conferences': live(conferences),
  '/contact_addresses': stored(contactAddresses),
  '/contacts': stored(contacts),
  '/conversation-accounts': stored(conversationAccounts),
  '/conversation_accounts': stored(conversationAccounts),
  '/customers': request => findCustomer(request.context.db, request.params['id'] ?? ''),
  '/directs': stored(directs),
  '/extensions': stored(extensions),
  '/flows': stored(flows),
  '/groupcalls': live(groupcalls),
  '/numbers': stored(numbers),
  '/outdials': stored(outdials),
  '/outplans': stored(outplans),
  '/outbound_configs': stored(outboundConfigs),
  '/providercalls': stored(providercalls),
  '/providers': stored(providers),
  '/queues': stored(queues),
  '/rags': stored(rags),
  '/recordingfiles': live(recordings),
  '/recordings': live(recordings),
  '/routes': stored(routeRecords),
  '/storage-accounts': stored(storageAccounts),
  '/storage_accounts': stored(storageAccounts),
  '/storage_files': stored(storageFiles),
  '/tags': stored(tags),
  '/teams': stored(teams),
  '/trunks': stored(trunks),
  '/webhook_deliveries': request => findDelivery(request, request.params['id'] ?? ''),
  '/webchat_widgets': stored(webchatWidgets),
};

/** A route that can tell a missing record from one that the caller may not touch (accounts-and-plumbing 6.2). */
export const findable = (route: Route): Route => {
  const [collection] = route.path.split('/{id}');
  const find = collection !== route.path ? RECORDS[collection ?? ''] : undefined;
  return find && !route.find ? { ...route, find } : route;
};
