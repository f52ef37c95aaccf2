/* The frame: navigation, strip, chips, keys, theme, narrow windows. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { addressOf, checkAccessible, plain, program, suite, waitForText } from './harness.mjs';

const s = suite();
let server;

before(async () => {
  const file = s.record('node.dat', [program('demo_node'), '1']);
  server = await s.serve([file]);
  await server.ready();
});

test('the frame shows the recording and its pages', async (t) => {
  const page = await s.open(t, server.url);
  await page.waitForSelector('.nav a[aria-current=page]');
  assert.match(plain(await page.textContent('.rec-switch')), /^demo_node/);
  const summary = await server.json('/api/v1/last/summary');
  await page.waitForFunction(() => document.querySelector('.sum')?.textContent);
  assert.match(
    plain(await page.textContent('.sum')),
    new RegExp(`, ${summary.call_sites} call sites$`),
  );
  await checkAccessible(page, 'the frame');
});

test('a drag over the strip filters, Backspace clears', async (t) => {
  const page = await s.open(t, server.url);
  const box = await (await page.waitForSelector('.strip-chart')).boundingBox();
  await page.waitForFunction(() => document.querySelector('.sum')?.textContent);
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * 0.25, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, y, { steps: 4 });
  await page.mouse.up();
  await page.waitForSelector('.chip:has-text("Allocated in")');
  const { t0, t1 } = await page.evaluate(() =>
    Object.fromEntries(new URLSearchParams(location.hash.split('?')[1])),
  );
  const { duration_ns } = await server.json('/api/v1/last/summary');
  assert.ok(Math.abs(t0 / duration_ns - 0.25) < 0.01, `${t0} of ${duration_ns}`);
  assert.ok(Math.abs(t1 / duration_ns - 0.5) < 0.01, `${t1} of ${duration_ns}`);
  await page.keyboard.press('Backspace');
  await page.waitForSelector('.chip:has-text("Allocated in")', { state: 'detached' });
});

test('a right click on a moment offers what can be done with it', async (t) => {
  const page = await s.open(t, server.url);
  const { duration_ns } = await server.json('/api/v1/last/summary');
  const box = await (await page.waitForSelector('.strip-chart')).boundingBox();
  const at = async (part, item) => {
    await page.mouse.click(box.x + box.width * part, box.y + 30, { button: 'right' });
    await page.click(`.menu [role^=menuitem]:has-text("${item}")`);
  };
  const near = (ns, part) => Math.abs(Number(ns) / duration_ns - part) < 0.01;
  await at(0.25, 'Begin the range here');
  await page.waitForSelector('.chip:has-text("Allocated in")');
  await at(0.75, 'End the range here');
  await page.waitForFunction(() => location.hash.includes('t1='));
  let a = await addressOf(page);
  assert.ok(near(a.t0, 0.25) && near(a.t1, 0.75), `${a.t0} to ${a.t1}`);
  await at(0.5, 'Alive in the whole range');
  await page.waitForSelector('.chip:has-text("Also alive at")');
  a = await addressOf(page);
  assert.equal(a.t0, undefined);
  assert.ok(near(a.alive_at.replace(/[+ns]/g, ''), 0.25), a.alive_at);
  await at(0.5, 'Pin this moment');
  await page.waitForFunction(() => location.hash.includes('at='));
  assert.ok(near((await addressOf(page)).at, 0.5));
  /* of a chart, too */
  await page.goto(`${server.url}#/last/timeline`);
  await page.waitForSelector('.timechart canvas');
  await page.click('.timechart >> nth=1', { button: 'right', position: { x: 400, y: 40 } });
  await page.click('.menu [role^=menuitem]:has-text("Memory map of this moment")');
  await page.waitForFunction(() => /\/map\?.*at=\d/.test(location.hash));
});

test('keys lead to pages', async (t) => {
  const page = await s.open(t, server.url);
  await page.waitForSelector('.nav a[aria-current=page]');
  await page.keyboard.press('g');
  await page.keyboard.press('s');
  await page.waitForSelector('.nav a[aria-current=page]:has-text("Call sites")');
});

test('markers of the program are in the strip; suppressed leaks are named', async (t) => {
  const file = s.record('markers.dat', [program('uses_c_api'), 'markers']);
  const rules = join(s.folder, 'known.supp');
  writeFileSync(rules, '# by intention\nleak:^markers$\n');
  const own = await s.serve([file], ['--suppressions', rules, '--no-built-in-suppressions']);
  await own.ready();
  const summary = await own.json('/api/v1/last/summary');
  assert.deepEqual(
    summary.markers.map((m) => m.value),
    [1000003, 2000006, 3000009, 4294967295],
  );
  const [rule] = summary.suppressions;
  assert.deepEqual([rule.pattern, rule.leaked_bytes], ['^markers$', 40001 + 40002 + 40003]);
  const page = await s.open(t, own.url);
  await waitForText(page, '.strip .markers', /1000003 at .*, 4294967295 at /);
  await waitForText(page, '.tile.c-leaked', /117 KiB suppressed/);
  await waitForText(page, '.health', /117 KiB of leaks suppressed/);
  await waitForText(page, '.health', /leak:\^markers\$ 117 KiB in 1 call site/);
  await checkAccessible(page, 'an Overview with suppressed leaks');
});

test('times without data: in words in the strip, under the pointer, and in the charts', async (t) => {
  const file = s.record('pause.dat', [program('uses_c_api'), 'pause']);
  const own = await s.serve([file]);
  const [{ id }] = await own.ready();
  const { gaps, duration_ns } = await own.json('/api/v1/last/summary');
  assert.equal(gaps.length, 1);
  const page = await s.open(t, `${own.url}#/${id}/timeline`);
  await waitForText(page, '.strip .gaps', /^Recording was switched off from .* to /);
  const box = await page.locator('.strip-chart').boundingBox();
  const middle = (gaps[0].from_ns + gaps[0].to_ns) / 2 / duration_ns;
  await page.mouse.move(box.x + box.width * middle, box.y + 20);
  await waitForText(page, '.strip-legend .no-data', /recording switched off/);
  await page.mouse.move(box.x + 2, box.y + 20);
  await page.waitForSelector('.strip-legend .no-data', { state: 'detached' });
  await checkAccessible(page, 'a recording that was switched off');
});

test('400 pixels: navigation at the bottom, nothing wider than the window', async (t) => {
  const page = await s.open(t, server.url, { width: 400, height: 800 });
  await page.waitForSelector('.bottom-nav a[aria-current=page]');
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 400, `the page is ${width} pixels wide`);
});
