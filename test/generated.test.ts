import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { configurationTable } from '../scripts/generate/configuration.ts';
import { stateDiagram } from '../scripts/generate/diagrams.ts';
import { generatedDocuments, replaceSection } from '../scripts/generate/documents.ts';
import { defineMachine } from '#contract/machine';
import { z } from 'zod';
import { ROOT } from './support/sources.ts';

describe('what is generated', () => {
  for (const { path, content } of generatedDocuments())
    it(`${path} says what the source says (npm run generate)`, () => {
      assert.equal(readFileSync(join(ROOT, path), 'utf8'), content);
    });

  it('a machine is drawn from its table', () => {
    const door = defineMachine('door', 'open', { open: { push: 'shut' }, shut: {} });
    assert.equal(
      stateDiagram(door),
      '### door\n\n```mermaid\nstateDiagram-v2\n  [*] --> open\n  open --> shut: push\n  shut --> [*]\n```',
    );
  });

  it('a setting that two processes read is one row', () => {
    const schema = z.object({ HOST: z.string().default('x').describe('Where.') });
    const readers = [
      { process: 'a', schema },
      { process: 'b', schema },
    ];
    assert.equal(configurationTable(readers).split('\n').at(-1), '| `HOST` | `x` | Where. | a, b |');
  });

  it('a document without its marks is refused', () => {
    assert.throws(() => replaceSection('text', 'configuration', ''), /marks .* missing/);
  });
});
