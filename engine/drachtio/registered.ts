import { listOf } from '../sip/grammar.ts';
import { hopOfSource, type Hop, type Source } from '../sip/hop.ts';
import { headerOf, headersOf, type SipRequest, type SipResponse } from '../sip/message.ts';
import { parseNameAddr, parseUri } from '../sip/uri.ts';

const MOST = 100_000;
const MOST_A_CONNECTION = 100;
const DEFAULT_SECONDS = 3600;

const peerKey = ({ transport, host, port }: Hop): string => `${transport} ${host}:${port}`;

/** What was registered over one connection: the REGISTER and, by URI, when each Contact runs out. */
interface Registrations {
  request: SipRequest;
  contacts: Map<string, number>;
}

/** Connections under which phones registered over a stream, by user@host of their Contact (RFC 5626 in spirit). */
export class RegisteredContacts {
  readonly #known = new Map<string, { hop: Hop; until: number }>();
  /** What was registered over each connection, which is gone with it. */
  readonly #bound = new Map<string, Registrations>();

  /** Called for a 2xx to REGISTER: remembers the connection it came over for as long as the registration holds. */
  remember(request: SipRequest, response: SipResponse, source: Source): void {
    if (source.transport === 'udp') return;
    const hop = hopOfSource(source);
    const fallback = headerOf(response, 'expires') ?? headerOf(request, 'expires');
    for (const entry of listOf(headersOf(request, 'contact'))) {
      const contact = parseNameAddr(entry);
      const key = contact && contactKey(contact.uri);
      if (!key) continue;
      const seconds = Number(contact.params.get('expires') ?? fallback ?? DEFAULT_SECONDS);
      this.#bind(hop, request, contact.uri, seconds);
      if (seconds > 0) this.#store(key, hop, seconds);
      else this.#known.delete(key);
    }
  }

  #bind(hop: Hop, request: SipRequest, uri: string, seconds: number): void {
    const name = peerKey(hop);
    const found = this.#bound.get(name) ?? { request, contacts: new Map<string, number>() };
    if (seconds <= 0) found.contacts.delete(uri);
    else if (found.contacts.size < MOST_A_CONNECTION || found.contacts.has(uri))
      found.contacts.set(uri, Date.now() + seconds * 1000);
    if (found.contacts.size > 0) this.#bound.set(name, { request, contacts: found.contacts });
    else this.#bound.delete(name);
  }

  /** A connection is gone. The contacts that went with it, and a REGISTER they came by; undefined when there are none. */
  lost(peer: Hop): { request: SipRequest; uris: string[] } | undefined {
    const found = this.#bound.get(peerKey(peer));
    this.#bound.delete(peerKey(peer));
    const uris = [...(found?.contacts ?? [])].filter(([, until]) => until > Date.now()).map(([uri]) => uri);
    return found && uris.length > 0 ? { request: found.request, uris } : undefined;
  }

  #store(key: string, hop: Hop, seconds: number): void {
    this.#known.delete(key);
    this.#known.set(key, { hop, until: Date.now() + seconds * 1000 });
    if (this.#known.size <= MOST) return;
    for (const longestUnheard of this.#known.keys()) return void this.#known.delete(longestUnheard);
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
