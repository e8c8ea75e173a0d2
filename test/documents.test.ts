import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { openApiDocument } from '../control-api/openapi.ts';
import { ROOT } from './support/sources.ts';

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: ROOT })
  .toString()
  .trim()
  .split('\n')
  .filter(path => existsSync(join(ROOT, path)));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const documents = files.filter(path => path.endsWith('.md')).map(path => ({ path, text: read(path) }));
const product = files.filter(path => !path.startsWith('test/') && /\.(ts|lua|xml|yml|json)$/.test(path)).map(read);

/** Words of others that documents speak of, besides FreeSWITCH's modules (`mod_…`): programs, what the engine does not do, and what a carrier adapter answers. */
const FOREIGN_WORDS = new Set([
  'pg_dump',
  'json_list',
  'xml_list',
  'TEST_LOG_LEVEL',
  'uuid_buglist',
  'uuid_hold',
  'RECORD_PRE_BUFFER_FRAMES',
]);
const FOREIGN_OPERATIONS = /^(GET \/numbers\/available|(POST|DELETE) \/connections)\b/;

/** What stands in a document between backticks on one line, and the lines of its examples. */
const spans = (text: string): string[] =>
  [...text.matchAll(/^```\w*\n([\s\S]*?)^```|`([^`\n]+)`/gm)].flatMap(
    ([, block, span]) => block?.split('\n') ?? [span ?? ''],
  );

/** Fails with every place of a document at which `wrong` finds something. */
const noDocument = (wrong: (document: { path: string; text: string }) => string[]): void =>
  assert.deepEqual(
    documents.flatMap(document => wrong(document).map(one => `${document.path}: ${one}`)),
    [],
  );

/** The anchor that a heading gets on a page. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const anchors = (text: string): string[] =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading ?? ''));

describe('documents', () => {
  it('link to files and headings that are there', () => {
    noDocument(({ path, text }) =>
      [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(([link, target = '', anchor]) => {
        const file = target === '' ? path : normalize(join(dirname(path), target));
        if (!existsSync(join(ROOT, file))) return [link];
        return anchor === undefined || anchors(read(file)).includes(anchor) ? [] : [link];
      }),
    );
  });

  it('name files and folders that are there', () => {
    const known = new Set(files.flatMap(path => path.split('/').map((_, at, parts) => parts.slice(at).join('/'))));
    const rooms = new Set(files.map(path => path.split('/')[0] ?? ''));
    noDocument(({ path, text }) =>
      spans(text).filter(span => {
        if (/^[\w./-]+\.(ts|md|xml|yml)$/.test(span))
          return !known.has(normalize(span)) && !existsSync(join(ROOT, dirname(path), span));
        return (
          /^[\w-]+(\/[\w-]+)+\/?$/.test(span) && rooms.has(span.split('/')[0] ?? '') && !existsSync(join(ROOT, span))
        );
      }),
    );
  });

  it('name commands that there are', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    noDocument(({ text }) =>
      spans(text).filter(span => {
        const [, script, bench] = /\bnpm (?:run )?(start|test|(?<=run )[\w-]+)(?: -- ([a-z-]+))?/.exec(span) ?? [];
        if (script === undefined) return false;
        return (
          !(script in scripts) ||
          (script === 'bench' && bench !== undefined && !files.includes(`scripts/bench/${bench}.ts`))
        );
      }),
    );
  });

  it('spell settings, fields, events and reasons as the code does', () => {
    const words = new Set([...FOREIGN_WORDS, ...product.flatMap(text => text.match(/\w+/g) ?? [])]);
    noDocument(({ text }) =>
      spans(text).filter(span => /^(?!mod_)[A-Za-z]+(_[A-Za-z0-9]+)+$/.test(span) && !words.has(span)),
    );
  });

  it('name operations of the API that there are', () => {
    const shape = (path: string): string => path.replace(/\{\w+\}/g, '*').replace(/\?.*$/, '');
    const { paths } = openApiDocument() as { paths: Record<string, object> };
    const operations = new Set(
      Object.entries(paths).flatMap(([path, item]) =>
        Object.keys(item).map(method => `${method.toUpperCase()} ${shape(path.replace(/^\/v1\.0/, ''))}`),
      ),
    );
    noDocument(({ text }) =>
      spans(text).filter(span => {
        const [, method, path = ''] = /^(GET|POST|PUT|DELETE) (?:\/v1\.0)?(\/\S+)$/.exec(span) ?? [];
        return method !== undefined && !FOREIGN_OPERATIONS.test(span) && !operations.has(`${method} ${shape(path)}`);
      }),
    );
  });
});
