/* The page of recordings: rows, order, search, picking two, details, files that cannot be opened. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { addressOf, checkAccessible, plain, program, suite, waitForText } from './harness.mjs';

const s = suite();
let server;
let list; // as the API has it

before(async () => {
  const bad = join(s.folder, 'bad.dat');
  writeFileSync(bad, 'this is no recording\n');
  const files = [
    s.record('small.dat', [program('known_blocks')]),
    s.record('node.dat', [program('demo_node'), '1']),
    bad,
  ];
  server = await s.serve(files);
  list = await server.ready();
});

const of = (file) => list.find((r) => r.file === file);
const row = (file) => `.recs [role=row]:has-text("${file === 'bad.dat' ? file : program_(file)}")`;
const program_ = (file) => ({ 'small.dat': 'known_blocks', 'node.dat': 'demo_node' })[file];
const open = async (t, query = '', options = {}) => {
  const page = await s.open(t, `${server.url}#/last/recordings${query}`, options);
  await page.waitForSelector('.recs .grid-body [role=row]');
  return page;
};
const names = async (page) =>
  (await page.locator('.recs .grid-body .prog b').allTextContents()).map(plain);

/* 1234567 -> "1.18 MiB", as the page writes it */
function bytesText(value) {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let i = 0;
  let v = value;
  while (i < 3 && Math.round(v) >= 1024) {
    v /= 1024;
    i++;
  }
  const text = i === 0 || v >= 99.95 ? String(Math.round(v)) : v.toFixed(v >= 9.995 ? 1 : 2);
  return text.replace(/\B(?=(\d{3})+$)/g, ' ') + units[i];
}

test('rows show the figures of the API', async (t) => {
  const page = await open(t);
  for (const file of ['small.dat', 'node.dat']) {
    const r = of(file);
    const text = plain(await page.textContent(row(file)));
    assert.ok(text.includes(bytesText(r.peak_bytes)), `${text}: peak ${bytesText(r.peak_bytes)}`);
    assert.ok(text.includes(bytesText(r.leaked_bytes)), `${text}: leaked`);
    assert.ok(text.includes(bytesText(r.file_bytes)), `${text}: file`);
    assert.match(text, /Finished/);
  }
  assert.equal(await page.locator('.recs .graph svg').count(), 2);
  await checkAccessible(page, 'the recordings');
});

test('a file that cannot be opened says why, and cannot be picked', async (t) => {
  const page = await open(t);
  assert.match(plain(await page.textContent(row('bad.dat'))), /Cannot open/);
  assert.match(plain(await page.textContent(row('bad.dat'))), /Not a recording/);
  assert.ok(await page.isDisabled(`${row('bad.dat')} input`));
});

test('the newest comes first; a click on a head sorts, another one turns around', async (t) => {
  const page = await open(t);
  assert.deepEqual(await names(page), ['demo_node', 'known_blocks', 'bad.dat']);
  await page.click('.recs .head button:has-text("Program")');
  await page.waitForSelector('.recs [aria-sort=descending]:has-text("Program")');
  assert.deepEqual(await names(page), ['known_blocks', 'demo_node', 'bad.dat']);
  await page.click('.recs .head button:has-text("Program")');
  await page.waitForSelector('.recs [aria-sort=ascending]:has-text("Program")');
  assert.deepEqual(await names(page), ['bad.dat', 'demo_node', 'known_blocks']);
  assert.deepEqual(await addressOf(page), {
    path: '#/last/recordings',
    sort: 'name',
    order: 'asc',
  });
});

test('search looks at programs, command lines and states', async (t) => {
  const page = await open(t);
  await page.keyboard.press('/');
  await page.keyboard.type('cannot');
  await waitForText(page, '.recs .prog b', /^bad\.dat$/);
  await page.fill('.toolbar input', 'nothing like that');
  await waitForText(page, '.recs .note', /No recording matches\./);
  await page.click('.recs .note button');
  await page.waitForFunction(() => document.querySelectorAll('.recs .prog b').length === 3);
});

test('two picked recordings are compared: the first is the base', async (t) => {
  const page = await open(t);
  await page.check(`${row('small.dat')} input`);
  await waitForText(page, '.comparebar', /base ?known_blocks.*pick another one/);
  await page.check(`${row('node.dat')} input`);
  await waitForText(page, '.comparebar', /base ?known_blocks.*new ?demo_node/);
  await page.click('.comparebar button:has-text("Swap")');
  await waitForText(page, '.comparebar', /base ?demo_node.*new ?known_blocks/);
  await page.click('.comparebar button:has-text("Swap")');
  await waitForText(page, '.comparebar', /base ?known_blocks/);
  const before_ = page.url();
  await page.reload();
  await waitForText(page, '.comparebar', /base ?known_blocks.*new ?demo_node/);
  assert.equal(page.url(), before_);
  await page.click('.comparebar button:has-text("Cancel")');
  await page.waitForSelector('.comparebar', { state: 'detached' });
});

