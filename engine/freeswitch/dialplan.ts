import { isIP } from 'node:net';
import { headerOf, type SipRequest } from '../sip/message.ts';

/** What becomes of a call: its control connection goes to this address. */
export interface Route {
  address: string;
  port: number;
}

/**
 * The whole dialplan: a call whose User-Agent starts `drachtio-fsmrf:` is answered and handed to the application at
 * `X-esl-outbound`; nothing else comes in (protocol page §4). Null means no route, 404.
 */
export function routeOf(invite: SipRequest): Route | null {
  if (!headerOf(invite, 'user-agent')?.startsWith('drachtio-fsmrf:')) return null;
  const match = /^\s*\[?([0-9A-Za-z.:-]{1,255}?)\]?:(\d{1,5})\s*$/.exec(headerOf(invite, 'x-esl-outbound') ?? '');
  const [, address = '', port = ''] = match ?? [];
  const valid = address !== '' && (isIP(address) !== 0 || /^[0-9A-Za-z.-]+$/.test(address));
  return valid && Number(port) > 0 && Number(port) < 65536 ? { address, port: Number(port) } : null;
}
