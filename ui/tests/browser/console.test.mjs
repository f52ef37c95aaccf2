/* Console: a script runs, its tables and graphs appear, an error marks its line; the filter as a script;
 * cancel; the script stays. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { checkAccessible, program, suite } from './harness.mjs';
import { eventually, pageUrl } from './tables.mjs';

const s = suite();
let server;

before(async () => {
  const file = s.record('node.dat', [program('demo_node'), '1']);
  server = await s.serve([file]);
  await server.ready();
});

const EDITOR = 'textarea[aria-label="Script"]';
const text = (page, selector) => page.$eval(selector, (e) => e.textContent);
async function run(page, code) {
  await page.fill(EDITOR, code);
  await page.press(EDITOR, 'Control+Enter');
}

test('a script prints figures of the API, and its graph is shown', async (t) => {
  const { total } = await server.json('/api/v1/last/groups?by=stack&count=0&size_min=48');
  const page = await s.open(t, pageUrl(server, 'console'));
  await page.waitForSelector(EDITOR);
  await run(
    page,
    'local list = allocations{ size_min = 48 }\nprint(list:count(), list:bytes())\n' +
      'print(list:group_by("function"):take(3))\ngraph():add(list:series{ by = "function" }):save("a.svg")',
  );
  await page.waitForSelector('.console-file img');
  const printed = await text(page, '.console-text');
  assert.equal(printed.split('\n')[0], `${total.allocations}\t${total.bytes}`);
  assert.match(printed, /name +allocations/);
  await eventually(
    () => page.$eval('.console-file img', (i) => i.complete && i.naturalWidth > 500),
    true,
    'the image',
  );
  assert.match(await text(page, '.console-end'), /^Done in/);
  await checkAccessible(page, 'console');
});

test('an error marks its line; the next run removes the mark', async (t) => {
  const page = await s.open(t, pageUrl(server, 'console'));
  await page.waitForSelector(EDITOR);
  await run(page, 'print("before")\n\nallocations{ nothing = 1 }\n');
  await eventually(
    () => page.$$eval('.editor-lines .bad', (all) => all.map((e) => e.textContent)),
    ['3'],
    'mark',
  );
  assert.match(await text(page, '.console-error'), /no condition 'nothing'/);
  assert.equal(await text(page, '.console-text'), 'before');
  await run(page, 'print("after")');
  await eventually(
    () => page.$$eval('.console-text', (all) => all.map((e) => e.textContent)),
    ['after'],
    'output',
  );
  assert.equal((await page.$$('.editor-lines .bad')).length, 0);
});

test('a script is cancelled, and stays after a reload', async (t) => {
  const page = await s.open(t, pageUrl(server, 'console'));
  await page.waitForSelector(EDITOR);
  await run(page, 'while true do end -- for ever');
  await page.click('button:has-text("Cancel")');
  await page.waitForSelector('text=Cancelled.');
  const running = async () =>
    (await server.json('/api/v1/requests')).requests.filter((r) =>
      r.path.includes('execute_script'),
    ).length;
  await eventually(running, 0, 'scripts that run');
  await page.reload();
  await page.waitForSelector(EDITOR);
  assert.equal(await page.inputValue(EDITOR), 'while true do end -- for ever');
});

test('the filter panel and the button open the filter as a script', async (t) => {
  const page = await s.open(t, pageUrl(server, 'sites', { size_min: '1k' }));
  await page.waitForSelector('.grid.sites .tr:not(.head)');
  await page.keyboard.press('f');
  await page.click('.sheet button:has-text("Console")');
  await page.waitForSelector(EDITOR);
  await eventually(
    async () => /size_min = "1k"/.test(await page.inputValue(EDITOR)),
    true,
    'script',
  );
  await page.press(EDITOR, 'Control+Enter');
  const { total } = await server.json('/api/v1/last/groups?by=stack&count=0&size_min=1k');
  await page.waitForSelector('.console-text');
  const printed = (await text(page, '.console-text')).replace(/\s/g, '');
  assert.ok(printed.startsWith(`${total.allocations}allocations`), printed.slice(0, 80));
});

test('Tab writes a tab, Escape and Tab leave the editor', async (t) => {
  const page = await s.open(t, pageUrl(server, 'console'));
  await page.waitForSelector(EDITOR);
  await page.fill(EDITOR, '');
  await page.press(EDITOR, 'Tab');
  await page.keyboard.type('print(1) -- f ? d');
  assert.equal(await page.inputValue(EDITOR), '\tprint(1) -- f ? d');
  assert.equal(await text(page, '.editor-text .comment'), '-- f ? d');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Tab');
  assert.notEqual(await page.evaluate(() => document.activeElement?.tagName), 'TEXTAREA');
});
