/* Memory map: heap, mappings, calls, nearly empty pages, the pinned moment, widths. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { checkAccessible, plain, program, suite, waitForText } from './harness.mjs';
import { eventually, pageUrl, parametersOf, rowsOf } from './tables.mjs';

const s = suite();
let node; // a program with a heap, calls not gathered
let maps; // a program that maps memory, calls gathered
let bare; // without snapshots of the memory map, calls gathered

before(async () => {
  const a = s.record('node.dat', [program('demo_node'), '1']);
  const b = s.record('maps.dat', [program('maps_memory')], {
    MEMORY_PROFILER_GATHER_MMAP_CALLS: '1',
  });
  const c = s.record('bare.dat', [program('maps_memory')], {
    MEMORY_PROFILER_GATHER_MMAP_CALLS: '1',
    MEMORY_PROFILER_GATHER_MAPS: '0',
  });
  node = await s.serve([a]);
  bare = await s.serve([c]);
  await bare.ready();
  maps = await s.serve([b]);
  await node.ready();
  await maps.ready();
});

const cells = (page, grid, column) =>
  page.$$eval(
    `${grid} .grid-room .tr`,
    (rows, n) =>
      rows.sort((a, b) => a.ariaRowIndex - b.ariaRowIndex).map((r) => r.children[n].textContent),
    column,
  );

test('mappings are those of the API; what is not recorded has no column, and the head says why', async (t) => {
  const answer = await node.json('/api/v1/last/maps?count=200');
  const page = await s.open(t, pageUrl(node, 'map'));
  await page.waitForSelector('.grid.maps .grid-room .code');
  const shown = await cells(page, '.grid.maps', 0);
  assert.deepEqual(
    shown,
    answer.maps.slice(0, shown.length).map((m) => m.address),
  );
  assert.equal(
    plain(await page.textContent('.foot')).split(' mappings')[0],
    `${answer.total_count}`,
  );
  assert.ok(answer.maps.every((m) => m.made_ns === null));
  const heads = await page.$$eval('.grid.maps [role=columnheader]', (all) =>
    all.map((e) => e.textContent),
  );
  assert.deepEqual(heads, ['Mapping', 'Perms', 'Size', 'RSS', 'Peak RSS', 'Name']);
  assert.ok(!(await page.textContent('.range-head')).includes('RSS of single mappings'));
  await page.waitForSelector('.range-head:has-text("MEMORY_PROFILER_GATHER_MMAP_CALLS=1")');
  await checkAccessible(page, 'memory map');
});

test('resident memory of mappings: sorted by it, in the panel, and its column goes where it is narrow', async (t) => {
  const answer = await node.json('/api/v1/last/maps?count=200&sort_by=peak_rss&order=dsc');
  const page = await s.open(t, pageUrl(node, 'map'));
  await page.waitForSelector('.grid.maps .grid-room .code');
  await page.click('.grid.maps [role=columnheader]:has-text("Peak RSS")');
  await eventually(async () => (await cells(page, '.grid.maps', 0))[0], answer.maps[0].address);
  assert.equal((await parametersOf(page)).sort, 'peak_rss');
  const title = await page.getAttribute(
    '.grid.maps .grid-room .tr [role=gridcell]:nth-child(5)',
    'title',
  );
  assert.equal(plain(title).replace(/\D/g, ''), String(answer.maps[0].peak_rss_bytes));
  await page.click(`.grid.maps .tr:has-text("${answer.maps[0].address}")`);
  await page.waitForSelector('.details dt:has-text("Peak RSS") + dd:has-text("iB")');
  await page.setViewportSize({ width: 400, height: 800 });
  await eventually(
    async () =>
      (await page.locator('.grid.maps [role=columnheader]:visible').allTextContents()).join(),
    'Mapping,Peak RSS,Name',
  );
});

test('a recording without resident memory says so', async (t) => {
  const page = await s.open(t, pageUrl(bare, 'map'));
  await page.waitForSelector('.range-head:has-text("RSS of single mappings is not recorded")');
});

test('a mapping in the panel, with the call that made it', async (t) => {
  const { maps: list } = await maps.json('/api/v1/last/maps?count=200');
  const made = list.find((m) => m.made_ns !== null && m.removed_ns !== null);
  const page = await s.open(t, pageUrl(maps, 'map', { sort: 'made' }));
  await page.click(`.grid.maps .tr:has-text("${made.address}")`);
  await page.waitForSelector('.details .stack:has-text("main")');
  assert.equal((await parametersOf(page)).sel, `map:${made.address}@${made.made_ns}`);
  await page.reload();
  await page.waitForSelector(`.details:has-text("${made.address}")`);
  await page.waitForSelector('.grid.maps .tr[aria-selected=true]');
  await checkAccessible(page, 'a mapping');
});

test('calls with their stacks, by kind', async (t) => {
  const all = await maps.json('/api/v1/last/map_calls');
  assert.ok(all.total_count >= 6);
  const page = await s.open(t, pageUrl(maps, 'map', { v: 'calls' }));
  await page.waitForSelector('.grid.mapcalls .grid-room .code');
  assert.deepEqual(
    await cells(page, '.grid.mapcalls', 1),
    all.calls.map((c) => c.kind),
  );
  await page.click('button:has-text("munmap")');
  const some = all.calls.filter((c) => c.kind === 'munmap');
  await eventually(
    () => cells(page, '.grid.mapcalls', 2),
    some.map((c) => c.address),
    'munmap only',
  );
  await page.focus('.grid.mapcalls .grid-body');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.site-open .stack .fn:has-text("main")');
  await checkAccessible(page, 'calls');
});

test('calls that were not gathered: the page says how to get them', async (t) => {
  const page = await s.open(t, pageUrl(node, 'map', { v: 'calls' }));
  await page.waitForSelector('.note:has-text("MEMORY_PROFILER_GATHER_MMAP_CALLS=1")');
});

test('the heap follows the pinned moment; a cell leads to its blocks', async (t) => {
  const { duration_ns } = await node.json('/api/v1/last/summary');
  const at = Math.round(duration_ns / 2);
  const peak = await node.json('/api/v1/last/occupancy?cells=600');
  const half = await node.json(`/api/v1/last/occupancy?cells=600&at=%2B${at}ns`);
  const count = (o) => o.regions.reduce((n, r) => n + r.used.length, 0);
  const page = await s.open(t, pageUrl(node, 'map'));
  const label = () => page.getAttribute('.heap-cells canvas', 'aria-label');
  await page.waitForSelector('.heap-cells canvas');
  assert.match(plain(await label()), new RegExp(`^Heap at the peak: ${count(peak)} cells`));
  await page.goto(pageUrl(node, 'map', { at }));
  await eventually(
    async () => /: (\d+) cells/.exec(plain(await label()))?.[1],
    String(count(half)),
    'cells at the moment',
  );
  await page.focus('.heap-cells canvas');
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  await eventually(async () => (await parametersOf(page)).cell, '1', 'the second cell');
  const first = half.regions[0];
  const inFirst = first.used.length > 1;
  const start = inFirst
    ? '0x' + (BigInt(first.start) + BigInt(first.cell_bytes)).toString(16)
    : half.regions[1].start;
  await page.waitForSelector(`.heap-foot:has-text("${start}")`);
  await page.click('.heap-foot a');
  await eventually(
    async () => {
      const p = await parametersOf(page);
      return [p.address_min, p.alive_at];
    },
    [start, `+${at}ns`],
    'the filter',
  );
});

test('nearly empty pages and who holds them', async (t) => {
  const f = await node.json('/api/v1/last/fragmentation?count=500');
  const page = await s.open(t, pageUrl(node, 'map', { v: 'held' }), { theme: 'dark' });
  await page.waitForSelector('.grid.holders .sym');
  const rows = await rowsOf(page, '.grid.holders');
  assert.deepEqual(
    rows.map((r) => [r.name, r.values[0]]),
    f.held_by
      .filter((h) => h.sparse_pages > 0)
      .slice(0, rows.length)
      .map((h) => [h.blame.function ?? h.blame.address, h.held_bytes]),
  );
  await checkAccessible(page, 'nearly empty pages, dark');
});

test('charts of RSS and address space', async (t) => {
  const page = await s.open(t, pageUrl(node, 'map'));
  await page.waitForSelector('.timechart[aria-label="RSS and heap over time"] canvas');
  await page.click('.map-top button:has-text("Address space")');
  await page.waitForSelector('.timechart[aria-label="Address space over time"] canvas');
});

test('nothing matches; a filter that cannot be read', async (t) => {
  const page = await s.open(t, pageUrl(node, 'map', { size_min: '1T' }), {
    allowed: [/400 \(Bad Request\)/],
  });
  await page.waitForSelector('.heap-card:has-text("Nothing that matches is alive")');
  await page.waitForSelector('.note:has-text("No mapping matches.")');
  await page.goto(pageUrl(node, 'map', { function_regex: 'a(b' }));
  await page.waitForSelector('.note:has-text("This filter cannot be read.")');
});

test('400 pixels: heap and chart stack, nothing is wider than the window', async (t) => {
  const page = await s.open(t, pageUrl(node, 'map'), { width: 400, height: 800 });
  await page.waitForSelector('.grid.maps .grid-room .code');
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 400, `the page is ${width} pixels wide`);
  const [heap, chart] = await page.$$eval('.map-top .card', (all) =>
    all.map((c) => c.getBoundingClientRect().top),
  );
  assert.ok(chart > heap);
  await checkAccessible(page, 'memory map, narrow');
});

test('what the allocator holds, and what of it is in use', async (t) => {
  const { samples } = await node.json('/api/v1/last/allocator_samples');
  const last = samples.filter((a) => a.allocated !== null && a.mapped !== null).at(-1);
  const page = await s.open(t, pageUrl(node, 'map', { mem: 'allocator' }));
  assert.ok(last, 'a program that runs for a second has samples');
  await waitForText(page, '.card h2', new RegExp(`Held by ${last.allocator}`));
  const idle = (100 * Math.max(0, last.mapped - last.allocated)) / last.mapped;
  const text = await waitForText(page, '.chart-note', /At the last sample .* were not in use\.$/);
  const shown = /([<\d.]+) %/.exec(text)[1];
  assert.ok(shown.startsWith('<') || Math.abs(Number(shown) - idle) < 0.06, `${text}, not ${idle}`);
  await checkAccessible(page, 'the allocator');
});
