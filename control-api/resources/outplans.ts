import type { Route } from '../http/route.ts';
import { dialInfo, outplans } from './campaign-store.ts';
import { crud } from './crud.ts';
import { setter } from './setter.ts';

export const outplanRoutes: Route[] = [
  ...Object.values(crud(outplans)),
  setter(outplans, { field: 'dial_info', summary: 'Change how one outplan dials', body: dialInfo }),
];
