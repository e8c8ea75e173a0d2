const PATH = /^\/v1\.0\/(calls|conferences)\/([^/]+)\/media_stream$/;

/** What a media stream is asked of, as it is written in the path. */
export interface StreamPath {
  collection: 'calls' | 'conferences';
  id: string;
}

/** The call or conference whose media stream a request asks for; undefined for any other request. */
export const streamPath = (url: string | undefined): StreamPath | undefined => {
  const [, collection, id] = PATH.exec(url?.split('?')[0] ?? '') ?? [];
  return collection && id ? { collection: collection as StreamPath['collection'], id } : undefined;
};
