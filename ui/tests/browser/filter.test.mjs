/* The filter panel: every filter, errors while typing, the live count, Apply, Reset, curl. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import {
  addressOf,
  checkAccessible,
  clipboardOf,
  plain,
  program,
  shell,
  suite,
  waitForText,
} from './harness.mjs';

const s = suite();
let server;
let id;
const ASKED_ELSEWHERE = ['frame_regex']; // the find field of Call sites; "Has function", "Has file" here
const BAD_REQUEST = [/status of 400/]; // what the console says of an expression the server refused

before(async () => {
  server = await s.serve([s.record('node.dat', [program('demo_node'), '1'])]);
  [{ id }] = await server.ready();
});

const open = async (t, query = '', options = {}) => {
  const page = await s.open(t, `${server.url}#/${id}/sites${query}`, options);
  await page.waitForFunction(() => document.querySelector('.sum')?.textContent);
  return page;
};
const openPanel = async (t, query, options) => {
  const page = await open(t, query, options);
  await page.keyboard.press('f');
  await page.waitForSelector('.sheet');
  return page;
};
const matching = async (query) =>
  (await server.json(`/api/v1/${id}/groups?by=stack&count=0&${query}`)).total.allocations;

test('every filter of the API has a field', async (t) => {
  const page = await openPanel(t, '?t0=1&t1=1000000');
  const { parameters } = await server.json('/api/v1/filters');
  const wanted = parameters.map((p) => ({ from: 't0', to: 't1' })[p.name] ?? p.name);
  const keys = await page.$$eval('.sheet [data-key]', (all) => all.map((e) => e.dataset.key));
  assert.deepEqual(
    wanted.filter((name) => !keys.includes(name) && !ASKED_ELSEWHERE.includes(name)),
    [],
  );
  await waitForText(page, '.sheet .matches', /allocation(s match| matches)$/);
  await checkAccessible(page, 'the filter panel');
});

test('the foot counts what matches while somebody types, Apply applies it', async (t) => {
  const page = await openPanel(t);
  await page.fill('#field-size_min', '0.25 KiB');
  const n = await matching('size_min=256');
  assert.ok(n > 0 && n < (await matching('')), 'the filter must leave some allocations');
  const text =
    n < 100_000 ? String(n).replace(/\B(?=(\d{3})+$)/g, ' ') : `${Math.round(n / 1000)} k`;
  await waitForText(page, '.sheet .matches', new RegExp(`^${text} allocations match$`));
  await page.click('.sheet .btn.primary');
  await page.waitForSelector('.sheet', { state: 'detached' });
  assert.equal((await addressOf(page)).size_min, '256');
  await waitForText(page, '.chips', /Bytes asked for ?at least 256 B/);
  await waitForText(page, '.sum', new RegExp(`^${text} of `));
});

test('what cannot be read is said under its field, and Apply leads there', async (t) => {
  const page = await openPanel(t, '', { allowed: BAD_REQUEST });
  await page.fill('#field-size_max', '4x');
  await waitForText(page, '#error-size_min', /^Not a size\./);
  await page.fill('#field-size_max', '');
  /* two expressions at once: the server names one at a time */
  await page.fill('#field-function_regex', 'gossip::(seen');
  await page.fill('#field-negative_module_regex', 'a**');
  await waitForText(
    page,
    '#error-function_regex',
    /^The group opened at character 9 is not closed\.$/,
  );
  await waitForText(
    page,
    '#error-negative_module_regex',
    /^The \* at character 3 has nothing to repeat\.$/,
  );
  assert.equal(await page.getAttribute('#field-function_regex', 'aria-invalid'), 'true');
  await page.click('.sheet .btn.primary');
  await waitForText(page, '.sheet .matches', /^Not applied\. “Has function” cannot be read\.$/);
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'field-function_regex');
  assert.equal((await addressOf(page)).function_regex, undefined);
  await page.fill('#field-function_regex', 'main');
  await page.fill('#field-negative_module_regex', '');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.sheet', { state: 'detached' });
  assert.equal((await addressOf(page)).function_regex, 'main');
});

test('Enter right after typing waits for the word of the server', async (t) => {
  const page = await openPanel(t, '', { allowed: BAD_REQUEST });
  await page.focus('#field-source_regex');
  await page.keyboard.type('(');
  await page.keyboard.press('Enter');
  await waitForText(
    page,
    '#error-source_regex',
    /^The group opened at character 1 is not closed\.$/,
  );
  assert.equal((await addressOf(page)).source_regex, undefined);
});

test('a lower bound above the upper one stops Apply', async (t) => {
  const page = await openPanel(t);
  await page.fill('#field-lifetime_min', '1m');
  await page.fill('#field-lifetime_max', '59s');
  await page.keyboard.press('Enter');
  await waitForText(page, '.sheet .matches', /^Not applied\. “Lived for” cannot be read\.$/);
  assert.ok(await page.isVisible('.sheet'));
});

test('Reset empties every field, and applying that removes all filters', async (t) => {
  const page = await openPanel(t, '?size_min=64&lifetime=only_leaked&t0=0&t1=500000000');
  assert.equal(await page.inputValue('#field-size_min'), '64');
  assert.equal(await page.inputValue('#field-t1'), '00:00:00.500');
  await page.click('.sheet button:has-text("Reset")');
  assert.equal(await page.inputValue('#field-size_min'), '');
  assert.equal(await page.getAttribute('.seg [data-key=lifetime]', 'aria-pressed'), 'true');
  await page.click('.sheet .btn.primary');
  await page.waitForSelector('.chip:has-text("Bytes")', { state: 'detached' });
  assert.deepEqual(await addressOf(page), { path: `#/${id}/sites` });
});

