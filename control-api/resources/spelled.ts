import type { Route } from '../http/route.ts';

/** The same operations under another spelling of their collection, which the specification serves too. */
export const spelledAlso = (routes: Route[], collection: string, other: string): Route[] =>
  routes.flatMap(route => {
    if (route.path !== collection && !route.path.startsWith(`${collection}/`)) return [];
    const path = other + route.path.slice(collection.length);
    return [{ ...route, path, operation_id: `${route.operation_id}_hyphenated` }];
  });
