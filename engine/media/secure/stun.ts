import { createHmac, timingSafeEqual } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { crc32 } from 'node:zlib';
import type { IceCredentials } from './protection.ts';

const headerBytes = 20;
const cookie = 0x2112a442;
const bindingRequest = 0x0001;
const bindingSuccess = 0x0101;
const attributes = { username: 0x0006, integrity: 0x0008, mappedAddress: 0x0020, useCandidate: 0x0025, print: 0x8028 };
const integrityBytes = 20;
const printMask = 0x5354554e;
const maxBytes = 1500;

/** A connectivity check that has proved that it knows our password. */
export interface Check {
  transaction: Buffer;
  /** The controlling side has chosen the path that this came over (RFC 8445 section 7.3.1.5). */
  nominates: boolean;
}

/** Reads a connectivity check for these credentials (RFC 8445 section 7.3); null for anything else, forged ones among it. */
export function readCheck(packet: Buffer, { fragment, password }: IceCredentials): Check | null {
  if (packet.length < headerBytes || packet.length > maxBytes || packet.readUInt16BE(0) !== bindingRequest) return null;
  if (packet.readUInt32BE(4) !== cookie || packet.readUInt16BE(2) + headerBytes !== packet.length) return null;
  let username = '';
  let nominates = false;
  for (let at = headerBytes; at + 4 <= packet.length;) {
    const type = packet.readUInt16BE(at);
    const value = packet.subarray(at + 4, at + 4 + packet.readUInt16BE(at + 2));
    if (type === attributes.username) username = value.toString('utf8');
    if (type === attributes.useCandidate) nominates = true;
    if (type === attributes.integrity) {
      const known = username.split(':')[0] === fragment && isAuthentic(packet, at, value, password);
      return known ? { transaction: Buffer.from(packet.subarray(8, headerBytes)), nominates } : null;
    }
    at += 4 + Math.ceil(packet.readUInt16BE(at + 2) / 4) * 4;
  }
  return null;
}

/** The success response to a check, telling where it came from (RFC 8489 sections 14.2, 14.5 and 14.7). */
export function answerCheck(check: Check, from: { address: string; port: number }, password: string): Buffer {
  const address = addressBytes(from.address);
  const response = Buffer.alloc(headerBytes + 8 + address.length + 4 + integrityBytes + 8);
  response.writeUInt16BE(bindingSuccess, 0);
  response.writeUInt32BE(cookie, 4);
  check.transaction.copy(response, 8);
  writeMappedAddress(response, headerBytes, address, from.port);
  const integrityAt = headerBytes + 8 + address.length;
  response.writeUInt16BE(attributes.integrity, integrityAt);
  response.writeUInt16BE(integrityBytes, integrityAt + 2);
  integrityOf(response, integrityAt, password).copy(response, integrityAt + 4);
  const printAt = integrityAt + 4 + integrityBytes;
  response.writeUInt16BE(response.length - headerBytes, 2);
  response.writeUInt16BE(attributes.print, printAt);
  response.writeUInt16BE(4, printAt + 2);
  response.writeUInt32BE((crc32(response.subarray(0, printAt)) ^ printMask) >>> 0, printAt + 4);
  return response;
}

/** XOR-MAPPED-ADDRESS: the address under the cookie, and behind its four bytes under the transaction (RFC 8489 section 14.2). */
function writeMappedAddress(response: Buffer, at: number, address: Buffer, port: number): void {
  response.writeUInt16BE(attributes.mappedAddress, at);
  response.writeUInt16BE(4 + address.length, at + 2);
  response.writeUInt16BE(address.length === 4 ? 1 : 2, at + 4);
  response.writeUInt16BE(port ^ (cookie >>> 16), at + 6);
  for (const [index, byte] of address.entries()) response[at + 8 + index] = byte ^ (response[4 + index] ?? 0);
}

/** The four or sixteen bytes of an address. */
function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [front = '', back] = address.split('%', 1)[0]?.split('::') ?? [];
  const groups = (text: string | undefined): string[] => (text ? text.split(':') : []);
  const [first, last] = [groups(front), groups(back)];
  const all = [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last];
  return Buffer.from(all.flatMap(group => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]));
}

function isAuthentic(packet: Buffer, at: number, value: Buffer, password: string): boolean {
  return value.length === integrityBytes && timingSafeEqual(value, integrityOf(packet, at, password));
}

/** The HMAC over everything before the attribute at `at`, with a length that ends behind it (RFC 8489 section 14.5). */
function integrityOf(packet: Buffer, at: number, password: string): Buffer {
  const covered = Buffer.from(packet.subarray(0, at));
  covered.writeUInt16BE(at + 4 + integrityBytes - headerBytes, 2);
  return createHmac('sha1', password).update(covered).digest();
}
