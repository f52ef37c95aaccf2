/* Search and commands, the list of keys, settings. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import {
  addressOf,
  checkAccessible,
  clipboardOf,
  plain,
  program,
  suite,
  waitForText,
} from './harness.mjs';

const s = suite();
let server;
let id;

before(async () => {
  server = await s.serve([s.record('node.dat', [program('demo_node'), '1'])]);
  [{ id }] = await server.ready();
});

const open = async (t, page_ = 'sites', options = {}) => {
  const page = await s.open(t, `${server.url}#/${id}/${page_}`, options);
  await page.waitForSelector('.nav a[aria-current=page]', { state: 'attached' });
  return page;
};
/* Opens the box and types. */
const search = async (page, text) => {
  await page.keyboard.press('Control+k');
  await page.waitForSelector('.palette');
  await page.keyboard.type(text);
};
const closed = (page) => page.waitForSelector('.palette', { state: 'detached' });
const choice = '.palette [role=option][aria-selected=true]';

test('functions are found with what they leaked, as the API has it', async (t) => {
  const page = await open(t);
  await search(page, 'SEENcache');
  const found = await server.json(`/api/v1/${id}/search?q=SEENcache&count=6`);
  assert.ok(found.functions.length > 0);
  await page.waitForSelector('.palette [role=group][aria-label=Functions]');
  const shown = await page.locator('.palette [aria-label=Functions] [role=option]').count();
  assert.equal(shown, found.functions.length);
  const { leaked_bytes } = found.functions[0].cost;
  const mib = (leaked_bytes / 1024 / 1024).toFixed(2);
  await waitForText(page, `${choice} .end`, new RegExp(`^${mib.replace('.', '\\.')} MiB leaked$`));
  assert.equal(plain(await page.textContent(`${choice} mark`)).toLowerCase(), 'seencache');
  assert.equal(await page.getAttribute('.palette input', 'aria-activedescendant'), 'answer-0');
  await checkAccessible(page, 'the search');
});

test('Enter shows the function in the flame graph', async (t) => {
  const page = await open(t, 'allocations');
  await search(page, 'SeenCache::remember');
  await page.waitForSelector(`${choice} .sym`);
  await page.keyboard.press('Enter');
  await closed(page);
  const at = await addressOf(page);
  assert.equal(at.path, `#/${id}/flame`);
  assert.match(at.sel, /^fn:.*SeenCache::remember/);
});

test('Enter waits for the answers of a text that was typed a moment ago', async (t) => {
  const page = await open(t, 'allocations');
  await search(page, 'SeenCache::remember');
  await page.keyboard.press('Enter');
  await closed(page);
  const at = await addressOf(page);
  assert.deepEqual([at.path, at.function_regex], [`#/${id}/flame`, undefined]);
});

test('Ctrl Enter filters by the text, Alt Enter excludes it', async (t) => {
  const page = await open(t);
  await search(page, 'seen');
  await waitForText(page, '.palette [aria-label="Filter by it"]', /Only stacks with \/seen\/i/);
  await page.keyboard.press('Control+Enter');
  await closed(page);
  assert.equal((await addressOf(page)).function_regex, '(?i)seen');
  const all = await server.json(`/api/v1/${id}/groups?by=stack&count=0`);
  const some = await server.json(`/api/v1/${id}/groups?by=stack&count=0&function_regex=(?i)seen`);
  assert.ok(some.total_count > 0 && some.total_count < all.total_count);
  await waitForText(
    page,
    '.sum',
    new RegExp(`, ${some.total_count} of ${all.total_count} call sites$`),
  );
  await search(page, 'seen');
  await waitForText(page, '.palette [aria-label="Filter by it"]', /Only stacks without \/seen\/i/);
  await page.keyboard.press('Alt+Enter');
  await closed(page);
  assert.equal((await addressOf(page)).negative_function_regex, '(?i)seen');
});

