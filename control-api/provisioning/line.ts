import type { Db } from '../db.ts';

/** How provisioned phones reach us: SIP over UDP, TCP or TLS. */
export const TRANSPORTS = ['udp', 'tcp', 'tls'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** Where provisioned phones of this installation register. */
export interface PhoneAccess {
  /** `host` or `host:port`; empty when the domain of the extension leads here by DNS. */
  server: string;
  transport: Transport;
}

/** All that a phone is told about its line. */
export interface Line {
  username: string;
  password: string;
  domain: string;
  /** Without control characters. */
  display_name: string;
  transport: Transport;
  /** Where requests go; `outbound` is false when that is the domain itself. */
  server: { host: string; port: number; outbound: boolean };
}

interface ExtensionRow {
  extension: string;
  username: string;
  password: string;
  name: string;
  domain_name: string;
}

/** Formats without a way to write them, and XML, know no control characters. */
const printable = (text: string): string => text.replace(/[\p{Cc}\p{Cs}\p{Cn}]/gu, ' ').trim();

const serverOf = ({ server, transport }: PhoneAccess, domain: string): Line['server'] => {
  const usual = transport === 'tls' ? 5061 : 5060;
  const [, host = domain, port] = /^(\[[^\]]+\]|[^:]+)(?::(\d+))?$/.exec(server) ?? [];
  return { host, port: port === undefined ? usual : Number(port), outbound: server !== '' };
};

/** The line of a live extension whose customer is active; undefined when there is none. */
export const findLine = async (db: Db, extensionId: string, access: PhoneAccess): Promise<Line | undefined> => {
  const row = await db('extensions')
    .join('customers', 'customers.id', 'extensions.customer_id')
    .where({ 'extensions.id': extensionId, 'customers.status': 'active' })
    .whereNull('extensions.tm_delete')
    .first<ExtensionRow | undefined>('extensions.*');
  if (!row) return undefined;
  const { username, password, domain_name: domain } = row;
  const { transport } = access;
  const display_name = printable(row.name) || row.extension;
  return { username, password, domain, display_name, transport, server: serverOf(access, domain) };
};

/** `host:port` of the server. */
export const hostPort = ({ server }: Line): string => `${server.host}:${server.port}`;
