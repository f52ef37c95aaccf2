import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columnClass, columnWidths, shownColumns, toggled } from '../../model/columns';
import { SITE_COLUMNS, siteColumns, siteSort, sortParams } from '../../model/site_columns';
import {
  allocationColumns,
  allocationSort,
  allocationSortParams,
  chainShown,
} from '../../model/allocation_columns';

const ids = (columns: readonly { id: string }[]) => columns.map((c) => c.id).join(' ');
const tracks = (text: string | undefined) =>
  (text ?? '').replace(/minmax\([^)]*\)/g, '*').split(' ');

test('the reader adds extra columns and hides others', () => {
  const usual = shownColumns(SITE_COLUMNS, [], 'leaked_bytes');
  assert.equal(ids(usual), 'site graph leaked peak allocs mean first last largest menu');
  const chosen = toggled(SITE_COLUMNS, toggled(SITE_COLUMNS, [], 'freed'), 'graph');
  assert.deepEqual(chosen, ['freed', '-graph']);
  assert.equal(
    ids(shownColumns(SITE_COLUMNS, chosen, 'leaked_bytes')),
    'site leaked peak allocs mean freed first last largest menu',
  );
  assert.deepEqual(toggled(SITE_COLUMNS, chosen, 'graph'), ['freed']);
});

test('the column that a table is sorted by is always there', () => {
  assert.ok(ids(shownColumns(SITE_COLUMNS, [], 'temporary_count')).includes('temp'));
  assert.ok(ids(shownColumns(SITE_COLUMNS, ['-first'], 'first_ns')).includes('first'));
});

test('tracks and cells agree at every step', () => {
  for (const sortedBy of ['leaked_bytes', 'first_ns', 'interval_ns']) {
    const columns = shownColumns(siteColumns(3), ['freed'], sortedBy);
    const widths = columnWidths(columns, sortedBy);
    for (let step = 0; step < 4; step++) {
      const cells = columns.filter((c) => {
        const goes = /m(\d)/.exec(columnClass(c, sortedBy));
        return !goes || Number(goes[1]) > step;
      });
      assert.equal(tracks(widths[`--cols-${step}`]).length, cells.length, `step ${step}`);
    }
    /* the narrowest keeps the name and what it is sorted by */
    assert.equal(tracks(widths['--cols-3']).length, 2);
  }
});

test('without extra columns a table fits into the narrowest view of each step', () => {
  const least = { 0: 1060, 1: 840, 2: 720 } as const;
  for (const digits of [0, 3])
    for (const [step, px] of Object.entries(least)) {
      const columns = shownColumns(siteColumns(digits), [], 'leaked_bytes');
      const wide = parseInt(columnWidths(columns, 'leaked_bytes')[`--min-${step}`] ?? '', 10);
      assert.ok(wide <= px, `call sites, ${digits} digits: ${wide} px at step ${step}`);
    }
  for (const digits of [4, 6]) {
    const columns = shownColumns(allocationColumns(digits), [], 'timestamp');
    const wide = parseInt(columnWidths(columns, 'timestamp')['--min-0'] ?? '', 10);
    assert.ok(wide <= 1060, `allocations, ${digits} digits: ${wide} px`);
  }
});

test('the order of call sites: a column or the cost', () => {
  assert.deepEqual(siteSort({}, 'leaked'), { by: 'leaked_bytes', isAscending: false });
  assert.deepEqual(siteSort({ sort: 'first_ns', order: 'asc' }, 'leaked'), {
    by: 'first_ns',
    isAscending: true,
  });
  assert.equal(siteSort({ sort: 'nonsense' }, 'temp').by, 'temporary_count');
  assert.deepEqual(sortParams('peak_bytes', false), { cost: 'peak', sort: null, order: null });
  assert.deepEqual(sortParams('max_at_ns', true), { sort: 'max_at_ns', order: 'asc' });
});

test('the order of allocations: by time unless somebody chose', () => {
  assert.deepEqual(allocationSort({}), { by: 'timestamp', isAscending: true });
  assert.deepEqual(allocationSort({ sort: 'size', order: 'dsc' }), {
    by: 'size',
    isAscending: false,
  });
  assert.equal(allocationSort({ sort: 'nonsense' }).by, 'timestamp');
  assert.deepEqual(allocationSortParams('timestamp', true), { sort: null, order: null });
  assert.deepEqual(allocationSortParams('size', false), { sort: 'size', order: 'dsc' });
});

test('a long chain shows its ends and the surroundings of the block', () => {
  assert.deepEqual(chainShown(3, 1), [0, 1, 2]);
  assert.deepEqual(chainShown(100, 50), [
    0,
    1,
    2,
    null,
    47,
    48,
    49,
    50,
    51,
    52,
    53,
    null,
    97,
    98,
    99,
  ]);
  assert.deepEqual(chainShown(100, 0), [0, 1, 2, 3, null, 97, 98, 99]);
  assert.deepEqual(chainShown(20, 19, 14), [0, 1, 2, null, 16, 17, 18, 19]);
});
