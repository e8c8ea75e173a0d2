import { headerOf } from '../../sip/message.ts';
import type { ServerTransaction } from '../../sip/transactions/server.ts';
import { parseNameAddr, parseUri } from '../../sip/uri.ts';
import { protocolOf } from '../announce.ts';
import { readInstruction, type Instruction } from './instruction.ts';

/** In which the whole exchange has to be over. */
const ASK_MS = 3000;
const MOST_BYTES = 65_536;

/** Asks an HTTP server for the way of a request. Undefined, when it gives no usable order. Rejects when it cannot be reached. */
export async function ask(url: string, asked: ServerTransaction): Promise<Instruction | undefined> {
  const signal = AbortSignal.timeout(ASK_MS);
  const response = await fetch(`${url.replace(/\/+$/, '')}/?${query(asked).toString()}`, {
    signal,
    redirect: 'error',
  });
  return readInstruction(await textOf(response));
}

async function textOf({ body }: Response): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MOST_BYTES) return '';
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks).toString();
}

/** What is told of the request, and behind it the parameters of its URI. */
function query({ request, source }: ServerTransaction): URLSearchParams {
  const uri = parseUri(request.uri);
  const userOf = (name: string): string =>
    parseUri(parseNameAddr(headerOf(request, name) ?? '')?.uri ?? '')?.user ?? '';
  const told = new URLSearchParams({
    ...{ method: request.method, domain: uri?.host ?? '', protocol: protocolOf(source) },
    ...{ source_address: source.address, fromUser: userOf('from'), toUser: userOf('to'), uriUser: uri?.user ?? '' },
    ...{ contentType: headerOf(request, 'content-type') ?? '', uri: request.uri },
  });
  for (const [name, value] of uri?.params ?? []) told.append(name, value);
  return told;
}
