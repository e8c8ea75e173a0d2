import { newDirectHash } from '../auth/secrets.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { idParams, scopeOf } from './crud.ts';
import { render, type Resource } from './resource.ts';
import { Store } from './store.ts';

const SPELLINGS = ['direct-hash-regenerate', 'direct_hash_regenerate'] as const;

const inSpelling = (resource: Resource, spelling: (typeof SPELLINGS)[number]): Route =>
  defineRoute({
    method: 'post',
    path: `${resource.path}/{id}/${spelling}`,
    operation_id: `${resource.name}_${spelling.replaceAll('-', '_')}${spelling.includes('-') ? '' : '_underscored'}`,
    summary: `Give one ${resource.name} a new direct hash; the old one is dead at once`,
    tag: resource.title,
    permission: resource.write,
    params: idParams,
    response: resource.schema,
    reasons: [resource.not_found],
    async handle(request) {
      const store = new Store(resource, request.context.db);
      const changed = await store.update(scopeOf(request), request.params.id, { direct_hash: newDirectHash() });
      return render(resource, changed);
    },
  });

/** The routes that replace the direct hash of a stored resource; both spellings are served (accounts-and-plumbing 17). */
export const regenerateHash = (resource: Resource): Route[] => SPELLINGS.map(each => inSpelling(resource, each));
