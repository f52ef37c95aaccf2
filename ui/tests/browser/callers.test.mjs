/* Caller / callee: figures of all functions, and of one its callers, callees and lines. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { checkAccessible, plain, program, suite } from './harness.mjs';
import { COST_FIELDS, eventually, middle, pageUrl, parametersOf, rowsOf } from './tables.mjs';

const s = suite();
let server;
let remember; // full name of a function that leaks

before(async () => {
  const file = s.record('node.dat', [program('demo_node'), '1']);
  server = await s.serve([file]);
  await server.ready();
  remember = (await functions('q=SeenCache::remember')).functions[0].function;
});

const functions = (query) => server.json(`/api/v1/last/functions?${query}`);
const callers = (name, query = '') =>
  server.json(`/api/v1/last/callers?function=${encodeURIComponent(name)}&${query}`);

const values = (cost) => COST_FIELDS.map((f) => cost[f]);
const selfValues = (row) => COST_FIELDS.map((f) => row[`self_${f}`]);
const shown = (rows) => rows.map(({ name, values: v }) => ({ name, values: v }));
const upper = async (view, n) => shown((await rowsOf(view, '.functions')).slice(0, n));
const lower = async (view, pane) => shown(await rowsOf(view, `.pane-${pane}`));

/* All functions, where a test does not say otherwise. */
const open = async (t, parameters, options) => {
  const view = await s.open(t, pageUrl(server, 'callers', { mine: '0', ...parameters }), options);
  await view.waitForSelector('.functions .grid-room .tr .fn');
  return view;
};

/* What a lower table shows: one cost, largest first. */
function pane(rows, field) {
  return [...rows]
    .sort((a, b) => b.cost[field] - a.cost[field] || b.cost.bytes - a.cost.bytes)
    .map((r) => ({ name: r.function, values: [r.cost[field]] }));
}

test('all functions with what they call, and alone', async (t) => {
  const view = await open(t, {});
  const N = 12;
  const rows = async (query, of) =>
    (await functions(`${query}&count=${N}`)).functions.map((f) => ({
      name: f.function,
      values: of(f),
    }));
  const withCallees = await rows('sort_by=peak_bytes', (f) => values(f.cost));
  await eventually(() => upper(view, N), withCallees, 'with callees');
  await view.click('.seg button:has-text("Alone")');
  const alone = await rows('sort_by=self_peak_bytes', selfValues);
  await eventually(() => upper(view, N), alone, 'alone');
  await view.keyboard.press('2');
  const leaked = await rows('sort_by=self_leaked_bytes', selfValues);
  await eventually(() => upper(view, N), leaked, 'alone, by leaked');
  const { total_count } = await functions('count=0');
  assert.match(plain(await view.textContent('.foot')), new RegExp(`^${total_count} functions`));
});

test('just my code: only functions of own code, all of them with M', async (t) => {
  const view = await open(t, { mine: '' });
  const own = await functions('sort_by=peak_bytes&own=true&count=12');
  const all = await functions('sort_by=peak_bytes&count=12');
  const named = (f) => ({ name: f.function, values: values(f.cost) });
  assert.ok(own.total_count > 3 && own.total_count < all.total_count);
  assert.ok(own.functions.every((f) => f.frame.class === 'own'));
  await eventually(() => upper(view, 12), own.functions.map(named), 'own code');
  assert.match(
    plain(await view.textContent('.foot')),
    new RegExp(`^${own.total_count} functions of your code`),
  );
  await view.keyboard.press('m');
  await eventually(() => upper(view, 12), all.functions.map(named), 'all code');
  assert.equal((await parametersOf(view)).mine, '0');
  await view.keyboard.press('m');
  await view.fill('.toolbar input >> nth=0', 'pthread_create');
  await view.waitForSelector('.note:has-text("No function of your code is here.")');
});

test('callers and callees of the selected function, shares of that function', async (t) => {
  const view = await open(t, { sel: `fn:${remember}`, cost: 'leaked' });
  const answer = await callers(remember);
  const field = 'leaked_bytes';
  await eventually(() => lower(view, 'callers'), pane(answer.callers, field), 'callers');
  await eventually(() => lower(view, 'callees'), pane(answer.callees, field), 'callees');
  const lines = await view.$$eval('.pane-lines .grid-room .tr', (rows) =>
    rows.map((r) => r.querySelector('a').title.split(':').pop()),
  );
  assert.deepEqual(
    lines.map(Number),
    [...answer.lines].sort((a, b) => b.cost[field] - a.cost[field]).map((l) => l.line),
  );
  const share = (part) => `${((100 * part) / answer.function.cost[field]).toFixed(1)} %`;
  const heaviest = [...answer.callees].sort((a, b) => b.cost[field] - a.cost[field])[0];
  assert.equal(
    plain(await view.textContent('.pane-callees .grid-room .tr:first-child .pc')),
    share(heaviest.cost[field]).replace('100.0', '100'),
  );
  await view.click('.calls-head .seg button:has-text("Allocations")');
  await eventually(
    () => lower(view, 'callees'),
    pane(answer.callees, 'allocations'),
    'another cost',
  );
});

