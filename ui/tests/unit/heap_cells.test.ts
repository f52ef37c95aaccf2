import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressAfter, cellAddresses, cellAt, layOut, resample } from '../../model/heap_cells';

const range = (start: string, end: string, n: number) => ({
  start,
  end,
  name: '',
  cell_bytes: 4096,
  used: Array.from({ length: n }, () => 0.5),
});
const RANGES = [range('0x1000', '0x4000', 3), range('0x7fff00000000', '0x7fff00001800', 2)];

test('cells lie line by line, a gap between ranges', () => {
  const l = layOut(RANGES, 5);
  assert.deepEqual(
    l.cells.map((c) => [c.range, c.index, c.x, c.y]),
    [
      [0, 0, 0, 0],
      [0, 1, 1, 0],
      [0, 2, 2, 0],
      [1, 0, 4, 0],
      [1, 1, 0, 1],
    ],
  );
  assert.equal(l.lines, 2);
  assert.equal(layOut(RANGES, 3).cells[3]?.y, 1, 'no gap at the start of a line');
});

test('every cell is found where it lies, gaps hit nothing', () => {
  const l = layOut(RANGES, 5);
  l.cells.forEach((c, i) => assert.equal(cellAt(l, c.x, c.y), i));
  assert.equal(cellAt(l, 3, 0), -1);
  assert.equal(cellAt(l, 1, 1), -1);
  assert.equal(cellAt(l, 5, 0), -1);
  assert.equal(cellAt(l, -1, 1), -1);
});

test('addresses of cells: the last one of a range may be short', () => {
  const [, high] = RANGES;
  assert.ok(high);
  assert.deepEqual(cellAddresses(high, 0), {
    first: '0x7fff00000000',
    last: '0x7fff00000fff',
    bytes: 4096,
  });
  assert.deepEqual(cellAddresses(high, 1), {
    first: '0x7fff00001000',
    last: '0x7fff000017ff',
    bytes: 2048,
  });
  assert.equal(addressAfter('0xffffffffff600000', 4096), '0xffffffffff601000');
});

test('samples become values of buckets: the last one known', () => {
  assert.deepEqual(resample([10, 30], [1, 2], 0, 10, 5), [0, 1, 1, 2, 2]);
  assert.deepEqual(resample([], [], 0, 10, 2), [0, 0]);
});
