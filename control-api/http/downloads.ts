import { join } from 'node:path';
import express, { type Router } from 'express';
import { PlatformError } from '#contract/errors';
import { RECORDINGS_FOLDER } from '#contract/recording';
import { FILES_ROOM, type Downloads } from '../downloads.ts';

/** Rooms of DATA_DIR that links may lead to, and the names that files there have. */
const ROOMS: Record<string, RegExp> = {
  [RECORDINGS_FOLDER]: /^[\w:.-]+\.wav$/,
  [FILES_ROOM]: /^[0-9a-f-]{36}$/,
};

const HEADERS = { 'Cache-Control': 'private, no-store', 'X-Content-Type-Options': 'nosniff' };

/** Serves signed links to files, whole or by range (RFC 9110 section 14). */
export const downloadsRouter = (downloads: Downloads): Router => {
  const router = express.Router({ caseSensitive: true });
  router.get('/downloads/:room/:filename', (request, response, next) => {
    const { room, filename } = request.params;
    const { expires, signature, save_as } = request.query;
    if (!downloads.isGood(room, filename, { expires, signature, save_as }))
      throw new PlatformError('PERMISSION_DENIED', 'The link is not one of ours, or has expired. Ask for a fresh one.');
    if (!Object.hasOwn(ROOMS, room) || !ROOMS[room]?.test(filename))
      throw new PlatformError('RESOURCE_NOT_FOUND', 'There is no such file.');
    response.attachment(typeof save_as === 'string' ? save_as : filename);
    const options = { root: join(downloads.folder, room), headers: HEADERS, cacheControl: false };
    response.sendFile(filename, options, (error: (Error & { status?: number }) | undefined) => {
      if (!error || response.headersSent) return;
      response.removeHeader('Content-Disposition');
      next(error.status === 404 ? new PlatformError('RESOURCE_NOT_FOUND', 'The file is not there any more.') : error);
    });
  });
  return router;
};
