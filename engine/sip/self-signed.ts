import { generateKeyPairSync, randomBytes, sign, X509Certificate, type KeyObject } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isIP, isIPv4, isIPv6 } from 'node:net';
import { join } from 'node:path';
import type { CertificateFiles } from './certificates.ts';

const DAY_MS = 86_400_000;
const VALID_DAYS = 825;
/** With less left a start makes a new one. */
const FRESH_DAYS = 30;

/**
 * The certificate an installation shows until it is given a real one: `sip.crt` and `sip.key` in `folder`, made when
 * they are missing, soon expire, or lack one of the names.
 * @param names host names and addresses phones may dial
 */
export function ownCertificate(folder: string, names: string[]): CertificateFiles {
  const files = { cert: join(folder, 'sip.crt'), key: join(folder, 'sip.key') };
  if (isGood(files, names)) return files;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { cert, key } = selfSigned(names);
  writeWhole(files.key, key, 0o600);
  writeWhole(files.cert, cert, 0o644);
  return files;
}

function writeWhole(path: string, text: string, mode: number): void {
  writeFileSync(`${path}.new`, text, { mode });
  renameSync(`${path}.new`, path);
}

function isGood({ cert, key }: CertificateFiles, names: string[]): boolean {
  try {
    readFileSync(key);
    const leaf = new X509Certificate(readFileSync(cert));
    const bears = (name: string): boolean =>
      (isIP(name) ? leaf.checkIP(name) : leaf.checkHost(name.replace(/^\*/, 'any'))) !== undefined;
    return names.every(bears) && Date.parse(leaf.validTo) - Date.now() > FRESH_DAYS * DAY_MS;
  } catch {
    return false; // missing or damaged: a new one is made
  }
}

/** A certificate of P-256 that signs itself (RFC 5280), and its key, both PEM. The first name is its subject. */
export function selfSigned(names: string[]): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signed = toBeSigned(names, publicKey);
  const signature = sign('sha256', signed, privateKey);
  const certificate = sequence(signed, ECDSA_SHA256, der(0x03, Buffer.from([0]), signature));
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** One DER element (X.690 8.1). */
function der(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const length = content.length;
  const bytes = length > 0xff ? [0x82, length >> 8, length & 0xff] : length > 0x7f ? [0x81, length] : [length];
  return Buffer.concat([Buffer.from([tag, ...bytes]), content]);
}

const sequence = (...items: Buffer[]): Buffer => der(0x30, ...items);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const TRUE = der(0x01, Buffer.from([0xff]));

/** 1.2.840.10045.4.3.2, 2.5.4.3, 2.5.29.17, 2.5.29.19 */
const ECDSA_SHA256 = sequence(oid('2a8648ce3d040302'));
const COMMON_NAME = oid('550403');
const ALTERNATIVE_NAMES = oid('551d11');
const BASIC_CONSTRAINTS = oid('551d13');

/** GeneralizedTime, `YYYYMMDDHHMMSSZ`; UTCTime before 2050 (RFC 5280 4.1.2.5). */
function time(at: number): Buffer {
  const digits = new Date(at).toISOString().replace(/[-:T]|\.\d+/g, '');
  return digits < '2050' ? der(0x17, Buffer.from(digits.slice(2))) : der(0x18, Buffer.from(digits));
}

function toBeSigned(names: string[], publicKey: KeyObject): Buffer {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40; // positive, and no leading zero
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from((names[0] ?? '').slice(0, 64))))));
  const now = Date.now();
  const alternatives = sequence(ALTERNATIVE_NAMES, der(0x04, sequence(...names.map(alternative))));
  // Phones take it as a root of trust only if it says that it is one.
  const authority = sequence(BASIC_CONSTRAINTS, TRUE, der(0x04, sequence(TRUE)));
  return sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), // version 3
    ...[der(0x02, serial), ECDSA_SHA256, name, sequence(time(now - DAY_MS), time(now + VALID_DAYS * DAY_MS)), name],
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(alternatives, authority)),
  );
}

/** A GeneralName: dNSName or iPAddress (RFC 5280 4.2.1.6). */
const alternative = (name: string): Buffer =>
  isIP(name) ? der(0x87, addressBytes(name)) : der(0x82, Buffer.from(name, 'ascii'));

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const whole = isIPv6(address) ? new URL(`http://[${address}]`).hostname.slice(1, -1) : '';
  const [before = [], after] = whole.split('::').map(half => half.split(':').filter(group => group !== ''));
  const zeros = after ? Array<string>(8 - before.length - after.length).fill('0') : [];
  const groups = [...before, ...zeros, ...(after ?? [])].map(group => parseInt(group, 16));
  return Buffer.from(groups.flatMap(group => [group >> 8, group & 0xff]));
}