test('a moment keeps all its digits when nobody changes it', async (t) => {
  const page = await openPanel(t, '?alive_at=%2B123456789ns&size_min=64');
  assert.equal(await page.inputValue('#field-alive_at'), '00:00:00.123');
  await page.fill('#field-size_min', '65');
  await page.click('.sheet .btn.primary');
  await page.waitForSelector('.sheet', { state: 'detached' });
  const { alive_at, size_min } = await addressOf(page);
  assert.deepEqual([alive_at, size_min], ['+123456789ns', '65']);
});

test('“peak” is a moment', async (t) => {
  const page = await openPanel(t);
  const { peak_ns } = await server.json(`/api/v1/${id}/summary`);
  await page.fill('#field-alive_at', 'peak');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.sheet', { state: 'detached' });
  assert.equal((await addressOf(page)).alive_at, `+${peak_ns}ns`);
});

test('a chip opens the panel at its field; Escape closes it and gives the focus back', async (t) => {
  const page = await open(t, '?last_size_min=64');
  await page.click('.chip button[title=Change]');
  await page.waitForSelector('.sheet');
  assert.equal(await page.evaluate(() => document.activeElement?.dataset.key), 'last_size_min');
  await page.keyboard.press('Escape');
  await page.waitForSelector('.sheet', { state: 'detached' });
  assert.equal(await page.evaluate(() => document.activeElement?.title), 'Change');
});

test('the timeline stays usable beside the panel, which follows it', async (t) => {
  const page = await openPanel(t);
  const box = await (await page.waitForSelector('.strip-chart')).boundingBox();
  await page.fill('#field-size_min', '64');
  await page.mouse.move(box.x + box.width * 0.5, box.y + 30);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.75, box.y + 30, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction(() => document.querySelector('#field-t0')?.value);
  assert.match(await page.inputValue('#field-t0'), /^00:00:00\.\d{3}$/);
  assert.equal(await page.inputValue('#field-size_min'), '64', 'the draft is kept');
});

test('choices beyond the first three are in a menu and named below', async (t) => {
  const page = await openPanel(t);
  await page.click('.sheet button:has-text("More")');
  await page.click('.menu button:has-text("Nothing of its call site")');
  await waitForText(page, '.sheet .form .hint', /Nothing of its call site/);
  await page.click('.sheet .btn.primary');
  await page.waitForSelector('.sheet', { state: 'detached' });
  assert.equal((await addressOf(page)).lifetime, 'only_whole_group_leaked');
});

test('Copy as curl copies a command that answers with what the panel counts', async (t) => {
  const page = await openPanel(t);
  await page.fill('#field-function_regex', "o'r|main");
  await page.fill('#field-size_min', '32');
  await page.click('.sheet button:has-text("Copy as curl")');
  await page.waitForSelector('.message:has-text("copied")');
  const got = shell(`${await clipboardOf(page)} -sS`, s.folder);
  assert.equal(got.status, 0, got.stderr);
  const { total_count } = JSON.parse(got.stdout);
  const query = new URLSearchParams({ function_regex: "o'r|main", size_min: '32' });
  const wanted = await server.json(`/data/${id}/allocation_groups?${query}`);
  assert.equal(total_count, wanted.total_count);
  assert.ok(total_count > 0);
});

test('400 pixels: the panel fills the width', async (t) => {
  const page = await s.open(t, `${server.url}#/${id}/sites`, { width: 400, height: 800 });
  await page.click('.chip.add button');
  const box = await (await page.waitForSelector('.sheet')).boundingBox();
  assert.equal(box.width, 400);
  const wide = await page.$$eval('.sheet-body *', (all) =>
    all.filter((e) => e.getBoundingClientRect().right > 400.5).map((e) => e.outerHTML.slice(0, 80)),
  );
  assert.deepEqual(wide, []);
});

test('wall clock: moments are times of day, in fields and chips', async (t) => {
  const { start_ns } = await server.json(`/api/v1/${id}/summary`);
  const page = await open(t, '?t0=100000000&t1=600000000');
  await page.evaluate(() => localStorage.setItem('memory-profiler', '{"wallClock":true}'));
  await page.reload();
  const clock = (ns) => new Date(Math.floor((start_ns + ns) / 1e6)).toISOString().slice(11, 23);
  const [from, to] = [clock(1e8), clock(6e8)];
  const near = (text) => new RegExp(text.slice(0, -1).replace('.', '\\.'));
  await waitForText(page, '.chips', near(from));
  await waitForText(page, '.strip-label', near(to));
  await page.keyboard.press('f');
  await page.waitForSelector('.sheet');
  assert.match(await page.inputValue('#field-t0'), near(from));
  await page.fill('#field-alive_at', clock(3e8));
  await page.click('.sheet .btn.primary');
  await page.waitForSelector('.sheet', { state: 'detached' });
  const at = Number(/\d+/.exec((await addressOf(page)).alive_at)[0]);
  assert.ok(Math.abs(at - 3e8) < 2e6, `${at} ns`);
  assert.match(plain(await page.textContent('.strip-legend .moment')), /\d\d:\d\d:\d\d\.\d{3}$/);
});
