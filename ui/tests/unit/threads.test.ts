import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freedByOthers, heat, matrixOf, OTHERS } from '../../model/thread_matrix';
import { sortRows, threadRows } from '../../model/thread_rows';

const pair = (a: number, b: number, count: number) => ({
  allocated_by: a,
  released_by: b,
  count,
  bytes: count * 10,
});
const PAIRS = [pair(1, 1, 5), pair(1, 2, 3), pair(2, 2, 8), pair(3, 1, 1)];
const cost = (allocations: number) => ({
  allocations,
  bytes: 0,
  peak_bytes: 0,
  leaked_bytes: 0,
  temporary_count: 0,
});

test('what other threads freed', () => {
  const freed = freedByOthers(PAIRS);
  assert.deepEqual(freed.get(1), { count: 3, bytes: 30 });
  assert.deepEqual(freed.get(2), { count: 0, bytes: 0 });
  assert.deepEqual(freed.get(3), { count: 1, bytes: 10 });
});

test('the matrix keeps every count, with and without "all others"', () => {
  const whole = matrixOf(PAIRS, 'count', 12);
  assert.deepEqual(whole.threads, [1, 2, 3]);
  assert.deepEqual(whole.cells, [
    [5, 3, 0],
    [0, 8, 0],
    [1, 0, 0],
  ]);
  assert.equal(whole.maxOwn, 8);
  assert.equal(whole.maxOthers, 3);
  const cut = matrixOf(PAIRS, 'bytes', 2);
  assert.deepEqual(cut.threads, [1, 2, OTHERS]);
  assert.deepEqual(cut.cells, [
    [50, 30, 0],
    [0, 80, 0],
    [10, 0, 0],
  ]);
  const sum = (m: number[][]) => m.flat().reduce((s, v) => s + v, 0);
  assert.equal(sum(cut.cells), 10 * sum(whole.cells));
  assert.deepEqual(matrixOf([], 'count', 12), {
    threads: [],
    cells: [],
    maxOwn: 0,
    maxOthers: 0,
  });
});

test('heat: nothing for 0, something for little, all for the most', () => {
  assert.equal(heat(0, 100), 0);
  assert.equal(heat(100, 100), 100);
  assert.ok(heat(1, 1_000_000) > 0);
});

test('rows: threads that only free are there, and those of the list', () => {
  const rows = threadRows([{ key: 1, cost: cost(10) }], [pair(1, 2, 5)], [7]);
  assert.deepEqual(
    rows.map((r) => [r.index, r.cost?.allocations ?? 0, r.others.count, r.share]),
    [
      [1, 10, 5, 50],
      [2, 0, 0, 0],
      [7, 0, 0, 0],
    ],
  );
});

test('rows sort by name, by cost and by what others freed', () => {
  const rows = threadRows(
    [1, 2, 3].map((key) => ({ key, cost: cost(key * 10) })),
    PAIRS,
    [],
  );
  const name = (i: number) => ['', 'b', 'a', 'c'][i] ?? '';
  const order = (by: 'name' | 'others' | 'allocs', up: boolean) =>
    sortRows(rows, by, up, name).map((r) => r.index);
  assert.deepEqual(order('others', false), [1, 3, 2]);
  assert.deepEqual(order('allocs', false), [3, 2, 1]);
  assert.deepEqual(order('allocs', true), [1, 2, 3]);
  assert.deepEqual(order('name', true), [2, 1, 3]);
});
