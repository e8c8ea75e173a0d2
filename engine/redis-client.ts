import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** What Redis answers: text, a number, nothing, or a list of those. */
export type RedisAnswer = string | number | null | Error | RedisAnswer[];

const PATIENCE_MS = 3000;
/** An answer longer than this is none of ours. */
const MOST_BYTES = 16 * 1024 * 1024;

const encode = (words: string[]): string =>
  `*${words.length}\r\n${words.map(word => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;

/** One answer from the beginning of a buffer and where it ends; undefined when it is not whole yet. */
const readAnswer = (data: Buffer, at = 0): { answer: RedisAnswer; end: number } | undefined => {
  const line = data.indexOf('\r\n', at);
  if (line < 0) return undefined;
  const [kind, text, end] = [String.fromCharCode(data[at] ?? 0), data.toString('utf8', at + 1, line), line + 2];
  if (kind === '*') return readList(data, Number(text), end);
  if (kind === '$') return readText(data, Number(text), end);
  if (kind === '-') return { answer: new Error(text), end };
  return { answer: kind === ':' ? Number(text) : text, end };
};

const readText = (data: Buffer, bytes: number, at: number): { answer: RedisAnswer; end: number } | undefined => {
  if (bytes < 0) return { answer: null, end: at };
  const end = at + bytes + 2;
  return data.length < end ? undefined : { answer: data.toString('utf8', at, at + bytes), end };
};

const readList = (data: Buffer, count: number, at: number): { answer: RedisAnswer; end: number } | undefined => {
  const answer: RedisAnswer[] = [];
  let end = at;
  for (let left = count; left > 0; left--) {
    const item = readAnswer(data, end);
    if (!item) return undefined;
    answer.push(item.answer);
    end = item.end;
  }
  return { answer, end };
};

/** The commands that a connection begins with, by its URL: `redis://user:password@host:port/0`. */
const greeting = ({ username, password, pathname }: URL): string[][] => {
  const words = [username, password].filter(Boolean).map(decodeURIComponent);
  const database = pathname.slice(1);
  return [...(password ? [['AUTH', ...words]] : []), ...(database ? [['SELECT', database]] : [])];
};

/**
 * A few commands to Redis on a connection of their own: enough to read a list now and then, and no client library.
 * Rejects when Redis is away, is too slow, or refuses a command.
 */
export const askRedis = (url: URL, commands: string[][]): Promise<RedisAnswer[]> =>
  new Promise((resolve, reject) => {
    const all = [...greeting(url), ...commands];
    const place = { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 6379) };
    const socket: Socket = url.protocol === 'rediss:' ? connectTls(place) : connect(place);
    const answers: RedisAnswer[] = [];
    let data = Buffer.alloc(0);
    const done = (error?: Error): void => {
      socket.destroy();
      if (error) reject(error);
      else resolve(answers.slice(-commands.length));
    };
    socket.setTimeout(PATIENCE_MS, () => done(new Error('Redis did not answer in time')));
    socket.on('error', done);
    socket.on('close', () => done(new Error('Redis closed the connection')));
    socket.on('data', chunk => {
      data = Buffer.concat([data, chunk]);
      if (data.length > MOST_BYTES) return done(new Error('Redis answered too much'));
      for (let one = readAnswer(data); one; one = readAnswer(data)) {
        if (one.answer instanceof Error) return done(one.answer);
        answers.push(one.answer);
        data = data.subarray(one.end);
      }
      if (answers.length === all.length) done();
    });
    socket.write(all.map(encode).join(''));
  });
