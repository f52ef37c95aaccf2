import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  rowAt,
  rowTop,
  scrollHeight,
  scrollOfTop,
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
  const middle = 1_234_567_890;
  assert.ok(Math.abs(topOfScroll(t, scrollOfTop(t, middle)) - middle) < 1);
});

test('showing a row moves no farther than needed', () => {
  assert.equal(topForRow(table, 100, 6), 100);
  assert.equal(topForRow(table, 100, 2), 40);
  assert.equal(topForRow(table, 0, 15), 120);
});
