import type { MediaEndpoint } from './endpoint.ts';
import type { MediaServers } from './servers.ts';

/** Two legs of ours on two media servers, each of which hears what the other is told: the way from one server to another. */
export interface MediaLink {
  near: MediaEndpoint;
  far: MediaEndpoint;
}

/**
 * Opens a link between two media servers, which may be one and the same.
 * @throws Error when one of them is not there
 */
export const openLink = async (media: MediaServers, from: string, to: string): Promise<MediaLink> => {
  const near = await media.createEndpoint(undefined, from);
  let far: MediaEndpoint | undefined;
  try {
    far = await media.createEndpoint(near.localSdp, to);
    await near.modify(far.localSdp);
    if (near.server !== from || far.server !== to) throw new Error('a media server is gone');
    return { near, far };
  } catch (error) {
    await closeLink({ near, far });
    throw error;
  }
};

/** Gives both legs back. Never rejects. */
export const closeLink = async ({
  near,
  far,
}: {
  near: MediaEndpoint;
  far: MediaEndpoint | undefined;
}): Promise<void> => {
  await Promise.all([near.destroy(), far?.destroy()]);
};
