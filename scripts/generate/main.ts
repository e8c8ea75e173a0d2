import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../start/system.ts';
import { generatedDocuments, type GeneratedDocument } from './documents.ts';

const current = (path: string): string | undefined => {
  try {
    return readFileSync(join(ROOT, path), 'utf8');
  } catch {
    return undefined; // not written yet
  }
};

const write = ({ path, content }: GeneratedDocument): void => {
  const changed = current(path) !== content;
  if (changed) writeFileSync(join(ROOT, path), content);
  console.log(`${path}: ${changed ? 'written' : 'as it was'}`);
};

for (const document of generatedDocuments()) write(document);
