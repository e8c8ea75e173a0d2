import { strict as assert } from 'node:assert';
import { basename, dirname } from 'node:path';
import ts from 'typescript';
import { readSources, type Source } from './support/sources.ts';

/** Which rooms a room may import. Tests may look everywhere. */
const MAY_IMPORT: Record<string, string[]> = {
  client: [],
  contract: [],
  flow: ['contract'],
  outbound: ['contract'],
  process: [],
  'control-api': ['contract', 'flow', 'outbound', 'process'],
  'media-app': ['contract', 'flow', 'outbound', 'process'],
  engine: [],
  scripts: ['contract', 'flow', 'control-api', 'media-app', 'outbound', 'process', 'engine', 'test'], // the bench drives the tests' stack and phones
  test: ['client', 'contract', 'flow', 'control-api', 'media-app', 'outbound', 'process', 'engine', 'scripts'],
};

/** Packages that the pure rooms and the engine may use, besides Node. */
const PACKAGES: Record<string, RegExp> = {
  client: /^node:(crypto|timers\/promises)$/,
  contract: /^(zod|uuid|node:crypto)$/,
  flow: /^(zod|node:(buffer|crypto))$/,
  outbound: /^(node:.+|undici)$/,
  process: /^(zod|pino|node:fs)$/,
  engine: /^(node:.+|zod|pino|sdp-transform|ws|@evan\/opus|werift)$/,
};

