/* Sizes: histogram, range, table, panel, keys, links, widths. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { checkAccessible, plain, program, suite } from './harness.mjs';
import { eventually, middle, pageUrl, parametersOf, rowsOf } from './tables.mjs';

const s = suite();
let server;

before(async () => {
  const file = s.record('node.dat', [program('demo_node'), '1']);
  server = await s.serve([file]);
  await server.ready();
});

const api = (path) => server.json(`/api/v1/last/${path}`);
const most = (sizes, field) =>
  sizes.buckets.reduce((best, b) => (b.cost[field] > best.cost[field] ? b : best));
const tableOf = async (page) =>
  (await rowsOf(page, '.grid.sizes')).map((r) => ({ name: r.name, value: r.values[0] }));
const groupsOf = async (range, field, filter = '') => {
  const answer = await api(
    `groups?by=stack&sort_by=${field}&size_min=${range.min}&size_max=${range.max}&${filter}`,
  );
  return answer.groups.map((g) => ({ name: g.blame.function, value: g.cost[field] }));
};
/* Middle of a column of the histogram, in pixels of the window. */
async function column(page, i, n) {
  const box = await (await page.waitForSelector('.hist canvas')).boundingBox();
  const room = (box.width - 60) / n;
  return { x: box.x + 52 + (i + 0.5) * room, y: box.y + box.height / 2 };
}

test('the bucket with most allocations is shown first, with its call sites', async (t) => {
  const sizes = await api('sizes?cost=allocs');
  const best = most(sizes, 'allocations');
  const page = await s.open(t, pageUrl(server, 'sizes'));
  await eventually(() => tableOf(page), await groupsOf(best, 'allocations'), 'the table');
  assert.equal((await parametersOf(page)).sel, `size:${best.min}-${best.max}`);
  const keys = await page.$$eval('.hist .keys > span', (all) => all.length);
  assert.equal(keys, sizes.sites.length + 1, 'a key for each site and one for the others');
  await checkAccessible(page, 'sizes');
});

test('the panel shows exact sizes, rounding and lifetimes of the API', async (t) => {
  const best = most(await api('sizes?cost=allocs'), 'allocations');
  const bounds = `size_min=${best.min}&size_max=${best.max}`;
  const exact = await api(`groups?by=size&sort_by=allocations&count=8&${bounds}`);
  const life = await api(`lifetimes?${bounds}`);
  const page = await s.open(t, pageUrl(server, 'sizes', { sel: `size:${best.min}-${best.max}` }));
  await page.waitForSelector('.details .exact.life');
  const shown = await page.$$eval('.details .exact:not(.life) .num', (all) =>
    all.map((n) => Number(n.title.replace(/\D/g, ''))),
  );
  assert.deepEqual(
    shown,
    exact.groups.map((g) => g.cost.allocations),
  );
  const counts = await page.$$eval('.details .exact.life .r', (all) =>
    all.map((n) => Number(n.title.replace(/\D/g, ''))),
  );
  assert.equal(
    counts.reduce((sum, v) => sum + v, 0),
    life.freed_count + life.never_count,
  );
  assert.equal(counts.at(-1), life.never_count);
  const { total } = exact;
  const mean = Math.round(total.bytes / total.allocations);
  assert.match(plain(await page.textContent('.details .kv')), new RegExp(`Requested${mean} B in`));
});

test('a click, arrows and Shift choose a range', async (t) => {
  const { buckets } = await api('sizes?cost=allocs');
  const page = await s.open(t, pageUrl(server, 'sizes'));
  const at = await column(page, 3, buckets.length);
  await page.waitForSelector('.details');
  const again = await column(page, 3, buckets.length);
  await page.mouse.click(again.x, at.y);
  const selOf = async () => (await parametersOf(page)).sel;
  const key = (i, k = i) => `size:${buckets[i].min}-${buckets[k].max}`;
  await eventually(selOf, key(3), 'the click');
  await page.focus('.hist canvas');
  await page.keyboard.press('ArrowRight');
  await eventually(selOf, key(4), 'the arrow');
  await page.keyboard.press('Shift+ArrowRight');
  await eventually(selOf, key(4, 5), 'Shift and the arrow');
  const range = { min: buckets[4].min, max: buckets[5].max };
  await eventually(() => tableOf(page), await groupsOf(range, 'allocations'), 'two buckets');
});

test('time range and cost come along; the head sorts', async (t) => {
  const range = await middle(server);
  const bucket = most(await api(`sizes?cost=leaked&${range.api}`), 'leaked_bytes');
  const page = await s.open(t, pageUrl(server, 'sizes', { cost: 'leaked', ...range.address }));
  const expected = await groupsOf(bucket, 'leaked_bytes', range.api);
  await eventually(() => tableOf(page), expected, 'in the range');
  await page.click('.grid.sizes .head button:has-text("Leaked")');
  await page.waitForSelector('.grid.sizes [aria-sort=ascending]');
  await eventually(
    async () => (await tableOf(page)).map((r) => r.value),
    expected.map((r) => r.value).reverse(),
    'ascending',
  );
});

test('only this range, not this range', async (t) => {
  const { buckets } = await api('sizes?cost=allocs');
  const [first, second] = buckets;
  const page = await s.open(t, pageUrl(server, 'sizes', { sel: `size:${first.min}-${first.max}` }));
  await page.click('.details button:has-text("Not this range")');
  await eventually(
    async () => (await parametersOf(page)).size_min,
    String(first.max + 1),
    'the filter',
  );
  await page.waitForSelector('.chip:has-text("Bytes asked for")');
  await page.goto(pageUrl(server, 'sizes', { sel: `size:${second.min}-${second.max}` }));
  await page.waitForSelector('.details button:has-text("Not this range"):disabled');
  await page.click('.details button:has-text("Only this range")');
  await eventually(
    async () => {
      const p = await parametersOf(page);
      return [p.size_min, p.size_max];
    },
    [String(second.min), String(second.max)],
    'the filter',
  );
});

test('logarithmic: the keys of the parts are hidden, the address keeps the scale', async (t) => {
  const page = await s.open(t, pageUrl(server, 'sizes', { log: 1 }), { theme: 'dark' });
  await page.waitForSelector('.hist .keys', { state: 'hidden' });
  await page.waitForSelector('.hist canvas');
  await page.waitForSelector('button[aria-pressed=true]:has-text("Logarithmic")');
  await checkAccessible(page, 'sizes, dark');
});

test('nothing matches; a filter that cannot be read', async (t) => {
  const page = await s.open(t, pageUrl(server, 'sizes', { size_min: '1T' }), {
    allowed: [/400 \(Bad Request\)/],
  });
  await page.waitForSelector('.note:has-text("No allocation matches these filters.")');
  await page.goto(pageUrl(server, 'sizes', { function_regex: 'a(b' }));
  await page.waitForSelector('.note:has-text("This filter cannot be read.")');
});

test('400 pixels: the name and the cost stay, the panel does not cover them', async (t) => {
  const page = await s.open(t, pageUrl(server, 'sizes'), { width: 400, height: 800 });
  await page.waitForSelector('.grid.sizes .grid-room .sym');
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 400, `the page is ${width} pixels wide`);
  assert.equal(await page.$('.details'), null);
  const columns = await page.$$eval('.grid.sizes .head > *', (all) =>
    all.filter((c) => c.offsetWidth > 0).map((c) => c.textContent),
  );
  assert.deepEqual(columns, ['Call site', 'Allocations']);
});
