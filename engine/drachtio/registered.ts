import { listOf } from '../sip/grammar.ts';
import type { Hop, Source } from '../sip/hop.ts';
import { headerOf, headersOf, type SipRequest, type SipResponse } from '../sip/message.ts';
import { parseNameAddr, parseUri } from '../sip/uri.ts';

const MOST = 100_000;
const DEFAULT_SECONDS = 3600;

/** Connections under which phones registered over a stream, by user@host of their Contact (RFC 5626 in spirit). */
export class RegisteredContacts {
  readonly #known = new Map<string, { hop: Hop; until: number }>();

  /** Called for a 2xx to REGISTER: remembers the connection it came over for as long as the registration holds. */
  remember(request: SipRequest, response: SipResponse, source: Source): void {
    if (source.transport === 'udp') return;
    const hop: Hop = { transport: source.transport, host: source.address, port: source.port };
    const fallback = headerOf(response, 'expires') ?? headerOf(request, 'expires');
    for (const entry of listOf(headersOf(request, 'contact'))) {
      const contact = parseNameAddr(entry);
      const key = contact && contactKey(contact.uri);
      if (!key) continue;
      const seconds = Number(contact.params.get('expires') ?? fallback ?? DEFAULT_SECONDS);
      if (seconds > 0) this.#store(key, hop, seconds);
      else this.#known.delete(key);
    }
  }

  #store(key: string, hop: Hop, seconds: number): void {
    if (this.#known.size >= MOST) this.#sweep();
    if (this.#known.size < MOST) this.#known.set(key, { hop, until: Date.now() + seconds * 1000 });
  }

  #sweep(): void {
    for (const [key, one] of this.#known) if (one.until < Date.now()) this.#known.delete(key);
  }

  /** The connection behind a request URI, if one was remembered and its time is not over. */
  hopFor(uri: string): Hop | undefined {
    const key = contactKey(uri);
    const found = key === undefined ? undefined : this.#known.get(key);
    return found && found.until > Date.now() ? found.hop : undefined;
  }
}

function contactKey(text: string): string | undefined {
  const uri = parseUri(text);
  return uri && uri.scheme !== 'tel' ? `${uri.user ?? ''}@${uri.host.toLowerCase()}:${uri.port ?? 0}` : undefined;
}