/** Where each big library lives. */
const LIBRARY_ROOMS: [library: RegExp, where: RegExp][] = [
  [/^express$/, /^control-api\/http\//],
  [/^knex$/, /^control-api\//],
  [/^undici$/, /^(outbound|control-api\/storage)\//],
  [/^pino$/, /^(process|engine)\//],
  [/^aws4fetch$/, /^control-api\/storage\//],
  [/^@fastify\/busboy$/, /^control-api\/http\//],
  [/^bullmq$/, /^(control-api\/(commands\.ts|jobs\/)|media-app\/commands\/)/],
  [/^drachtio-srf$/, /^media-app\/sip\//],
  [/^drachtio-fsmrf$/, /^media-app\/media\//],
  [/^@evan\/opus$/, /^engine\/media\/codecs\//],
  [/^werift$/, /^engine\/media\/secure\//],
  [
    /^ws$/,
    /^(control-api\/(events|streams)|engine\/freeswitch\/audio-fork|engine\/sip\/transports|media-app|scripts\/phone)\//,
  ],
];

/** The bench drives a bare script beside ours, and tests drive the engine with the real libraries. */
const OUTSIDE_LIBRARY_ROOMS = /^(test|scripts\/bench)\//;

const BANNED_WORDS = new Set([
  'util',
  'utils',
  'helper',
  'helpers',
  'common',
  'misc',
  'manager',
  'service',
  'base',
  'impl',
]);

/** Named as on the wire: actions, and the media server's applications and commands. Migrations sort by number. */
const WIRE_NAMES =
  /^(flow\/actions|engine\/freeswitch\/(applications|api)|media-app\/commands|control-api\/migrations|test\/.*)\//;

/** Folders whose index must list every file beside it. */
const LISTED = ['flow/actions', 'engine/freeswitch/applications', 'engine/freeswitch/api'];

/** Files that are run or loaded by their place, not imported. */
const ENTRIES = /(^|\/)main\.ts$|^control-api\/migrations\/\d|\.test\.ts$|\.d\.ts$|^scripts\/test\/lane\.ts$/;

/** Written by a script from another source of truth. */
const GENERATED = 'client/types.ts';

const MAX_FILE_LINES = 500;
const MAX_FUNCTION_LINES = 60;

const sources = readSources();
const product = sources.filter(source => source.room !== 'test');
const byPath = new Map(sources.map(source => [source.path, source]));

const offences = (found: (source: Source) => string[], among: Source[] = sources): string[] =>
  among.flatMap(source => found(source).map(text => `${source.path}: ${text}`));

const none = (list: string[]): void => assert.deepEqual(list, []);

const positions = (source: Source, pattern: RegExp): string[] =>
  source.text.split('\n').flatMap((line, index) => (pattern.test(line) ? [`line ${index + 1}: ${line.trim()}`] : []));

describe('tidy: who may import whom', () => {
  it('rooms import only the rooms they may', () => {
    none(
      offences(source =>
        source.imports.flatMap(({ path, spelled }) => {
          const room = path?.split('/')[0];
          if (room === undefined || room === source.room || MAY_IMPORT[source.room]?.includes(room)) return [];
          return [`imports ${spelled}`];
        }),
      ),
    );
  });

  it('the small rooms and the engine use only the packages they may', () => {
    none(
      offences(source => {
        const allowed = PACKAGES[source.room];
        if (!allowed) return [];
        return source.imports
          .filter(one => one.path === undefined && !allowed.test(one.spelled))
          .map(one => `imports ${one.spelled}`);
      }),
    );
  });

  it('each big library lives in its room', () => {
    none(
      offences(source =>
        LIBRARY_ROOMS.filter(
          ([, where]) => !where.test(source.path) && !OUTSIDE_LIBRARY_ROOMS.test(source.path),
        ).flatMap(([library]) =>
          source.imports.filter(one => !one.typeOnly && library.test(one.spelled)).map(one => `imports ${one.spelled}`),
        ),
      ),
    );
  });

  it('the phone shares no code with the engine it tests', () => {
    const phones = sources.filter(source => /^(scripts\/phone\/|test\/support\/(phone|ear))/.test(source.path));
    none(
      offences(
        source => source.imports.filter(one => one.path?.startsWith('engine/')).map(one => `imports ${one.spelled}`),
        phones,
      ),
    );
  });

  it('imports across rooms are spelled #contract, #flow, #outbound and #process', () => {
    const rooms = product.filter(source => source.room !== 'scripts');
    none(
      offences(
        source =>
          source.imports
            .filter(one => one.spelled.startsWith('.') && one.path?.split('/')[0] !== source.room)
            .map(one => `imports ${one.spelled}`),
        rooms,
      ),
    );
  });

  it('no file imports itself round a corner', () => {
    const done = new Set<string>();
    const cycles: string[] = [];
    const visit = (path: string, trail: string[]): void => {
      if (trail.includes(path)) return void cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
      if (done.has(path)) return;
      for (const one of byPath.get(path)?.imports ?? [])
        if (one.path && !one.typeOnly) visit(one.path, [...trail, path]);
      done.add(path);
    };
    for (const source of sources) visit(source.path, []);
    none(cycles);
  });

  it('every import leads to a file', () => {
    none(
      offences(source =>
        source.imports
          .filter(one => one.path?.endsWith('.ts') && !byPath.has(one.path))
          .map(one => `imports ${one.spelled}`),
      ),
    );
  });

  it('what a file exports, another one imports', () => {
    const imports = sources.flatMap(source => source.imports);
    const whole = new Set(imports.filter(one => one.names === undefined).map(one => one.path));
    const wanted = new Set(imports.flatMap(one => (one.names ?? []).map(name => `${one.path} ${name}`)));
    none(
      offences(
        source =>
          whole.has(source.path) || ENTRIES.test(source.path)
            ? []
            : exportedValues(source).filter(name => !wanted.has(`${source.path} ${name}`)),
        product,
      ),
    );
  });

  it('every file is used', () => {
    const used = new Set(sources.flatMap(source => source.imports.map(one => one.path)));
    const started = (path: string): boolean =>
      sources.some(one => one.path !== path && one.text.includes(`${basename(path)}'`));
    none(
      product.map(source => source.path).filter(path => !ENTRIES.test(path) && !used.has(path) && !started(path)), // started: run as a process by its name
    );
  });
});

describe('tidy: names and shape', () => {
  it('files are named in kebab-case, or as on the wire', () => {
    none(
      sources
        .filter(({ path }) => {
          const name = basename(path).replace(/(\.test|\.d)?\.ts$/, '');
          return !(WIRE_NAMES.test(path) ? /^[a-z0-9]+([_-][a-z0-9]+)*$/ : /^[a-z0-9]+(-[a-z0-9]+)*$/).test(name);
        })
        .map(source => source.path),
    );
  });

  it('nothing is called utils, helpers, common, misc, manager, service, base or impl', () => {
    none(
      sources
        .filter(({ path }) => path.split(/[/.]/).some(part => part.split(/[-_]/).some(word => BANNED_WORDS.has(word))))
        .map(source => source.path),
    );
    none(
      offences(source =>
        positions(
          source,
          /^\s*(export )?(abstract )?(class|interface|type) \w*(Manager|Service|Base|Impl|Helpers?|Utils?)\b/,
        ),
      ),
    );
  });

  it(`no file is longer than ${MAX_FILE_LINES} lines without saying why`, () => {
    none(
      product
        .filter(
          source =>
            source.lines > MAX_FILE_LINES && source.path !== GENERATED && !/^\/\/ Long because /m.test(source.text),
        )
        .map(source => `${source.path}: ${source.lines} lines`),
    );
  });

  it(`no function is longer than ${MAX_FUNCTION_LINES} lines`, () => {
    none(offences(longFunctions, product));
  });

  it('there are no default exports', () => {
    none(
      offences(source =>
        source.path.endsWith('.d.ts') ? [] : positions(source, /^export default\b|\bexport \{[^}]*\bas default\b/),
      ),
    );
  });

  it('every action and every command of the media server is in its index', () => {
    const importedIn = (folder: string, by: (name: string) => boolean): Set<string | undefined> =>
      new Set(
        sources
          .filter(one => dirname(one.path) === folder && by(basename(one.path)))
          .flatMap(one => one.imports.map(({ path }) => path)),
      );
    none(
      LISTED.flatMap(folder => {
        const listed = importedIn(folder, name => name === 'index.ts');
        const shared = importedIn(folder, name => name !== 'index.ts'); // pieces that several of them use
        return sources
          .map(source => source.path)
          .filter(
            path => dirname(path) === folder && basename(path) !== 'index.ts' && !listed.has(path) && !shared.has(path),
          );
      }),
    );
  });
});

describe('tidy: habits', () => {
  it('functions and classes that others import say what they do', () => {
    const migrations = /^control-api\/migrations\/\d/; // each says it above its statements
    none(offences(source => (migrations.test(source.path) ? [] : silentExports(source)), product));
  });

  it('the environment is read in config.ts, or handed to it by main.ts', () => {
    const rooms = product.filter(source => source.room !== 'scripts' && !/(^|\/)(config|main)\.ts$/.test(source.path));
    none(offences(source => positions(source, /\bprocess\.env\b/), rooms));
  });

  it('nothing is left to be done later', () => {
    none(
      offences(source => (source.path === 'test/tidy.test.ts' ? [] : positions(source, /\b(TODO|FIXME|XXX|HACK)\b/))),
    );
  });

  it('no test runs alone', () => {
    none(
      offences(
        source => positions(source, /\b(describe|it|context)\.only\(/),
        sources.filter(source => source.path !== 'test/tidy.test.ts'),
      ),
    );
  });

  it('lint rules are switched off only with a reason beside', () => {
    none(
      offences(
        source =>
          positions(
            source,
            /(eslint-disable|@ts-ignore|@ts-nocheck)(?!-next-line @typescript-eslint\/no-explicit-any)(?!.*--)/,
          ),
        product,
      ),
    );
  });
});

const isExported = (statement: ts.Statement): boolean =>
  ts.canHaveModifiers(statement) &&
  (ts.getModifiers(statement)?.some(one => one.kind === ts.SyntaxKind.ExportKeyword) ?? false);

/** Names of the values (no types) that a statement declares. */
function namesIn(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement)) return statement.declarationList.declarations.map(one => one.name.getText());
  return ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement) ? [statement.name?.text ?? ''] : [];
}

const exportedValues = (source: Source): string[] => source.tree.statements.filter(isExported).flatMap(namesIn);

/** Exported functions and classes without a comment of their own. */
function silentExports(source: Source): string[] {
  const acts = (statement: ts.Statement): boolean =>
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    (ts.isVariableStatement(statement) &&
      statement.declarationList.declarations.some(one => one.initializer && ts.isArrowFunction(one.initializer)));
  return source.tree.statements
    .filter(one => isExported(one) && acts(one) && ts.getJSDocCommentsAndTags(one).length === 0)
    .flatMap(namesIn);
}

function longFunctions(source: Source): string[] {
  const found: string[] = [];
  const lineOf = (position: number): number => source.tree.getLineAndCharacterOfPosition(position).line + 1;
  const visit = (node: ts.Node): void => {
    const body = ts.isFunctionLike(node) ? (node as { body?: ts.Node }).body : undefined;
    const length = body ? lineOf(body.end) - lineOf(node.getStart()) + 1 : 0;
    if (length > MAX_FUNCTION_LINES) found.push(`line ${lineOf(node.getStart())}: a function of ${length} lines`);
    ts.forEachChild(node, visit);
  };
  visit(source.tree);
  return found;
}
