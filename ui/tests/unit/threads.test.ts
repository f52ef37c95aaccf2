import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heat } from '../../model/thread_matrix';
import { sortRows, threadRows } from '../../model/thread_rows';

const freed = (thread: number, others: number) => ({
  thread,
  others_count: others,
  others_bytes: others * 10,
});
const FREED = [freed(1, 3), freed(2, 0), freed(3, 1)];
const cost = (allocations: number) => ({
  allocations,
  bytes: 0,
  peak_bytes: 0,
  leaked_bytes: 0,
  temporary_count: 0,
});

test('heat: nothing for 0, something for little, all for the most', () => {
  assert.equal(heat(0, 100), 0);
  assert.equal(heat(100, 100), 100);
  assert.ok(heat(1, 1_000_000) > 0);
});

test('rows: threads that only free are there, and those of the list', () => {
  const rows = threadRows([{ key: 1, cost: cost(10) }], [freed(1, 5), freed(2, 0)], [7]);
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
    FREED,
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
