import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  heat,
  hotRows,
  hottestRow,
  lineValue,
  sourceRows,
  widestLine,
} from '../../model/source_lines';

const cost = (bytes: number, leaked = 0) => ({
  peak_bytes: 0,
  leaked_bytes: leaked,
  allocations: 1,
  temporary_count: 0,
  bytes,
});
const line = (n: number, bytes: number, leaked = 0) => ({
  line: n,
  function: 'f',
  cost: cost(bytes, leaked),
});
const FILE = {
  first_line: 1,
  text: ['int f()', '{', '\treturn g(malloc(8));', '}'],
  lines: [line(3, 100), line(1, 10, 7), line(90, 5)],
};

test('every line of the file, with its cost, and lines that the file has no longer', () => {
  const rows = sourceRows(FILE);
  assert.deepEqual(
    rows.map((r) => [r.line, r.text, lineValue(r, 'bytes')]),
    [
      [1, 'int f()', 10],
      [2, '{', 0],
      [3, '\treturn g(malloc(8));', 100],
      [4, '}', 0],
      [90, null, 5],
    ],
  );
  assert.deepEqual(hotRows(rows, 'bytes'), [0, 2, 4]);
  assert.deepEqual(hotRows(rows, 'leaked'), [0]);
  assert.equal(hottestRow(rows, 'bytes'), 2);
  assert.equal(hottestRow(rows, 'temp'), -1);
  assert.equal(widestLine(rows), 24);
});

test('without the file: the lines that are known, in order', () => {
  const rows = sourceRows({ ...FILE, text: [] });
  assert.deepEqual(
    rows.map((r) => r.line),
    [1, 3, 90],
  );
});

test('a line with a cost is always tinted, the hottest one most', () => {
  const [first, none, most] = sourceRows(FILE);
  assert.ok(first && none && most);
  assert.equal(heat(most, 'bytes', 100), 1);
  assert.equal(heat(first, 'bytes', 100), 0.15);
  assert.equal(heat(none, 'bytes', 100), 0);
});
