import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext, type SecureContext, type SecureContextOptions, type TlsOptions } from 'node:tls';
import type { SipLog } from './log.ts';

/** Paths of a PEM certificate (its chain behind it) and of its key. */
export interface CertificateFiles {
  cert: string;
  key: string;
}

export interface CertificatesOptions {
  /** The first is shown to whoever asks for no name, or for one that none of them bears. */
  files: [CertificateFiles, ...CertificateFiles[]];
  /** Whether servers we connect to have to prove their name; default true. */
  verify?: boolean;
  /** How often the files are looked at, in ms; default 5000. */
  watchMs?: number;
  log: SipLog;
}

interface Loaded {
  options: SecureContextOptions;
  context: SecureContext;
  leaf: X509Certificate;
}

/** Whoever shows the certificates: a TLS or an HTTPS server. */
interface Shower {
  setSecureContext(options: SecureContextOptions): void;
}

const WATCH_MS = 5000;
const MODERN = { minVersion: 'TLSv1.2' } as const;

/**
 * The certificates of a SIP server, chosen by the name a client asks for (SNI). They are read again when a file
 * changes and on `reload`; connections that stand are not touched, and what cannot be used leaves the old in place.
 */
export class Certificates {
  readonly #options: CertificatesOptions;
  readonly #showers: Shower[] = [];
  readonly #watch: NodeJS.Timeout;
  #loaded: [Loaded, ...Loaded[]];
  #seen: string;

  /** @throws Error with a sentence when a file cannot be read or a key does not fit its certificate */
  constructor(options: CertificatesOptions) {
    this.#options = options;
    this.#seen = this.#stamp();
    this.#loaded = this.#load();
    this.#watch = setInterval(() => this.#look(), options.watchMs ?? WATCH_MS).unref();
  }

  /** For listeners of ours, whichever name they are asked for. */
  serverOptions(): TlsOptions {
    return { ...this.#loaded[0].options, SNICallback: (name, done) => done(null, this.#contextFor(name)) };
  }

  /** For connections of ours; a peer that asks for a certificate sees the first one. */
  clientOptions(): SecureContextOptions & { rejectUnauthorized: boolean } {
    return { ...this.#loaded[0].options, rejectUnauthorized: this.#options.verify ?? true };
  }

  /** From now on this server shows what is loaded. */
  follow(server: Shower): void {
    this.#showers.push(server);
  }

  /** Reads the files again. False, with a line in the log, when they cannot be used. */
  reload(): boolean {
    const { log } = this.#options;
    this.#seen = this.#stamp();
    try {
      this.#loaded = this.#load();
    } catch (error) {
      log.error({ err: error }, 'the new certificate cannot be used; the old one stays');
      return false;
    }
    for (const server of this.#showers) server.setSecureContext(this.#loaded[0].options);
    log.info({ valid_to: this.#loaded.map(one => one.leaf.validTo) }, 'certificates read again');
    return true;
  }

  /** Looks at the files no more. */
  stop(): void {
    clearInterval(this.#watch);
  }

  #look(): void {
    if (this.#stamp() !== this.#seen) this.reload();
  }

  /** Changes when a file does; renaming a new one into place, as certbot does with links, counts. */
  #stamp(): string {
    const stampOf = (path: string): string => {
      const found = statSync(path, { throwIfNoEntry: false });
      return found ? `${found.ino} ${found.mtimeMs} ${found.size}` : 'gone';
    };
    return this.#options.files.flatMap(({ cert, key }) => [stampOf(cert), stampOf(key)]).join();
  }

  #load(): [Loaded, ...Loaded[]] {
    const [first, ...others] = this.#options.files;
    return [read(first), ...others.map(read)];
  }

  #contextFor(name: string): SecureContext {
    return (this.#loaded.find(one => one.leaf.checkHost(name) !== undefined) ?? this.#loaded[0]).context;
  }
}

function read({ cert, key }: CertificateFiles): Loaded {
  try {
    const options = { ...MODERN, cert: readFileSync(cert), key: readFileSync(key) };
    return { options, context: createSecureContext(options), leaf: new X509Certificate(options.cert) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`the certificate ${cert} with the key ${key} cannot be used: ${why}`, { cause: error });
  }
}
