import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  originOf,
  rowAt,
  rowsOnScreen,
  rowTop,
  scrollHeight,
  scrollOfTop,
  topAround,
  topForRow,
  topOfScroll,
  visibleRows,
  MAX_HEIGHT,
} from '../../model/window';

const table = { rows: 1000, rowHeight: 20, viewHeight: 200, openRow: -1, openHeight: 0 };

test('rows and positions agree, with a row open as well', () => {
  for (const t of [table, { ...table, openRow: 7, openHeight: 133 }]) {
    for (let row = 0; row < 20; row++) {
      assert.equal(rowAt(t, rowTop(t, row)), row);
      assert.equal(rowAt(t, rowTop(t, row) + t.rowHeight - 1), row);
    }
  }
});

test('a table of a hundred million rows reaches its first and last row', () => {
  const t = { ...table, rows: 124_000_000 };
  assert.equal(scrollHeight(t), MAX_HEIGHT);
  assert.equal(topOfScroll(t, 0), 0);
  const end = topOfScroll(t, MAX_HEIGHT - t.viewHeight);
  assert.equal(visibleRows(t, end)[1], t.rows - 1);
  /* one pixel of the scrollbar stands for many: there and back is off by less than two of them */
  const middle = 1_234_567_890;
  const pixel = (t.rows * t.rowHeight) / MAX_HEIGHT;
  assert.ok(Math.abs(topOfScroll(t, scrollOfTop(t, middle)) - middle) < 2 * pixel);
});

test('showing a row moves no farther than needed', () => {
  assert.equal(topForRow(table, 100, 6), 100);
  assert.equal(topForRow(table, 100, 2), 40);
  assert.equal(topForRow(table, 0, 15), 120);
});

test('positions of a hundred million rows stay small numbers', () => {
  const t = { ...table, rows: 124_000_000 };
  const top = 2_000_000_123;
  const [first, last] = visibleRows(t, top);
  for (const row of [first, last]) {
    const y = rowTop(t, row) - originOf(top);
    assert.ok(Math.abs(y) < 2 ** 24 && Math.fround(y) === y, `${y} is exact as a float`);
  }
});

test('rows on screen are those that can be seen', () => {
  assert.deepEqual(rowsOnScreen(table, 0), [0, 9]);
  assert.deepEqual(rowsOnScreen(table, 30), [1, 11]);
  assert.deepEqual(rowsOnScreen({ ...table, rows: 3 }, 0), [0, 2]);
});

test('a row that is gone to comes into the upper third, a visible one stays', () => {
  assert.equal(topAround(table, 100, 6), 100);
  assert.equal(topAround(table, 0, 500), Math.round(500 * 20 - 200 / 3));
  assert.equal(topAround(table, 0, 999), 1000 * 20 - 200);
});
