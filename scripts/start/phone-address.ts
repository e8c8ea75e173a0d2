import { networkInterfaces } from 'node:os';
import type { Settings } from './config.ts';

/** The address a phone on the network dials: the advertised one, the bound one, or the first that leads outside. */
export const phoneAddress = (settings: Settings): string => {
  if (settings.ADVERTISED_ADDRESS) return settings.ADVERTISED_ADDRESS;
  if (settings.HOST !== '0.0.0.0' && settings.HOST !== '::') return settings.HOST;
  const outside = Object.values(networkInterfaces())
    .flat()
    .find(address => address?.family === 'IPv4' && !address.internal);
  return outside?.address ?? '127.0.0.1';
};

/** The server that provisioned phones are told, `host:port`; empty when the SIP servers are not ours to know. */
export const phoneServer = (settings: Settings): string => {
  if (settings.PHONE_SERVER || settings.SIP_SERVERS) return settings.PHONE_SERVER ?? '';
  const address = phoneAddress(settings);
  const port = settings.PHONE_TRANSPORT === 'tls' ? settings.SIP_TLS_PORT : settings.SIP_PORT;
  const host = address.includes(':') ? `[${address}]` : address;
  return typeof port === 'number' ? `${host}:${port}` : host;
};
