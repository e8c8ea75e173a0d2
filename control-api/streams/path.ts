const PATH = /^\/v1\.0\/calls\/([^/]+)\/media_stream$/;

/** The call whose media stream a request asks for, as it is written in the path; undefined for any other request. */
export const streamedCall = (url: string | undefined): string | undefined => PATH.exec(url?.split('?')[0] ?? '')?.[1];
