/* Overview and what it leads to: figures of a time range, cards, chips, badges, the filter panel. */
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import {
  addressOf,
  checkAccessible,
  plain,
  program,
  shell,
  suite,
  waitForText,
} from './harness.mjs';

const s = suite();
let server;
let run;
let range; // parameters of the address, and of the API

before(async () => {
  server = await s.serve([s.record('node.dat', [program('demo_node'), '2'])]);
  await server.ready();
  run = (await server.json('/api/v1/last/summary')).duration_ns;
  const [t0, t1] = [Math.round(run * 0.4), Math.round(run * 0.6)];
  range = { hash: `t0=${t0}&t1=${t1}`, api: `from=%2B${t0}ns&to=%2B${t1}ns`, ns: t1 - t0 };
});

const at = (page, rest = '') => `${server.url}#/last/${page}${rest && '?' + rest}`;
const number = (text) => {
  const found = /([\d ]+(?:\.\d+)?) ?([kMG]?)/.exec(text);
  return Number(found[1].replace(/ /g, '')) * { '': 1, k: 1e3, M: 1e6, G: 1e9 }[found[2]];
};

test('rates of a range are per second of the range, and figures say what they are of', async (t) => {
  const { matched } = await server.json(`/api/v1/last/summary?${range.api}`);
  const page = await s.open(t, at('overview', range.hash));
  const text = await waitForText(page, '.tile.c-allocs .sub', /per second/);
  const want = matched.allocations / (range.ns / 1e9);
  assert.ok(Math.abs(number(text) / want - 1) < 0.01, `${text}, not ${want}`);
  await waitForText(page, '.tile.c-peak .sub', /^of blocks allocated in the range$/);
  await waitForText(page, '.tile.c-rss .sub', /^of the whole recording$/);
  await waitForText(page, '.findings .about', /of blocks allocated in the range$/);
  await waitForText(page, '.card h2', /all that is alive, also from before the range/);
  await checkAccessible(page, 'Overview of a range');
});

test('cards fill the line, and their words are not cut', async (t) => {
  for (const rest of ['', range.hash]) {
    const page = await s.open(t, at('overview', rest));
    await page.waitForSelector('.finding');
    const [line, cards] = await page.evaluate(() => [
      document.querySelector('.findings').getBoundingClientRect().right,
      [...document.querySelectorAll('.finding')].map((card) => ({
        right: card.getBoundingClientRect().right,
        isCut: [...card.querySelectorAll(':scope > .dim')].some(
          (e) => e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight + 1,
        ),
      })),
    ]);
    assert.ok(Math.abs(Math.max(...cards.map((c) => c.right)) - line) < 2, 'a slot is empty');
    assert.ok(!cards.some((c) => c.isCut));
  }
});

test('a card opens the panel, even after somebody closed it', async (t) => {
  const page = await s.open(t, at('overview'));
  await page.click('.finding .whole');
  await page.waitForSelector('.details.open');
  await page.click('.details-head button');
  await page.waitForSelector('.details', { state: 'detached' });
  await page.click('.nav a:has-text("Overview")');
  await page.click('.finding .whole');
  await page.waitForSelector('.details.open');
});

test('a card filters by a name that people can read', async (t) => {
  const { findings } = await server.json('/api/v1/last/findings');
  const leak = findings.find((f) => f.kind === 'leak');
  const page = await s.open(t, at('overview'));
  await page.click('.finding:has-text("Likely leak") .whole');
  const text = await waitForText(page, '.chip', /Allocated by/);
  assert.doesNotMatch(text, /[\\^$]/);
  const title = await page.getAttribute('.chip button', 'title');
  assert.ok(title.startsWith(leak.blame.function), title);
  /* badges are of what matches */
  const { total_count, total } = await server.json(
    `/api/v1/last/groups?by=stack&count=0&blame_regex=${encodeURIComponent(leak.filter.blame_regex)}`,
  );
  assert.ok(total.allocations > 0);
  await waitForText(page, '.nav a:has-text("Call sites") .n', new RegExp(`^${total_count}$`));
});

test('a leak leads to what grew between two moments, sorted', async (t) => {
  const page = await s.open(t, at('overview'));
  await page.click('.finding:has-text("Likely leak") .link');
  await page.waitForSelector('.growth .grid-room .tr');
  const { path, tm, t0, t1 } = await addressOf(page);
  assert.match(path, /\/timeline$/);
  assert.equal(tm, 'grew');
  assert.ok(Number(t0) > 0 && Number(t1) < run);
  const { rows } = await server.json(
    `/api/v1/last/growth?from=%2B${t0}ns&to=%2B${t1}ns&by=function&order=dsc`,
  );
  const sorted = [...rows].sort(
    (a, b) => b.change_bytes - a.change_bytes || b.to_bytes - a.to_bytes,
  );
  assert.deepEqual(
    rows.map((r) => [r.change_bytes, r.to_bytes]),
    sorted.map((r) => [r.change_bytes, r.to_bytes]),
  );
});

test('a click beside the filter panel closes it and acts', async (t) => {
  const page = await s.open(t, at('overview'));
  await page.waitForSelector('.finding');
  await page.keyboard.press('f');
  await page.waitForSelector('.sheet');
  await page.click('.nav a:has-text("Threads")');
  await page.waitForSelector('.sheet', { state: 'detached' });
  await page.waitForSelector('.nav a[aria-current=page]:has-text("Threads")');
});

