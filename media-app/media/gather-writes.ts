import type { Socket } from 'node:net';

/**
 * The event socket client writes one command in several small pieces. Gathered until the end of the turn they leave as
 * one segment, which spares the media server and us a system call for each, and Nagle's algorithm has nothing to delay.
 */
export const gatherWrites = (socket: Socket | undefined): void => {
  if (!socket) return;
  socket.setNoDelay(true);
  const write = socket.write.bind(socket) as (...pieces: unknown[]) => boolean;
  socket.write = (...pieces: unknown[]) => {
    if (socket.writableCorked === 0) {
      socket.cork();
      process.nextTick(() => socket.uncork());
    }
    return write(...pieces);
  };
};
