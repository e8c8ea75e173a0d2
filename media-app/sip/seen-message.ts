/** One end of a SIP message's way; empty and 0 where the SIP server does not say. */
export interface SipAddress {
  address: string;
  port: number;
}

/** One SIP message as the SIP server showed it. */
export interface SeenMessage {
  direction: 'received' | 'sent';
  transport: string;
  peer: SipAddress;
  local: SipAddress;
  text: string;
}

const NOWHERE: SipAddress = { address: '', port: 0 };

const addressOf = (address = '', port = ''): SipAddress =>
  address ? { address: address.replace(/^\[|\]$/g, ''), port: Number(port) || 0 } : NOWHERE;

/** Something we sent: over UDP the server names its own address with a request, everywhere else the peer's. */
const sent = (transport: string, address: SipAddress, text: string): SeenMessage => {
  const own = transport === 'udp' && !text.startsWith('SIP/2.0 ');
  const [local, peer] = own ? [address, NOWHERE] : [NOWHERE, address];
  return { direction: 'sent', transport, peer, local, text };
};

/**
 * Reads a message of the admin protocol: `id|sip|source|size|transport|address|port|time|transaction|dialog|…` for what
 * the server received, `id|response|to|OK|source|size|transport|address|port|…` for what it sent for us. `undefined` for
 * everything that is no SIP on the wire.
 */
export const readSeenMessage = (message: string): SeenMessage | undefined => {
  const end = message.indexOf('\r\n');
  if (end < 0) return undefined;
  const [, kind, source, ...rest] = message.slice(0, end).split('|');
  const text = message.slice(end + 2);
  if (text === '') return undefined;
  if (kind === 'response') {
    const [ok, , , transport = '', address, port] = rest;
    return ok === 'OK' ? sent(transport, addressOf(address, port), text) : undefined;
  }
  const [, transport = '', address, port, , , , localAddress, localPort] = rest;
  if (kind !== 'sip' || !address) return undefined; // without an address the server made it up itself
  if (source === 'application') return sent(transport, addressOf(address, port), text);
  const [peer, local] = [addressOf(address, port), addressOf(localAddress, localPort)];
  return { direction: 'received', transport, peer, local, text };
};
