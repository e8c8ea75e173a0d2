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

/** The success response to a check, telling where it came from (RFC 8489 sections 14.2, 14.5 and 14.7). IPv4 only. */
export function answerCheck(check: Check, from: { address: string; port: number }, password: string): Buffer | null {
  if (!isIPv4(from.address)) return null;
  const response = Buffer.alloc(headerBytes + 12 + 4 + integrityBytes + 8);
  response.writeUInt16BE(bindingSuccess, 0);
  response.writeUInt32BE(cookie, 4);
  check.transaction.copy(response, 8);
  writeMappedAddress(response, headerBytes, from);
  const integrityAt = headerBytes + 12;
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

function writeMappedAddress(response: Buffer, at: number, { address, port }: { address: string; port: number }): void {
  response.writeUInt16BE(attributes.mappedAddress, at);
  response.writeUInt16BE(8, at + 2);
  response.writeUInt16BE(1, at + 4);
  response.writeUInt16BE(port ^ (cookie >>> 16), at + 6);
  const number = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  response.writeUInt32BE((number ^ cookie) >>> 0, at + 8);
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
