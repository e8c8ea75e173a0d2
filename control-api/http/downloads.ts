import { join } from 'node:path';
import express, { type Router } from 'express';
import { PlatformError } from '#contract/errors';
import { RECORDINGS_FOLDER } from '#contract/recording';
import { FILES_ROOM, type Downloads, type Link } from '../downloads.ts';

/** Rooms of DATA_DIR that links may lead to, and the names that files there have. */
const ROOMS: Record<string, RegExp> = {
  [RECORDINGS_FOLDER]: /^[\w:.-]+\.wav$/,
  [FILES_ROOM]: /^[0-9a-f-]{36}$/,
};

const HEADERS = { 'Cache-Control': 'private, no-store', 'X-Content-Type-Options': 'nosniff' };

/** Where a file lies now that is in its room no more. */
export type Moved = (filename: string) => Promise<Link | undefined>;

/** Serves signed links to files, whole or by range (RFC 9110 section 14), and leads to what moved since they were made. */
export const downloadsRouter = (downloads: Downloads, moved: Moved): Router => {
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
      if (error.status !== 404) return next(error);
      moved(filename).then(link => {
        if (link) response.set(HEADERS).redirect(307, link.uri);
        else next(new PlatformError('RESOURCE_NOT_FOUND', 'The file is not there any more.'));
      }, next);
    });
  });
  return router;
};
