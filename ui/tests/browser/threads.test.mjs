/* Threads: table, matrix, filter by thread, widths. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { checkAccessible, plain, program, suite } from './harness.mjs';
import { eventually, middle, pageUrl, parametersOf } from './tables.mjs';

const s = suite();
let server;

before(async () => {
  const file = s.record('node.dat', [program('demo_node'), '1']);
  server = await s.serve([file]);
  await server.ready();
});

const api = (path) => server.json(`/api/v1/last/${path}`);
const FIELDS = ['allocations', 'bytes', 'peak_bytes', 'leaked_bytes', 'temporary_count'];

/* Thread id -> the five costs and what others freed, as the API has them. */
async function expected(filter = '') {
  const { threads } = await api('threads');
  const { groups } = await api(`groups?by=thread&${filter}`);
  const { releases } = await api(`thread_matrix?${filter}`);
  return new Map(
    groups.map((g) => [
      threads.find((t) => t.index === g.key).tid,
      [
        ...FIELDS.map((f) => g.cost[f]),
        releases
          .filter((r) => r.allocated_by === g.key && r.released_by !== g.key)
          .reduce((sum, r) => sum + r.count, 0),
      ],
    ]),
  );
}

/* The same from the page; rows of threads that allocated nothing are left out. */
const shown = async (page) => {
  const rows = await page.$$eval('.grid.threads .grid-room .tr', (all) =>
    all
      .sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)
      .map((row) => [
        Number(row.querySelector('button').title.replace(/\D/g, '')),
        [...row.querySelectorAll('.num')].map((n) =>
          Number((n.title || n.closest('.cost').title).replace(/\D/g, '')),
        ),
      ]),
  );
  return rows.filter(([, values]) => values[0] > 0);
};
const asMap = async (page) => new Map((await shown(page)).sort((a, b) => a[0] - b[0]));
const sorted = (map) => new Map([...map].sort((a, b) => a[0] - b[0]));

test('figures are those of the API, most freed by others first', async (t) => {
  const page = await s.open(t, pageUrl(server, 'threads'));
  await eventually(() => asMap(page), sorted(await expected()), 'the table');
  const others = (await shown(page)).map(([, values]) => values[5]);
  assert.deepEqual(
    others,
    [...others].sort((a, b) => b - a),
  );
  await checkAccessible(page, 'threads');
});

test('the matrix shows every pair', async (t) => {
  const { releases } = await api('thread_matrix');
  const page = await s.open(t, pageUrl(server, 'threads'));
  await page.waitForSelector('.matrix td button');
  const cells = await page.$$eval('.matrix tbody td', (all) =>
    all
      .filter((c) => c.textContent)
      .map((c) => Number(/freed ([\d\s]+)/.exec(c.title)[1].replace(/\D/g, ''))),
  );
  const sum = (list) => list.reduce((total, v) => total + v, 0);
  assert.equal(cells.length, releases.length);
  assert.equal(sum(cells), sum(releases.map((r) => r.count)));
  await page.click('.matrix-part button:has-text("Bytes")');
  await page.waitForSelector('.matrix td[title*="bytes"]');
  assert.equal((await parametersOf(page)).m, 'bytes');
});

test('a click on a name or a cell filters by the thread', async (t) => {
  const page = await s.open(t, pageUrl(server, 'threads'));
  await page.waitForSelector('.grid.threads .grid-room .tr');
  const [[tid]] = await shown(page);
  await page.click('.grid.threads .grid-room .tr[aria-rowindex="2"] button');
  await eventually(async () => (await parametersOf(page)).thread, String(tid), 'the filter');
  await eventually(() => asMap(page), sorted(await expected(`thread=${tid}`)), 'the thread alone');
  await page.goto(pageUrl(server, 'threads'));
  await page.click('.matrix tbody tr:nth-child(2) td button');
  await page.waitForSelector('.chip:has-text("Thread")');
});

test('time range, sorting, keys', async (t) => {
  const range = await middle(server);
  const page = await s.open(t, pageUrl(server, 'threads', { sort: 'allocs', ...range.address }));
  await eventually(() => asMap(page), sorted(await expected(range.api)), 'in the range');
  const counts = (await shown(page)).map(([, values]) => values[0]);
  assert.deepEqual(
    counts,
    [...counts].sort((a, b) => b - a),
  );
  const [[tid]] = await shown(page);
  await page.focus('.grid.threads .grid-body');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await eventually(async () => (await parametersOf(page)).thread, String(tid), 'Enter');
});

test('nothing matches; a filter that cannot be read', async (t) => {
  const page = await s.open(t, pageUrl(server, 'threads', { size_min: '1T' }), {
    allowed: [/400 \(Bad Request\)/],
  });
  await page.waitForSelector('.note:has-text("No allocation matches these filters.")');
  await page.goto(pageUrl(server, 'threads', { function_regex: 'a(b' }));
  await page.waitForSelector('.note:has-text("This filter cannot be read.")');
});

test('400 pixels, dark: the name and the sorted column stay', async (t) => {
  const page = await s.open(t, pageUrl(server, 'threads'), {
    width: 400,
    height: 800,
    theme: 'dark',
  });
  await page.waitForSelector('.matrix td button');
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 400, `the page is ${width} pixels wide`);
  const columns = await page.$$eval('.grid.threads .head > *', (all) =>
    all.filter((c) => c.offsetWidth > 0).map((c) => c.textContent),
  );
  assert.deepEqual(columns.map(plain), ['Thread', 'Freed by others']);
  await page.click('.only-narrow button');
  await page.click('.menu [role^=menuitem]:has-text("Leaked")');
  await page.waitForSelector('.grid.threads .head [aria-sort]:visible:has-text("Leaked")');
  await page.waitForSelector('.grid.threads .grid-room .tr:first-child .c-leaked:visible');
  assert.ok(!(await page.isVisible('.grid.threads .head > :has-text("Freed by others")')));
  await checkAccessible(page, 'threads, narrow and dark');
});

test('threads of one name have different labels in the Timeline', async (t) => {
  const { threads } = await api('threads');
  const page = await s.open(t, pageUrl(server, 'timeline', { by: 'thread', t0: 1, t1: 900e6 }));
  const names = async () => {
    await page.waitForSelector('.grid.growth .tr [role=gridcell]:first-child .dim');
    return page.$$eval('.grid.growth .grid-room [role=gridcell]:first-child', (all) =>
      all.map((e) => e.textContent.trim()),
    );
  };
  /* one name for all: names of short runs are not always known */
  await page.route(/\/(threads|growth)\b/, async (route) => {
    const response = await route.fetch();
    const text = await response.text();
    await route.fulfill({ response, body: text.replace(/"name":"[^"]*"/g, '"name":"work"') });
  });
  await page.reload();
  const tids = threads.map((x) => `${x.tid} work`);
  const others = async () => (await names()).filter((name) => !tids.includes(name));
  await eventually(others, [], 'names of rows');
});
