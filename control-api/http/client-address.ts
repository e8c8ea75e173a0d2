import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

const family = (address: string): 'ipv4' | 'ipv6' => (address.includes(':') ? 'ipv6' : 'ipv4');

/** `::ffff:192.0.2.1` is 192.0.2.1 on a socket that speaks both. */
const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');

/**
 * The proxies whose word about a client counts: addresses and networks with commas between them (`10.0.0.0/8, ::1`).
 * @returns undefined when the text is no such list
 */
export const parseProxies = (text: string): BlockList | undefined => {
  const proxies = new BlockList();
  for (const item of text.split(',').map(each => each.trim())) {
    if (item === '') continue;
    const [address = '', bits] = item.split('/');
    const most = isIP(address) === 4 ? 32 : 128;
    if (isIP(address) === 0 || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most)))
      return undefined;
    if (bits === undefined) proxies.addAddress(address, family(address));
    else proxies.addSubnet(address, Number(bits), family(address));
  }
  return proxies;
};

/**
 * The address a request comes from: the socket's peer or, while that is a trusted proxy, whom it names last in
 * X-Forwarded-For. Names further left were written by the client and count only when a trusted proxy stands between.
 */
export const clientAddress = (request: Pick<IncomingMessage, 'headers' | 'socket'>, proxies: BlockList): string => {
  let address = plain(request.socket.remoteAddress ?? '');
  const header = request.headers['x-forwarded-for'];
  if (header === undefined) return address; // named by nobody, it is the peer whoever that is
  const named = (Array.isArray(header) ? header.join(',') : header).split(',').map(each => plain(each.trim()));
  while (isIP(address) !== 0 && proxies.check(address, family(address))) {
    const before = named.pop() ?? '';
    if (isIP(before) === 0) break;
    address = before;
  }
  return address;
};
