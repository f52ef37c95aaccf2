import assert from 'node:assert/strict';
import { test } from 'node:test';
import { excerpt, unindent } from '../../model/source_excerpt';

const text = Array.from({ length: 300 }, (_, i) => `line ${i + 1}`);
const numbers = (list: { line: number }[]) => list.map((l) => l.line);

test('lines around one that costs something', () => {
  const lines = excerpt(new Map([[214, 2000]]), text);
  assert.deepEqual(numbers(lines), [210, 211, 212, 213, 214, 215, 216, 217, 218]);
  assert.deepEqual(lines[4], { line: 214, text: 'line 214', value: 2000, isAfterGap: false });
});

test('the start and the end of the file', () => {
  assert.deepEqual(numbers(excerpt(new Map([[1, 5]]), text)), [1, 2, 3, 4, 5]);
  assert.deepEqual(numbers(excerpt(new Map([[300, 5]]), text)).pop(), 300);
});

test('many lines: what is around them gives way, gaps are marked', () => {
  const values = new Map([10, 50, 90, 130].map((line) => [line, line] as const));
  const lines = excerpt(values, text);
  assert.equal(lines.length, 12);
  assert.deepEqual(
    lines.filter((l) => l.isAfterGap).map((l) => l.line),
    [49, 89, 129],
  );
  const most = excerpt(new Map(Array.from({ length: 40 }, (_, i) => [i * 3 + 1, i + 1])), text);
  assert.deepEqual(numbers(most), [91, 94, 97, 100, 103, 106, 109, 112, 115, 118]);
});

test('without the file only what is known; lines without cost are not', () => {
  const lines = excerpt(
    new Map([
      [5, 1],
      [7, 0],
      [0, 9],
      [999, 2],
    ]),
    null,
  );
  assert.deepEqual(numbers(lines), [5, 999]);
  assert.equal(lines[0]?.text, null);
});

test('a line beyond the end of a file that has changed', () => {
  const lines = excerpt(new Map([[400, 1]]), text);
  assert.deepEqual(lines, [{ line: 400, text: null, value: 1, isAfterGap: false }]);
});

test('common indentation goes', () => {
  assert.deepEqual(unindent(['\t\tif (a)', '\t\t\tb();', '', null]), [
    'if (a)',
    '    b();',
    '',
    null,
  ]);
});
