import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The rooms that hold our own TypeScript. */
const ROOMS = [
  'client',
  'contract',
  'flow',
  'control-api',
  'media-app',
  'outbound',
  'process',
  'engine',
  'scripts',
  'test',
] as const;

/** One import of a file: what it spells, where that leads inside the project, whether only types cross, and which names. */
export interface Import {
  spelled: string;
  path: string | undefined;
  typeOnly: boolean;
  /** As their file calls them; undefined when everything comes. */
  names: string[] | undefined;
}

/** One source file, parsed. `path` is relative to the project, with forward slashes. */
export interface Source {
  path: string;
  room: string;
  text: string;
  lines: number;
  tree: ts.SourceFile;
  imports: Import[];
}

const resolveImport = (from: string, spelled: string): string | undefined => {
  if (spelled.startsWith('.')) return normalize(join(dirname(from), spelled));
  const room = /^#(contract|flow|outbound|process)\/(.+)$/.exec(spelled);
  return room ? `${room[1]}/${room[2]}.ts` : undefined;
};

const importOf = (from: string, node: ts.ImportDeclaration | ts.ExportDeclaration): Import[] => {
  if (!node.moduleSpecifier || !ts.isStringLiteral(node.moduleSpecifier)) return [];
  const spelled = node.moduleSpecifier.text;
  const clause = ts.isImportDeclaration(node) ? node.importClause : undefined;
  const typeOnly = ts.isExportDeclaration(node) ? node.isTypeOnly : clause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
  return [{ spelled, path: resolveImport(from, spelled), typeOnly, names: namesOf(node) }];
};

const namesOf = (node: ts.ImportDeclaration | ts.ExportDeclaration): string[] | undefined => {
  const named = ts.isImportDeclaration(node) ? node.importClause?.namedBindings : node.exportClause;
  if (!named || !(ts.isNamedImports(named) || ts.isNamedExports(named))) return undefined;
  return named.elements.map(one => (one.propertyName ?? one.name).text);
};

const importsOf = (path: string, tree: ts.SourceFile): Import[] => {
  const found: Import[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) found.push(...importOf(path, node));
    const [argument] =
      ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword ? node.arguments : [];
    if (argument && ts.isStringLiteral(argument))
      found.push({
        spelled: argument.text,
        path: resolveImport(path, argument.text),
        typeOnly: false,
        names: undefined,
      });
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
};

const readSource = (file: string): Source => {
  const path = relative(ROOT, file).replaceAll('\\', '/');
  const text = readFileSync(file, 'utf8');
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  return {
    path,
    room: path.split('/')[0] ?? '',
    text,
    lines: text.split('\n').length - 1,
    tree,
    imports: importsOf(path, tree),
  };
};

const filesUnder = (room: string): string[] =>
  readdirSync(join(ROOT, room), { withFileTypes: true, recursive: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => join(entry.parentPath, entry.name));

/** Every TypeScript file of the project. */
export const readSources = (): Source[] => ROOMS.flatMap(filesUnder).map(readSource);
