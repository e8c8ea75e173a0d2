import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import express, { type RequestHandler, type Router } from 'express';

/** Importing swagger-ui-dist would run the whole page in this process; only its folder is wanted. */
const ASSETS = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Trunkline API</title>
<link rel="icon" type="image/png" href="/docs/assets/favicon-32x32.png">
<link rel="stylesheet" href="/docs/assets/swagger-ui.css">
</head>
<body>
<div id="page"></div>
<script src="/docs/assets/swagger-ui-bundle.js"></script>
<script src="/docs/page.js"></script>
</body>
</html>
`;

const SCRIPT = `window.ui = SwaggerUIBundle({ url: '/openapi.json', dom_id: '#page', deepLinking: true, validatorUrl: null });
`;

/** The page shows inline styles and data images of its own bundle, and loads nothing from elsewhere. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const policy: RequestHandler = (_request, response, next) => {
  response.set('Content-Security-Policy', POLICY);
  next();
};

/** Serves /openapi.json (and below the version prefix) and the documentation page at /docs. */
export const docsRouter = (openApi: () => object, versionPrefix: string): Router => {
  const router = express.Router();
  router.get(['/openapi.json', `${versionPrefix}/openapi.json`], (_request, response) => response.json(openApi()));
  router.use('/docs', policy);
  router.get('/docs', (_request, response) => response.type('html').send(PAGE));
  router.get('/docs/page.js', (_request, response) => response.type('js').send(SCRIPT));
  router.use('/docs/assets', express.static(ASSETS, { index: false, redirect: false, maxAge: '1h' }));
  return router;
};
