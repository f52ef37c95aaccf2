/* Source: costs per line, the list of files, a file that is not here. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { checkAccessible, plain, program, suite } from './harness.mjs';
import { COST_FIELDS, eventually, middle, pageUrl, parametersOf, rowsOf } from './tables.mjs';

const s = suite();
let server;
let file; // the source of the program, as the recording names it
let gone; // a source that is not on this machine

before(async () => {
  const recording = s.record('node.dat', [program('demo_node'), '1']);
  server = await s.serve([recording]);
  await server.ready();
  const { files } = await found('demo_node.cpp');
  file = files[0].source;
  const all = (await found('/')).files.map((f) => f.source);
  for (const candidate of all) if (!gone && !(await source(candidate)).found) gone = candidate;
});

const found = (q) => server.json(`/api/v1/last/search?count=1000&q=${encodeURIComponent(q)}`);
const source = (name, query = '') =>
  server.json(`/api/v1/last/source?file=${encodeURIComponent(name)}&${query}`);

const open = async (t, parameters, options) => {
  const view = await s.open(t, pageUrl(server, 'source', parameters), options);
  await view.waitForSelector('.grid-room .tr [role=gridcell]:not(:has(.skel))');
  return view;
};

/* Lines on screen that have a cost: line number -> exact value. */
const costs = (view) =>
  view.$$eval('.code-rows .grid-room .tr', (rows) =>
    Object.fromEntries(
      rows
        .filter((r) => r.querySelector('.cost .num'))
        .map((r) => [
          r.querySelector('.ln').textContent,
          Number(r.querySelector('.cost').title.replace(/[^\d]/g, '')),
        ]),
    ),
  );

/* The same from the API, for lines that the table has drawn. */
async function expected(view, answer, field) {
  const drawn = await view.$$eval('.code-rows .ln', (cells) =>
    cells.map((c) => Number(c.textContent)),
  );
  return Object.fromEntries(
    answer.lines.filter((l) => drawn.includes(l.line)).map((l) => [l.line, l.cost[field]]),
  );
}

const hottest = (answer, field) =>
  [...answer.lines].sort((a, b) => b.cost[field] - a.cost[field])[0];

test('the text of the file and the cost of every line', async (t) => {
  const view = await open(t, { file, cost: 'leaked' });
  const answer = await source(file);
  const best = hottest(answer, 'leaked_bytes');
  /* the hottest line is on screen without a move of the reader */
  const row = view.locator(`.code-rows .tr:has(.ln:text-is("${best.line}"))`);
  await row.waitFor();
  const text = readFileSync(answer.path, 'utf8').split('\n')[best.line - 1];
  assert.equal(await row.locator('.text').textContent(), text);
  assert.ok(await row.locator('.heat').count(), 'the hottest line is tinted');
  await eventually(() => costs(view), await expected(view, answer, 'leaked_bytes'), 'leaked');
  await view.keyboard.press('3');
  await eventually(() => costs(view), await expected(view, answer, 'allocations'), 'allocations');
});

test('a line that is selected is explained in the panel, with the callers of its function', async (t) => {
  const answer = await source(file);
  const best = hottest(answer, 'leaked_bytes');
  const view = await open(t, { file, cost: 'leaked' });
  await view.click(`.code-rows .tr:has(.ln:text-is("${best.line}"))`);
  await view.waitForSelector('.details .costs');
  assert.equal((await parametersOf(view)).line, String(best.line));
  const calls = await server.json(
    `/api/v1/last/callers?function=${encodeURIComponent(best.function)}`,
  );
  await eventually(
    () => view.locator('.details .caller-list li').count(),
    calls.callers.length,
    'callers',
  );
  const link = await view.getAttribute('.details a:has-text("Open in editor")', 'href');
  assert.equal(link, `vscode://file/${encodeURI(answer.path)}:${best.line}`);
});

test('line and cost stay while the text scrolls sideways, and the last character is whole', async (t) => {
  const view = await open(t, { file, cost: 'leaked' }, { width: 900 });
  const lefts = () =>
    view.$$eval('.code-rows .grid-room .tr:first-child > .fixed', (cells) =>
      cells.map((c) => Math.round(c.getBoundingClientRect().left)),
    );
  const before = await lefts();
  const room = await view.$eval('.code-rows .grid-body', (body) => {
    body.scrollLeft = body.scrollWidth;
    const text = [...body.querySelectorAll('.text')].sort(
      (a, b) => b.textContent.length - a.textContent.length,
    )[0];
    const range = document.createRange();
    range.selectNodeContents(text);
    const end = text.getBoundingClientRect().left + parseFloat(getComputedStyle(text).paddingLeft);
    return {
      moved: body.scrollLeft,
      isWhole: end + range.getBoundingClientRect().width <= body.getBoundingClientRect().right,
    };
  });
  assert.ok(room.moved > 50, `the text scrolled by ${room.moved} pixels`);
  assert.ok(room.isWhole, 'the end of the longest line is cut');
  assert.deepEqual(await lefts(), before);
});