test('a chosen answer is what Ctrl Enter filters by', async (t) => {
  const page = await open(t);
  await search(page, 'node');
  await page.waitForSelector('.palette [aria-label=Functions] [role=option] >> nth=1');
  await page.keyboard.press('ArrowDown');
  const name = plain(await page.textContent(`${choice} .fn`));
  await waitForText(
    page,
    '.palette [aria-label="Filter by it"]',
    /^Filter by it ?Only stacks with [^/]/,
  );
  await page.keyboard.press('Control+Enter');
  await closed(page);
  const regex = (await addressOf(page)).function_regex;
  assert.match(regex, /^\^.*\$$/, `${name}: ${regex}`);
  const { total } = await server.json(
    `/api/v1/${id}/groups?by=stack&count=0&function_regex=${encodeURIComponent(regex)}`,
  );
  assert.ok(total.allocations > 0, 'the exact name must match its own function');
});

test('files lead to their source', async (t) => {
  const page = await open(t, 'sites', { allowed: [/status of 40\d/] });
  await search(page, 'demo_node.cpp');
  await page.click('.palette [aria-label=Files] [role=option]');
  await closed(page);
  const at = await addressOf(page);
  assert.equal(at.path, `#/${id}/source`);
  assert.match(at.file, /demo_node\.cpp$/);
});

test('an address leads to its allocations', async (t) => {
  const { allocations } = await server.json(`/api/v1/${id}/allocations?count=1`);
  const address = String(allocations[0].address).replace(/^0x/, '');
  const page = await open(t);
  await search(page, `@${address}`);
  const query = `address_min=0x${address}&address_max=0x${address}`;
  const { matched } = await server.json(`/api/v1/${id}/summary?${query}`);
  const n = String(matched.allocations).replace(/\B(?=(\d{3})+$)/g, ' ');
  await waitForText(page, `${choice} .end`, new RegExp(`^${n} allocations?$`));
  await page.keyboard.press('Enter');
  await closed(page);
  const at = await addressOf(page);
  assert.equal(at.path, `#/${id}/allocations`);
  assert.deepEqual([at.address_min, at.address_max], [`0x${address}`, `0x${address}`]);
});

test('a time is pinned, a range is selected', async (t) => {
  const page = await open(t);
  await search(page, ':00:00:00.5');
  await waitForText(page, choice, /^Pin 00:00:00\.500$/);
  await page.keyboard.press('Enter');
  await closed(page);
  assert.equal((await addressOf(page)).at, '500000000');
  await search(page, ':100ms-0.5s');
  await waitForText(page, choice, /^Select 00:00:00\.100 to 00:00:00\.500$/);
  await page.keyboard.press('Enter');
  await closed(page);
  const { t0, t1 } = await addressOf(page);
  assert.deepEqual([t0, t1], ['100000000', '500000000']);
  await search(page, ':9h');
  await waitForText(page, '.palette .none', /^The recording ends at 00:00:0/);
  await page.keyboard.press('Escape');
  await closed(page);
});

test('commands: pages, theme, filters, the peak', async (t) => {
  const page = await open(t, 'sites?size_min=64');
  const run = async (text, label) => {
    await search(page, '>' + text);
    await waitForText(page, choice, label);
    await page.keyboard.press('Enter');
    await closed(page);
  };
  await run('threads', /^Go to Threads/);
  assert.equal((await addressOf(page)).path, `#/${id}/threads`);
  await run('dark', /^Theme: dark/);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  await run('clear all', /^Clear all filters/);
  assert.equal((await addressOf(page)).size_min, undefined);
  await run('pin', /^Pin the peak/);
  const { peak_ns } = await server.json(`/api/v1/${id}/summary`);
  assert.equal((await addressOf(page)).at, String(peak_ns));
  await run('copy link', /^Copy link/);
  await page.waitForSelector('.message:has-text("Link copied.")');
  assert.equal(await clipboardOf(page), page.url());
  await run('settings', /^Settings/);
  await page.waitForSelector('.dialog');
  await page.keyboard.press('Escape');
  await page.waitForSelector('.dialog', { state: 'detached' });
  await search(page, '>no such thing');
  await waitForText(page, '.palette .none', /^No command is called “no such thing”\.$/);
});