test('runs of one program in one minute are named by their files', async (t) => {
  const page = await open(t);
  const small = of('small.dat');
  await page.route('**/api/v1/recordings', async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    for (const r of answer.recordings)
      if (r.state === 'ready') Object.assign(r, { cmdline: small.cmdline, start_ns: 6e10 });
    await route.fulfill({ response, json: answer });
  });
  await page.goto(`${server.url}#/recordings?pick=${small.id},${of('node.dat').id}`);
  await page.reload();
  await waitForText(page, '.comparebar', /base ?small\.dat.*new ?node\.dat/);
});

test('the bar shows the new figures minus those of the base', async (t) => {
  const [base, fresh] = [of('small.dat'), of('node.dat')];
  const page = await open(t, `?pick=${base.id},${fresh.id}`);
  await page.waitForSelector('.comparebar .changes');
  const titles = await page
    .locator('.changes > span')
    .evaluateAll((all) => all.map((e) => e.title));
  const digits = titles.map((text) => Number(text.replace(/[^0-9]/g, '')));
  assert.deepEqual(digits, [
    fresh.peak_bytes - base.peak_bytes,
    fresh.leaked_bytes - base.leaked_bytes,
    fresh.allocations - base.allocations,
  ]);
});

test('keyboard: arrows select, Space picks, Enter opens', async (t) => {
  const page = await open(t);
  await page.focus('.recs .grid-body');
  await page.keyboard.press('ArrowDown');
  await page.waitForSelector(`${row('node.dat')}[aria-selected=true]`);
  assert.equal((await addressOf(page)).sel, `rec:${of('node.dat').id}`);
  await page.keyboard.press(' ');
  await page.waitForSelector('.comparebar');
  await page.keyboard.press('Enter');
  await page.waitForFunction(
    (id) => location.hash.startsWith(`#/${id}/overview`),
    of('node.dat').id,
  );
});

test('a double click opens', async (t) => {
  const page = await open(t);
  await page.dblclick(`${row('small.dat')} .prog`);
  await page.waitForFunction(
    (id) => location.hash.startsWith(`#/${id}/overview`),
    of('small.dat').id,
  );
});

test('the details panel tells about the recording', async (t) => {
  const page = await open(t);
  await page.click(`${row('small.dat')} .prog`);
  const summary = await server.json(`/api/v1/${of('small.dat').id}/summary`);
  await waitForText(page, '.details', new RegExp(`pid ${summary.pid}, `));
  const health = await server.json(`/api/v1/${of('small.dat').id}/health`);
  await waitForText(page, '.details .health', new RegExp(`^${health.lines[0].title}`));
  assert.equal(await page.locator('.details .health li').count(), health.lines.length);
  assert.match(
    await page.getAttribute('.details a:has-text("Leaks")', 'href'),
    new RegExp(`^#/${of('small.dat').id}/flame\\?cost=leaked$`),
  );
  await checkAccessible(page, 'the recordings with details');
});

/* The words are checked on an answer that says so; that real files are read and then shown, other tests
 * see. */
test('a file that is being read shows how far, and then its figures', async (t) => {
  const page = await open(t, '', {});
  let isReading = true;
  await page.route('**/api/v1/recordings', async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    const r = answer.recordings.find((x) => x.file === 'node.dat');
    if (isReading) {
      for (const key of Object.keys(r)) if (!['id', 'file'].includes(key)) delete r[key];
      Object.assign(r, {
        state: 'loading',
        percent: 62.4,
        eta_s: 40.2,
        growing: false,
        imported: null,
      });
    }
    await route.fulfill({ response, json: answer });
  });
  await page.reload();
  const loading = '.recs [role=row]:has-text("node.dat")';
  await waitForText(page, loading, /Loading.*62 % read, 41 s left/);
  assert.equal(await page.$eval(`${loading} .progress i`, (e) => e.style.width), '62.4%');
  assert.ok(await page.isDisabled(`${loading} input`));
  isReading = false;
  await waitForText(page, row('node.dat'), /Finished/); // asked again by itself
});

test('400 pixels: name, state, peak; nothing wider than the window', async (t) => {
  const page = await open(t, '', { width: 400, height: 800 });
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 400, `the page is ${width} pixels wide`);
  const heads = (await page.locator('.recs .head > span:visible').allTextContents()).map(plain);
  assert.deepEqual(heads, ['Program', 'State', 'Peak']);
});

test('dark: no serious finding', async (t) => {
  const page = await open(t, `?pick=${of('node.dat').id}`, { theme: 'dark' });
  await page.waitForSelector('.comparebar');
  await checkAccessible(page, 'the recordings in the dark theme');
});
