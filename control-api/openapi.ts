import { describeRoutes } from './http/openapi.ts';
import { GUIDE } from './http/openapi-words.ts';
import { VERSION_PREFIX } from './http/route.ts';
import { routes } from './routes.ts';

const INFO = {
  title: 'Trunkline',
  version: '1.0.0',
  description: GUIDE,
  version_prefix: VERSION_PREFIX,
};

let document: object | undefined;

/** The OpenAPI 3.1 document of the whole API; needs no database. */
export const openApiDocument = (): object => (document ??= describeRoutes(routes, INFO));
