/* Realloc chains: figures, advice, an open row, links, widths. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { checkAccessible, plain, program, suite } from './harness.mjs';
import { eventually, pageUrl, parametersOf, rowsOf } from './tables.mjs';

const s = suite();
let server;

before(async () => {
  const file = s.record('node.dat', [program('demo_node'), '1']);
  server = await s.serve([file]);
  await server.ready();
});

const api = (path) => server.json(`/api/v1/last/${path}`);
const tableOf = async (page) =>
  (await rowsOf(page, '.grid.chains')).map((r) => ({ name: r.name, copied: r.values[0] }));
const fromApi = (answer) =>
  answer.rows.map((r) => ({ name: r.blame.function, copied: r.copied_bytes }));

test('call sites, bytes copied and advice are those of the API', async (t) => {
  const answer = await api('chains');
  const [first] = answer.rows;
  assert.ok(first.saved_share > 0, 'the program has chains that copy');
  const page = await s.open(t, pageUrl(server, 'chains'));
  await eventually(() => tableOf(page), fromApi(answer), 'the table');
  const text = plain(await page.textContent('.grid.chains .tr[aria-rowindex="2"]'));
  const percent = first.saved_share === 1 ? '100' : (100 * first.saved_share).toFixed(1);
  assert.match(text, new RegExp(`reserve \\d+ [KM]?i?B: ${percent} % of copies go`));
  await checkAccessible(page, 'realloc chains');
});

test('a row opens in place, by keys and by its address', async (t) => {
  const { rows } = await api('chains');
  const stack = rows[0].stack;
  const { frames } = await api(`stack/${stack}`);
  const page = await s.open(t, pageUrl(server, 'chains'));
  await page.waitForSelector('.grid.chains .sym');
  await page.focus('.grid.chains .grid-body');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  await eventually(async () => (await parametersOf(page)).open, String(stack), 'open');
  await page.waitForSelector('.site-open .chain li');
  const own = frames.filter((f) => f.class === 'own').length;
  await eventually(
    () => page.$$eval('.site-open .stack .sw.own', (all) => all.length),
    own,
    'the whole stack',
  );
  /* the row is as high as what is in it: nothing is cut off */
  await eventually(
    () =>
      page.evaluate(() => {
        const open = document.querySelector('.row-open').getBoundingClientRect();
        const room = document.querySelector('.grid-room').getBoundingClientRect();
        return room.bottom >= open.bottom - 1;
      }),
    true,
    'room for the open row',
  );
  await checkAccessible(page, 'an open chain');
  await page.keyboard.press('ArrowLeft');
  await page.waitForSelector('.site-open', { state: 'detached' });
  await page.click('.grid.chains .grid-room .tr .sym');
  await page.waitForSelector('.site-open .chain li');
  await page.goto(pageUrl(server, 'chains', { open: stack }));
  await page.waitForSelector('.site-open .chain li');
});

test('the allocations of a site', async (t) => {
  const { rows } = await api('chains');
  const page = await s.open(t, pageUrl(server, 'chains', { open: rows[0].stack }));
  await page.click('.site-open a:has-text("Allocations")');
  await eventually(
    async () => {
      const p = await parametersOf(page);
      return [p.backtraces, p.chain_length_min];
    },
    [String(rows[0].stack), '2'],
    'the filter',
  );
});

test('sorting asks the server', async (t) => {
  const page = await s.open(t, pageUrl(server, 'chains'));
  await page.waitForSelector('.grid.chains .sym');
  await page.click('.grid.chains .head button:has-text("Longest")');
  await page.waitForSelector('.grid.chains [aria-sort]:has-text("Longest")');
  await eventually(() => tableOf(page), fromApi(await api('chains?sort_by=longest')), 'sorted');
});

test('no chain; a filter that cannot be read', async (t) => {
  const page = await s.open(t, pageUrl(server, 'chains', { size_min: '1T' }), {
    allowed: [/400 \(Bad Request\)/],
  });
  await page.waitForSelector('.note:has-text("No realloc chain begins")');
  await page.goto(pageUrl(server, 'chains', { function_regex: 'a(b' }));
  await page.waitForSelector('.note:has-text("This filter cannot be read.")');
});

test('400 pixels, dark: the advice stays with the name', async (t) => {
  const page = await s.open(t, pageUrl(server, 'chains'), {
    width: 400,
    height: 800,
    theme: 'dark',
  });
  await page.waitForSelector('.grid.chains .via b:visible:has-text("reserve")');
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 400, `the page is ${width} pixels wide`);
  await checkAccessible(page, 'realloc chains, narrow and dark');
});