test('every page is a command', async (t) => {
  const page = await open(t);
  const pages = (await page.locator('.nav a > span:first-of-type').allTextContents()).map(plain);
  assert.ok(pages.length > 12);
  await search(page, '>go to');
  await page.waitForSelector(choice);
  const labels = (await page.locator('.palette [role=option] .what').allTextContents()).map(plain);
  assert.deepEqual(
    pages.map((p) => `Go to ${p}`).filter((l) => !labels.includes(l)),
    [],
  );
});

test('nothing found is said', async (t) => {
  const page = await open(t);
  await search(page, 'zzzqqq');
  await waitForText(
    page,
    '.palette .none',
    /^No function, file or module has “zzzqqq” in its name\.$/,
  );
});

test('P pins the peak, ? lists the keys', async (t) => {
  const page = await open(t);
  const { peak_ns } = await server.json(`/api/v1/${id}/summary`);
  await page.waitForFunction(() => document.querySelector('.sum')?.textContent);
  await page.keyboard.press('p');
  await page.waitForFunction((at) => location.hash.includes(`at=${at}`), peak_ns);
  await page.keyboard.press('?');
  await waitForText(page, '.key-list', /Ctrl K ?Search and commands/);
  await checkAccessible(page, 'the list of keys');
  await page.keyboard.press('s'); // no letter acts behind a dialog
  await page.keyboard.press('Escape');
  await page.waitForSelector('.key-list', { state: 'detached' });
  assert.equal((await addressOf(page)).path, `#/${id}/sites`);
});

test('settings: own code is checked by the server, the clock and rows change at once', async (t) => {
  const page = await open(t, 'recordings', { allowed: [/status of 400/] });
  await page.waitForSelector('.recs .grid-body [role=row]');
  const height = () => page.$eval('.recs .grid-room [role=row]', (e) => e.offsetHeight);
  assert.equal(await height(), 44);
  await search(page, '>settings');
  await page.waitForSelector(choice);
  await page.keyboard.press('Enter');
  await page.waitForSelector('.dialog');
  await page.keyboard.type('a(b');
  await waitForText(page, '#error-own', /^The group opened at character 2 is not closed\.$/);
  const kept = () =>
    page.evaluate(() => JSON.parse(localStorage.getItem('memory-profiler') ?? '{}'));
  assert.ok(!(await kept()).ownCode, 'a wrong expression is not kept');
  await page.fill('#setting-own', 'net::');
  await page.waitForFunction(
    () => JSON.parse(localStorage.getItem('memory-profiler') ?? '{}').ownCode === 'net::',
  );
  await page.fill('#setting-editor', 'javascript:alert(1)//%f');
  await waitForText(page, '#error-editor', /runs a script/);
  await page.click('.dialog button:has-text("Compact")');
  await page.waitForFunction(
    () => document.querySelector('.recs .grid-room [role=row]').offsetHeight === 38,
  );
  await page.click('.dialog button:has-text("Wall clock")');
  await checkAccessible(page, 'the settings');
  const { wallClock, density, editor } = await kept();
  assert.deepEqual([wallClock, density, editor], [true, 'compact', 'vscode://file/%f:%l']);
  await page.keyboard.press('Escape');
  await page.goto(`${server.url}#/${id}/sites`);
  const { start_ns, peak_ns } = await server.json(`/api/v1/${id}/summary`);
  const hour = new Date((start_ns + peak_ns) / 1e6).toISOString().slice(11, 19);
  await waitForText(page, '.strip-legend .moment', new RegExp(`^At the peak, ${hour}`));
});

test('400 pixels: the search fills the width', async (t) => {
  const page = await open(t, 'sites', { width: 400, height: 800 });
  await page.click('.search-btn');
  const box = await (await page.waitForSelector('.palette')).boundingBox();
  assert.deepEqual([box.x, box.y, box.width], [0, 0, 400]);
});
