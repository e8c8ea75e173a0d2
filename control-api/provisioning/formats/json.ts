import { hostPort } from '../line.ts';
import type { Format } from './format.ts';

/** For programs (accounts-and-plumbing 18.2). */
export const json: Format = {
  name: 'json',
  media_type: 'application/json; charset=utf-8',
  write: line => {
    const { username, password, domain, transport, display_name } = line;
    return JSON.stringify({ username, password, domain, proxy: hostPort(line), transport, display_name });
  },
};