test('charts of the Timeline say what their points are', async (t) => {
  const page = await s.open(t, at('timeline'));
  const total = await waitForText(page, '.tl-legend', /largest in each .* mean of each/);
  assert.match(total, /dashed: RSS/);
  await page.click('.seg button:text-is("By function")');
  await waitForText(page, '.tl-legend', /at the end of each/);
  const box = await page.locator('.tl-card .timechart').first().boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  /* the names are at the right edge: the head has the sum alone */
  const head = await waitForText(page, '.tl-card:first-child .tl-legend', /^all [\d.]+ .?i?B/);
  assert.doesNotMatch(plain(head), /::/);
});

test('the Timeline stacks as many functions as the reader chooses, and the address keeps the number', async (t) => {
  const page = await s.open(t, at('timeline', 'by=function'));
  const asked = (n) =>
    page.waitForResponse((r) => {
      const query = new URL(r.url()).searchParams;
      return query.get('series') === 'bytes' && query.get('top') === String(n);
    });
  const [response] = await Promise.all([asked(3), page.click('.seg button:text-is("3")')]);
  const { series } = await response.json();
  assert.equal(series.length, 4, 'three functions and all others');
  assert.equal((await addressOf(page)).top, '3');
  await Promise.all([asked(28), page.goto(at('timeline', 'by=function&top=28'))]);
  await page.waitForSelector('.seg button[aria-pressed=true]:text-is("28")');
  await checkAccessible(page, 'Timeline with many functions');
});

test('the panel of a function follows the time range', async (t) => {
  const { findings } = await server.json('/api/v1/last/findings');
  const name = encodeURIComponent(findings.find((f) => f.kind === 'leak').blame.function);
  const page = await s.open(t, at('flame', `sel=fn:${name}&cost=leaked`));
  await waitForText(page, '.details .block h3', /Alive over time/);
  await page.goto(at('flame', `sel=fn:${name}&cost=leaked&${range.hash}`));
  await waitForText(page, '.details .block h3', /Alive in the range/);
  await waitForText(page, '.details .where', /Of blocks allocated in it, at the end of each/);
  await waitForText(page, '.details .where', /Peak: when what matches the filters was largest/);
});

test('400 pixels: one card per line, nothing wider than the window', async (t) => {
  const page = await s.open(t, at('overview', range.hash), {
    width: 400,
    height: 800,
    theme: 'dark',
  });
  await page.waitForSelector('.finding');
  const widths = await page.evaluate(() =>
    [...document.querySelectorAll('.finding')].map((c) => c.getBoundingClientRect().width),
  );
  assert.ok(
    widths.every((w) => w > 340 && w <= 400),
    String(widths),
  );
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 400);
  await checkAccessible(page, 'Overview at 400 pixels');
});

test('code without names has one name everywhere: its place in the module', async (t) => {
  const bare = join(s.folder, 'bare_node');
  copyFileSync(program('demo_node'), bare);
  assert.equal(shell('strip -s bare_node', s.folder).status, 0);
  const server = await s.serve([s.record('bare.dat', [bare])]);
  await server.ready();
  const { findings } = await server.json('/api/v1/last/findings');
  const leak = findings.find((f) => f.kind === 'leak');
  const name = `bare_node+${leak.blame.module_offset}`;
  assert.equal(leak.blame.function, null);
  assert.ok(leak.title.startsWith(name), leak.title);

  const page = await s.open(t, `${server.url}#/last/overview`);
  await page.locator('.finding .whole', { hasText: name }).first().click();
  await waitForText(page, '.details .block-title', new RegExp(name.replace('+', '\\+')));
  assert.equal((await addressOf(page)).sel, `fn:${name}`);
  await waitForText(page, '.details', /Cost with everything it calls/);

  const { functions } = await server.json('/api/v1/last/functions?count=1000');
  assert.ok(functions.every((f) => f.function));
  await page.goto(`${server.url}#/last/callers?sel=fn:${encodeURIComponent(name)}`);
  await waitForText(page, '.calls-head', new RegExp(name.replace('+', '\\+')));
  await page.goto(`${server.url}#/last/sites?function_regex=^\\Q${encodeURIComponent(name)}\\E$`);
  await waitForText(page, '.chips', /allocations/);
  const sites = await server.json(
    `/api/v1/last/groups?by=stack&count=0&function_regex=${encodeURIComponent(`^\\Q${name}\\E$`)}`,
  );
  assert.ok(sites.total_count > 0);
  await waitForText(page, '.foot', new RegExp(`^${sites.total_count} call site`));
});

test('the Timeline has frees beside allocations, and saves a chart as an image', async (t) => {
  const page = await s.open(t, at('timeline'));
  await waitForText(page, '.tl-card:nth-of-type(3) .tl-legend', /dashed: frees per second$/);
  await page.waitForSelector('.tl-card:nth-of-type(3) canvas');
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.click('.tl-card:nth-of-type(3) .save'),
  ]);
  assert.equal(file.suggestedFilename(), 'allocations-per-second.png');
  const bytes = readFileSync(await file.path());
  assert.equal(bytes.subarray(1, 4).toString(), 'PNG');
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  const drawn = await page.$eval('.tl-card:nth-of-type(3) canvas', (c) => [c.width, c.height]);
  assert.equal(width, drawn[0]);
  assert.ok(height > drawn[1], 'with a title');
});

test('what grew goes by what the charts go by', async (t) => {
  const page = await s.open(t, at('timeline', `by=package&${range.hash}`));
  const { rows } = await server.json(`/api/v1/last/growth?${range.api}&by=package&order=dsc`);
  await waitForText(page, '.growth .head', /^Package/);
  await page.waitForSelector('.growth .grid-room .tr');
  const names = await page.$$eval('.growth .grid-room .tr > :first-child', (cells) =>
    cells.map((c) => c.textContent.trim()),
  );
  assert.deepEqual(
    names,
    rows.map((r) => r.name),
  );
});