test('another line replaces what the panel shows', async (t) => {
  const answer = await source(file);
  const best = hottest(answer, 'leaked_bytes');
  const view = await open(t, { file, cost: 'leaked', line: best.line, sel: `fn:${best.function}` });
  await view.waitForSelector('.details h3:has-text("The chosen line")');
  await view.keyboard.press('Escape');
  const other = answer.lines.find((l) => Math.abs(l.line - best.line) === 1) ?? {
    line: best.line + 1,
  };
  await view.click(`.code-rows .tr:has(.ln:text-is("${other.line}")) .ln`);
  await view.waitForSelector(`.details .where:has-text(":${other.line}")`);
  assert.equal(await view.$('.details h3:has-text("Heaviest stack")'), null);
});

test('a link shows the line', async (t) => {
  const answer = await source(file);
  const view = await open(t, { file, line: 12 });
  await view.waitForSelector('.code-rows .tr[aria-selected=true] .ln:text-is("12")');
  assert.match(plain(await view.textContent('.details')), /No allocation that matches passes/);
  /* from there to the next line that has a cost */
  await view.click('.foot button[aria-label="Next line with a cost"]');
  const next = answer.lines.filter((l) => l.line > 12 && l.cost.peak_bytes).map((l) => l.line);
  await eventually(
    async () => (await parametersOf(view)).line,
    String(Math.min(...next)),
    'the next hot line',
  );
});

test('the time range filters', async (t) => {
  const { address, api } = await middle(server);
  const view = await open(t, { file, ...address });
  const answer = await source(file, api);
  await eventually(
    async () => costs(view),
    await expected(view, answer, 'peak_bytes'),
    'lines in the range',
  );
});

test('a file that is not here: what is known, and how to say where it is', async (t) => {
  assert.ok(gone, 'all sources of this recording are on this machine');
  const view = await open(t, { file: gone, cost: 'bytes' });
  const note = plain(await view.textContent('.note'));
  assert.match(note, /is not on this machine\./);
  assert.match(note, /memory-profiler-cli server --source /);
  const answer = await source(gone);
  await eventually(() => costs(view), await expected(view, answer, 'bytes'), 'known lines');
  await checkAccessible(view, 'a source that is not here');
});

test('the list of files: figures, sorting, finding, opening', async (t) => {
  const view = await open(t, { cost: 'bytes', mine: '0' });
  const listed = async () =>
    (await rowsOf(view, '.files')).slice(0, 10).map(({ name, values }) => ({ name, values }));
  const all = await server.json('/api/v1/last/search?count=1000');
  const rows = (files, field) =>
    [...files]
      .sort((a, b) => b.cost[field] - a.cost[field] || b.cost.bytes - a.cost.bytes)
      .slice(0, 10)
      .map((f) => ({ name: f.source, values: COST_FIELDS.map((c) => f.cost[c]) }));
  await eventually(listed, rows(all.files, 'bytes'), 'by bytes');
  await view.fill('.toolbar input', 'demo_NODE');
  await eventually(listed, rows((await found('demo_node')).files, 'bytes'), 'found');
  await view.fill('.toolbar input', 'no such file');
  await view.waitForSelector('.note:has-text("No file has")');
  await view.fill('.toolbar input', 'demo_node.cpp');
  await view.click('.files .grid-room .tr >> nth=0');
  await view.waitForSelector('.code-rows .grid-room .tr .text');
  assert.equal((await parametersOf(view)).file, file);
});

test('the list of files has those of own code first', async (t) => {
  const view = await open(t, {});
  const names = async () => (await rowsOf(view, '.files')).map((r) => r.name).sort();
  const own = (await server.json('/api/v1/last/search?count=1000&own=true')).files;
  assert.ok(own.some((f) => f.source === file));
  await eventually(names, own.map((f) => f.source).sort(), 'own files');
  await view.click('.toolbar button:has-text("Just my code")');
  await view.waitForSelector('.files .tr:has-text("pthread_create.c")');
  assert.equal((await parametersOf(view)).mine, '0');
});

test('widths and themes: usable at 400 pixels, accessible', async (t) => {
  for (const theme of ['light', 'dark'])
    await checkAccessible(await open(t, { file, cost: 'leaked' }, { theme }), `source, ${theme}`);
  await checkAccessible(await open(t, {}), 'the list of files');
  const narrow = await open(t, { file }, { width: 400, height: 800 });
  const wide = await narrow.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 400, `the page is ${wide} pixels wide`);
  await checkAccessible(narrow, 'source at 400 pixels');
});