test('a click on a callee leads to it, back leads back, a line leads to its source', async (t) => {
  const view = await open(t, { sel: `fn:${remember}` });
  const answer = await callers(remember);
  const callee = pane(answer.callees, 'peak_bytes')[0].name;
  await view.click('.pane-callees .grid-room .tr >> nth=0');
  const its = await callers(callee);
  await eventually(() => lower(view, 'callers'), pane(its.callers, 'peak_bytes'), 'of the callee');
  assert.equal((await parametersOf(view)).sel, `fn:${callee}`);
  await view.goBack();
  await eventually(
    () => lower(view, 'callees'),
    pane(answer.callees, 'peak_bytes'),
    'of the first function',
  );
  await view.click('.pane-lines .grid-room .tr a');
  await view.waitForSelector('.nav a[aria-current=page]:has-text("Source")');
  const { file, line } = await parametersOf(view);
  const known = answer.lines.map((l) => `${l.source}:${l.line}`);
  assert.ok(known.includes(`${file}:${line}`), `${file}:${line}`);
});

test('boxes choose rows and change no figure', async (t) => {
  const view = await open(t, {});
  const check = async (query, what) => {
    const { functions: list } = await functions(`sort_by=peak_bytes&${query}`);
    const expected = list.slice(0, 10).map((f) => ({ name: f.function, values: values(f.cost) }));
    await eventually(() => upper(view, 10), expected, what);
  };
  await view.fill('.toolbar input[aria-label=File]', 'DEMO_NODE.cpp');
  await check('source_q=demo_node.cpp', 'file');
  await view.fill('.toolbar input[aria-label=Function]', 'seen');
  await check('source_q=demo_node.cpp&q=seen', 'function and file');
  assert.equal(await view.locator('.chip em').count(), 0, 'no filter');
  await view.fill('.toolbar input[aria-label=Module]', 'no such module');
  await view.waitForSelector('.note:has-text("No function has such a name.")');
  await view.click('.note button');
  await check('', 'empty boxes');
});

test('the time range filters both halves', async (t) => {
  const { address, api } = await middle(server);
  const all = await open(t, address);
  const { functions: list } = await functions(`sort_by=peak_bytes&count=8&${api}`);
  await eventually(
    () => upper(all, 8),
    list.map((f) => ({ name: f.function, values: values(f.cost) })),
    'above',
  );
  const view = await open(t, { ...address, sel: `fn:${remember}` });
  const answer = await callers(remember, api);
  await eventually(() => lower(view, 'callees'), pane(answer.callees, 'peak_bytes'), 'below');
});

test('keys select functions, a head sorts', async (t) => {
  const view = await open(t, { fn: 'a' });
  const { functions: list } = await functions('sort_by=bytes&order=asc&q=a&count=3');
  await view.click('.functions .head button:has-text("Bytes")');
  await view.click('.functions .head button:has-text("Bytes")');
  await eventually(
    () => upper(view, 3),
    list.map((f) => ({ name: f.function, values: values(f.cost) })),
    'smallest first',
  );
  await view.focus('.functions .grid-body');
  await view.keyboard.press('Home');
  await view.keyboard.press('ArrowDown');
  await eventually(
    async () => (await parametersOf(view)).sel,
    `fn:${list[1].function}`,
    'the second row',
  );
});

test('filters that match nothing are said so', async (t) => {
  const view = await s.open(t, pageUrl(server, 'callers', { size_min: '99G' }));
  await view.waitForSelector('.note:has-text("No allocation matches these filters.")');
});

test('widths and themes: one of the lower tables at 400 pixels, accessible', async (t) => {
  for (const theme of ['light', 'dark']) {
    const view = await open(t, { sel: `fn:${remember}` }, { theme });
    await view.waitForSelector('.pane-lines .grid-room .tr a');
    await checkAccessible(view, `caller / callee, ${theme}`);
  }
  const narrow = await open(t, {}, { width: 400, height: 800 });
  const wide = await narrow.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 400, `the page is ${wide} pixels wide`);
  const visible = () =>
    narrow.$$eval('.pane', (panes) =>
      panes.filter((p) => p.offsetWidth).map((p) => p.className.split('-').pop()),
    );
  await eventually(visible, ['callers'], 'callers first');
  await narrow.click('.calls-choice button:has-text("Lines")');
  await eventually(visible, ['lines'], 'lines');
  await checkAccessible(narrow, 'caller / callee at 400 pixels');
});
