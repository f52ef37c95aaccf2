/* The flame graph and the details panel of a function. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { checkAccessible, cli, plain, program, suite } from './harness.mjs';

const ROW_PX = 21;
const PAD_TOP = 8;
const REMEMBER = 'net::SeenCache::remember(codec::Message const&)';
const HANDLE = 'node::handle_messages(node::Node&, state::Journal&, state::NodeCache&)';
const SYNCHRONISE = 'node::synchronise(node::Node&)';

const s = suite();
let file;
let server;

before(async () => {
  file = s.record('node.dat', [program('demo_node'), '1']);
  server = await s.serve([file]);
  await server.ready();
});

/* ---- helpers ---- */

const treeOf = (query = '') => server.json(`/api/v1/last/tree?min_share=0&fold=runtime${query}`);

const open = async (t, query = '', options = {}) => {
  const page = await s.open(t, `${server.url}#/last/flame${query && '?' + query}`, options);
  await page.waitForSelector('canvas.flame, .note');
  return page;
};

const label = async (page) => plain(await page.getAttribute('canvas.flame', 'aria-label'));
const announced = async (page) => plain(await page.textContent('.view [role=status].sr-only'));
const parameters = (page) =>
  page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.split('?')[1])));

/* "16.8 MiB", as the page writes bytes. */
function bytes(value) {
  let unit = 0;
  let v = value;
  while (Math.round(v) >= 1024 && unit < 4) {
    v /= 1024;
    unit++;
  }
  const digits = unit === 0 || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2;
  return `${v.toFixed(digits)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit]}`;
}
/* number and unit stand in elements of their own: no space between them */
const joined = (text) => text.replace(/ /g, '');
const share = (part, whole) => `${((100 * part) / whole).toFixed(1)} %`;

/* Boxes of a tree: x and width as fractions, by node; the same rule as the page's, written again. */
function boxesOf(tree, column) {
  const boxes = tree.parent.map(() => null);
  const kids = tree.parent.map(() => []);
  tree.parent.forEach((parent, i) => i && kids[parent].push(i));
  const total = tree[column][0];
  const visit = (node, x, row) => {
    boxes[node] = { x: x / total, width: tree[column][node] / total, row };
    let at = x;
    for (const kid of kids[node]
      .filter((k) => tree[column][k] > 0)
      .sort((a, b) => tree[column][b] - tree[column][a] || a - b)) {
      visit(kid, at, row + 1);
      at += tree[column][kid];
    }
  };
  visit(0, 0, 0);
  return boxes;
}

/* "1 of 3 children" */
function rankOf(tree, node, column) {
  const siblings = tree.parent
    .map((parent, i) => [parent, i])
    .filter(([parent, i]) => i && parent === tree.parent[node] && tree[column][i] > 0)
    .map(([, i]) => i)
    .sort((a, b) => tree[column][b] - tree[column][a] || a - b);
  const n = siblings.length;
  return `${siblings.indexOf(node) + 1} of ${n} ${n === 1 ? 'child' : 'children'}`;
}

/* The heaviest node with this name. */
function nodeOf(tree, name, column = 'peak_bytes') {
  const found = tree.name
    .map((n, i) => [tree.names[n]?.function, i])
    .filter(([text]) => text === name)
    .sort((a, b) => tree[column][b[1]] - tree[column][a[1]]);
  assert.ok(found.length, `${name} is in the tree`);
  return found[0][1];
}

async function pointOf(page, box) {
  const canvas = await (await page.waitForSelector('canvas.flame')).boundingBox();
  return [
    canvas.x + (box.x + box.width / 2) * canvas.width,
    canvas.y + PAD_TOP + (box.row + 0.5) * ROW_PX,
  ];
}

/* Moves the pointer around a point until something shows: the graph may still be moving. */
async function hoverUntil(page, [x, y], selector) {
  for (let i = 0; ; i++) {
    await page.mouse.move(x, y + 2 * ROW_PX * (i % 2 ? -10 : 0));
    const shown = page.waitForSelector(selector, { timeout: i < 20 ? 400 : 5000 });
    if (await shown.catch((error) => (i < 20 ? null : Promise.reject(error)))) return;
  }
}

async function clickNode(page, tree, node, column = 'peak_bytes', options = {}) {
  const [x, y] = await pointOf(page, boxesOf(tree, column)[node]);
  await page.mouse.click(x, y, options);
}

/* What stacks with a matching frame cost, each counted once. */
function matched(tree, pattern, column) {
  const inside = tree.parent.map(() => false);
  let sum = 0;
  for (let i = 1; i < tree.parent.length; i++) {
    const isHit = pattern.test(tree.names[tree.name[i]].function ?? '');
    if (isHit && !inside[tree.parent[i]]) sum += tree[column][i];
    inside[i] = inside[tree.parent[i]] || isHit;
  }
  return sum;
}

/* ---- tests ---- */

test('figures are those of the API', async (t) => {
  const page = await open(t);
  const tree = await treeOf();
  assert.match(
    await label(page),
    new RegExp(`Peak: ${bytes(tree.total.peak_bytes)} in ${tree.stacks} call sites`),
  );
  const node = nodeOf(tree, REMEMBER);
  await clickNode(page, tree, node);
  await page.waitForSelector('.details .block-title:has-text("SeenCache::remember")');
  assert.equal(
    await announced(page),
    `SeenCache::remember, ${bytes(tree.peak_bytes[node])}, ` +
      `${share(tree.peak_bytes[node], tree.total.peak_bytes).replace('%', 'percent')}, ` +
      rankOf(tree, node, 'peak_bytes'),
  );
  await checkAccessible(page, 'the flame graph with details');
});

test('the details panel shows costs, lines and stacks of the function', async (t) => {
  const page = await open(t, `cost=leaked&sel=${encodeURIComponent('fn:' + REMEMBER)}`);
  const calls = await server.json(`/api/v1/last/callers?function=${encodeURIComponent(REMEMBER)}`);
  const { total } = await treeOf();
  await page.waitForSelector('.details .costs');
  const costs = joined(plain(await page.textContent('.details .costs')));
  const { cost } = calls.function;
  const leaked = bytes(cost.leaked_bytes) + share(cost.leaked_bytes, total.leaked_bytes);
  assert.ok(costs.includes(joined(`Leaked${leaked}`)), costs);
  assert.ok(costs.includes(joined(`Peak${bytes(cost.peak_bytes)}`)), costs);
  const [hottest] = [...calls.lines].sort((a, b) => b.cost.leaked_bytes - a.cost.leaked_bytes);
  await page.waitForSelector('.details .source a.hot');
  const hot = await page.$$eval('.details .source a.hot', (list) =>
    list.map((el) => [...el.children].map((c) => c.textContent)),
  );
  const shown = hot.find(([line]) => Number(line) === hottest.line);
  assert.equal(plain(shown[2]), bytes(hottest.cost.leaked_bytes));
  assert.match(shown[1], /make_shared/); // the source itself
  await page.waitForSelector('.details .stack li.guilty:has-text("SeenCache::remember")');
  const stacks = await server.json(
    `/api/v1/last/groups?by=stack&count=0&function_regex=${encodeURIComponent('^' + REMEMBER.replace(/[()&]/g, '\\$&').replace(/\\&/g, '&') + '$')}`,
  );
  const title = () => page.textContent('.details .block:has(.stack) h3');
  assert.match(plain(await title()), new RegExp(`1 of ${stacks.total_count}$`));
  await page.click('[aria-label="Next stack"]');
  await page.waitForFunction(() =>
    /2 of \d+$/.test(document.querySelector('.details .block:has(.stack) h3').textContent),
  );
  await page.click('.details .actions >> text=Only this');
  await page.waitForSelector('.chip:has-text("Has function")');
});

test('a function that no stack has', async (t) => {
  const page = await open(t, 'sel=fn:nowhere', { allowed: [/404/] });
  await page.waitForSelector('.details .note:has-text("No stack of this function")');
});

test('search counts every stack once', async (t) => {
  const page = await open(t, 'cost=leaked&mine=0');
  const tree = await server.json('/api/v1/last/tree?min_share=0&fold=none');
  await page.keyboard.press('/');
  await page.keyboard.type('seencache|handle_mess');
  const sum = matched(tree, /seencache|handle_mess/i, 'leaked_bytes');
  const text = `${bytes(sum)}, ${share(sum, tree.total.leaked_bytes)}`;
  await page.waitForFunction(
    (want) => document.querySelector('.hit')?.textContent.replace(/\u00a0/g, ' ') === want,
    text,
  );
  await page.waitForFunction(() => location.hash.includes('handle_mess'));
  /* Enter goes to the heaviest match */
  await page.keyboard.press('Enter');
  await page.waitForFunction(() =>
    /^node::handle_messages, /.test(
      document.querySelector('.view [role=status].sr-only').textContent,
    ),
  );
  await page.waitForFunction(() => document.activeElement?.matches('canvas.flame'));
  await page.fill('input[aria-label="Find function"]', 'nowhere to be found');
  await page.waitForSelector('.hit:has-text("no match")');
  await page.keyboard.press('Escape');
  await page.waitForSelector('.hit', { state: 'detached' });
});

test('zoom is a step of the history', async (t) => {
  const page = await open(t);
  const tree = await treeOf();
  await clickNode(page, tree, nodeOf(tree, REMEMBER));
  const crumb = '.crumbs button[aria-current]:has-text("SeenCache::remember")';
  await page.waitForSelector(crumb);
  const { z } = await parameters(page);
  assert.match(z, /^[0-9a-z]+$/);
  await page.goBack();
  await page.waitForSelector(crumb, { state: 'detached' });
  await page.goForward();
  await page.waitForSelector(crumb);
  /* zoomed, the frame fills the row: its child's box is found at the left edge */
  const canvas = await page.locator('canvas.flame').boundingBox();
  const row = boxesOf(tree, 'peak_bytes')[nodeOf(tree, REMEMBER)].row;
  const y = canvas.y + PAD_TOP + (row + 0.5) * ROW_PX;
  await hoverUntil(page, [canvas.x + 4, y], '.tip:has-text("SeenCache::remember")');
  await page.click('.crumbs button:has-text("All")');
  await page.waitForSelector(crumb, { state: 'detached' });
});

test('a deep link restores zoom, cost, direction and search', async (t) => {
  const first = await open(t);
  await first.keyboard.press('2');
  await first.keyboard.press('b');
  await first.waitForSelector('.flame-bar:has-text("Bottom-up")');
  await first.waitForFunction(() =>
    /^Flame graph\. Leaked/.test(document.querySelector('canvas.flame')?.ariaLabel ?? ''),
  );
  // The keys must reach the frames of the new tree, not those of the tree before.
  await first.waitForSelector('main .stale', { state: 'detached' });
  await first.focus('canvas.flame');
  await first.keyboard.press('ArrowRight');
  await first.keyboard.press('ArrowRight');
  await first.keyboard.press('Enter');
  await first.waitForSelector('.crumbs button[aria-current]');
  await first.fill('input[aria-label="Find function"]', 'remember');
  await first.waitForSelector('.hit');
  const read = async (page) => [
    plain(await page.textContent('.crumbs')),
    plain(await page.textContent('.hit')),
    await label(page),
  ];
  await first.waitForFunction(() => location.hash.includes('q=remember'));
  const second = await s.open(t, first.url());
  await second.waitForSelector('.crumbs button[aria-current]');
  await second.waitForSelector('.hit');
  assert.deepEqual(await read(second), await read(first));
});

test('the cost switch and its keys', async (t) => {
  const page = await open(t);
  const { total } = await treeOf();
  const words = [
    ['2', `Leaked: ${bytes(total.leaked_bytes)} in`],
    ['5', `Bytes: ${bytes(total.bytes)} in`],
    ['1', `Peak: ${bytes(total.peak_bytes)} in`],
  ];
  for (const [key, text] of words) {
    await page.keyboard.press(key);
    await page.waitForFunction(
      (want) =>
        document
          .querySelector('canvas.flame')
          ?.getAttribute('aria-label')
          .replace(/[\u00a0\u202f]/g, ' ')
          .includes(want),
      text,
    );
  }
  await page.click('.seg button:has-text("Temporary")');
  await page.waitForFunction(() => location.hash.includes('cost=temp'));
});

test('a key acts on the address that the key before it made', async (t) => {
  const page = await open(t, 'q=node&cost=bytes');
  /* both in one task: the browser cannot report the first change before the second key */
  const after = await page.evaluate(() => {
    for (const key of ['2', 'b', 'Escape'])
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    return location.hash;
  });
  assert.match(after, /cost=leaked/);
  assert.match(after, /dir=up/);
  assert.doesNotMatch(after, /q=node/);
});

test('a pinned moment is a sixth cost', async (t) => {
  const { duration_ns } = await server.json('/api/v1/last/summary');
  const at = Math.round(duration_ns / 2);
  const page = await open(t, `at=${at}`);
  await page.waitForSelector('.seg button:has-text("Alive at")');
  await page.keyboard.press('6');
  const { total } = await treeOf(`&alive_at=${encodeURIComponent(`+${at}ns`)}`);
  await page.waitForFunction(
    (want) =>
      document
        .querySelector('canvas.flame')
        ?.getAttribute('aria-label')
        .replace(/[\u00a0\u202f]/g, ' ')
        .includes(want),
    `: ${bytes(total.bytes)} in`,
  );
  assert.match(await label(page), /Alive at 00:00:00\.\d+: /);
});

test('a time range filters the graph', async (t) => {
  const { duration_ns } = await server.json('/api/v1/last/summary');
  const [t0, t1] = [Math.round(duration_ns / 4), Math.round(duration_ns / 2)];
  const page = await open(t, `cost=bytes&t0=${t0}&t1=${t1}`);
  const range = `&from=${encodeURIComponent(`+${t0}ns`)}&to=${encodeURIComponent(`+${t1}ns`)}`;
  const some = await treeOf(range);
  const all = await treeOf();
  assert.ok(some.total.bytes < all.total.bytes);
  assert.ok((await label(page)).includes(`Bytes: ${bytes(some.total.bytes)} in ${some.stacks} `));
});

test('arrow keys walk, Enter zooms, Escape goes back step by step', async (t) => {
  const page = await open(t, 'q=node&mine=0&cost=allocs');
  const tree = await server.json('/api/v1/last/tree?min_share=0&fold=none');
  const kids = (node) =>
    tree.parent
      .map((p, i) => [p, i])
      .filter(([p, i]) => i && p === node && tree.allocations[i] > 0)
      .map(([, i]) => i)
      .sort((a, b) => tree.allocations[b] - tree.allocations[a] || a - b);
  const title = (node) => tree.names[tree.name[node]].function;
  await page.focus('canvas.flame');
  await page.keyboard.press('ArrowRight');
  const [first] = kids(0);
  await page.waitForFunction(
    (name) =>
      document.querySelector('.view [role=status].sr-only').textContent.startsWith(name + ','),
    title(first),
  );
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowLeft');
  await page.waitForFunction(
    (name) =>
      document.querySelector('.view [role=status].sr-only').textContent.startsWith(name + ','),
    title(first),
  );
  await page.waitForFunction(() => location.hash.includes('sel=fn:')); // the panel follows
  await page.keyboard.press('Enter');
  await page.waitForSelector('.crumbs button[aria-current]');
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !location.hash.includes('q='));
  assert.ok((await parameters(page)).z);
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !location.hash.includes('z='));
  assert.ok((await parameters(page)).sel);
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !location.hash.includes('sel='));
  await page.waitForSelector('.details', { state: 'detached' });
});

test('letters: my code, direction, colours, next frame, only and not this, copy', async (t) => {
  const page = await open(t, `sel=${encodeURIComponent('fn:' + REMEMBER)}`);
  const has = (text) => page.waitForFunction((want) => location.hash.includes(want), text);
  await page.waitForFunction(
    () => document.querySelector('.view [role=status].sr-only').textContent,
  );
  await page.keyboard.press('y');
  await page.waitForSelector('.message:has-text("copied")');
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(
    copied,
    /^net::SeenCache::remember\(codec::Message const&\)\n.*demo_node\.cpp:\d+\nPeak: /,
  );
  await page.keyboard.press('c');
  await has('color=package');
  await page.waitForSelector('.legend:has-text("demo_node")');
  await page.keyboard.press('m');
  await has('mine=0');
  await page.keyboard.press('b');
  await has('dir=up');
  await page.keyboard.press('x');
  await has('negative_function_regex=');
  await page.waitForSelector('.chip:has-text("Has no function")');
});

test('J and K go to the next and the previous frame, wherever the focus is', async (t) => {
  const tree = await treeOf();
  const boxes = boxesOf(tree, 'peak_bytes');
  const from = nodeOf(tree, HANDLE);
  const to = nodeOf(tree, SYNCHRONISE);
  assert.equal(boxes[from].row, boxes[to].row);
  const [next, back] = boxes[from].x < boxes[to].x ? ['j', 'k'] : ['k', 'j'];
  const page = await open(t, `sel=${encodeURIComponent('fn:' + HANDLE)}`);
  const says = (name) =>
    page.waitForFunction(
      (want) => document.querySelector('.view [role=status].sr-only').textContent.startsWith(want),
      `${name}, `,
    );
  await says('node::handle_messages');
  await page.keyboard.press(next);
  await says('node::synchronise');
  await page.waitForSelector('.details .block-title:has-text("synchronise")');
  await page.keyboard.press(back);
  await says('node::handle_messages');
  await page.keyboard.press('e'); // the end of the heaviest path
  await page.waitForFunction(
    () =>
      !/^node::handle_messages/.test(
        document.querySelector('.view [role=status].sr-only').textContent,
      ),
  );
});

test('from the outermost frame J leads to its first frame', async (t) => {
  const page = await open(t);
  await page.keyboard.press('j');
  await page.waitForFunction(() =>
    /1 of \d+ children|1 of 1 child/.test(
      document.querySelector('.view [role=status].sr-only').textContent,
    ),
  );
});

test('a run of runtime frames is one frame; a click unfolds it', async (t) => {
  const page = await open(t);
  const tree = await treeOf();
  const run = tree.folded.findIndex((n, i) => n > 1 && tree.parent[i] === 0);
  assert.ok(run > 0, 'demo_node has a folded run at the root');
  const [x, y] = await pointOf(page, boxesOf(tree, 'peak_bytes')[run]);
  await hoverUntil(page, [x, y], `.tip:has-text("${tree.folded[run]} frames folded")`);
  await page.mouse.click(x, y);
  await page.waitForFunction(() => location.hash.includes('mine=0'));
  const unfolded = await server.json('/api/v1/last/tree?min_share=0&fold=none');
  await page.waitForFunction(
    (n) => document.querySelector('.foot').textContent.startsWith(`${n} frames`),
    unfolded.parent.length - 1,
  );
});

test('the menu of a frame filters, hides and leads on', async (t) => {
  const page = await open(t);
  const tree = await treeOf();
  await clickNode(page, tree, nodeOf(tree, REMEMBER), 'peak_bytes', { button: 'right' });
  await page.waitForSelector('.menu:has-text("Only this")');
  await checkAccessible(page, 'the menu of a frame');
  assert.match(
    await page.getAttribute('.menu a:has-text("Call sites")', 'href'),
    /\/sites\?function_regex=/,
  );
  await page.click('.menu button:has-text("Hide frames of this function")');
  await page.waitForFunction(() => location.hash.includes('hide='));
  const hidden = await treeOf(`&hide_regex=${encodeURIComponent((await parameters(page)).hide)}`);
  assert.ok(hidden.parent.length < tree.parent.length);
  await page.waitForFunction(
    (n) => document.querySelector('.foot').textContent.startsWith(`${n} frames`),
    hidden.parent.length - 1,
  );
  assert.equal(
    await page.getAttribute('button[aria-label^="Fold or hide"]', 'aria-pressed'),
    'true',
  );
});

test('the tooltip has all costs', async (t) => {
  const page = await open(t);
  const tree = await treeOf();
  const node = nodeOf(tree, REMEMBER);
  const [x, y] = await pointOf(page, boxesOf(tree, 'peak_bytes')[node]);
  await hoverUntil(page, [x, y], '.tip:not([hidden]) .costs');
  const text = plain(await page.textContent('.tip'));
  assert.ok(text.startsWith(REMEMBER), text);
  assert.match(text, /demo_node\.cpp:\d+/);
  for (const part of [
    `Peak${bytes(tree.peak_bytes[node])}`,
    `Leaked${bytes(tree.leaked_bytes[node])}`,
    `Bytes${bytes(tree.bytes[node])}`,
  ])
    assert.ok(joined(text).includes(joined(part)), `${part} in ${text}`);
  await page.mouse.move(2, 2);
  await page.waitForSelector('.tip', { state: 'hidden' });
});

test('wheel and drag move the view, and the address keeps it', async (t) => {
  const page = await open(t);
  const canvas = await page.locator('canvas.flame').boundingBox();
  await page.mouse.move(canvas.x + canvas.width / 2, canvas.y + 60);
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -400);
  await page.keyboard.up('Control');
  await page.waitForFunction(() => /[?&]v=/.test(location.hash));
  const before = (await parameters(page)).v;
  const [from, to] = before.split('-').map(Number);
  assert.ok(from > 0.1 && to < 0.9, before);
  await page.mouse.down();
  await page.mouse.move(canvas.x + canvas.width / 2 + 120, canvas.y + 60, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction((old) => !location.hash.includes(old), before);
  const after = (await parameters(page)).v.split('-').map(Number);
  const want = from - (120 / canvas.width) * (to - from);
  assert.ok(Math.abs(after[0] - want) < 0.002, `${after[0]} instead of ${want}`);
  assert.equal((await parameters(page)).z, undefined); // a drag is no click
});

test('the SVG is what is on screen', async (t) => {
  const page = await open(t, 'cost=leaked&mine=0');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.click('[aria-label="Download what is shown as SVG"]'),
  ]);
  assert.equal(download.suggestedFilename(), 'demo_node-leaked.svg');
  const svg = readFileSync(await download.path(), 'utf8');
  const { total } = await treeOf();
  assert.ok(plain(svg).includes(`Leaked: ${bytes(total.leaked_bytes)} in`));
  assert.match(svg, /SeenCache::remember/);
  const parsed = await page.evaluate((text) => {
    const doc = new DOMParser().parseFromString(text, 'image/svg+xml');
    return [doc.querySelector('parsererror') === null, doc.querySelectorAll('g > rect').length];
  }, svg);
  assert.equal(parsed[0], true, 'well-formed');
  assert.ok(parsed[1] > 10, `${parsed[1]} boxes`);
});

test('nothing matches, a bad expression, nothing of this cost', async (t) => {
  const page = await open(t, 'function_regex=nowhere_to_be_found', { allowed: [/400/] });
  await page.waitForSelector('.note:has-text("No allocation matches these filters.")');
  await page.click('.note >> text=Reset all filters');
  await page.waitForSelector('canvas.flame');
  await page.click('button[aria-label^="Fold or hide"]');
  await page.fill('.fold-panel label:has-text("Fold") input', 'a(');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.note:has-text("cannot be read")');
  await page.fill('.fold-panel label:has-text("Fold") input', '');
  await page.keyboard.press('Enter');
  await page.waitForSelector('canvas.flame');
  const freed = await open(t, 'cost=leaked&lifetime=only_temporary');
  await freed.waitForSelector('.note:has-text("Everything was freed.")');
});

test('"Show as table" keeps the filter', async (t) => {
  const page = await open(t, 'cost=leaked&size_min=64&dir=up');
  assert.match(
    await page.getAttribute('.foot a:has-text("Show as table")', 'href'),
    /^#\/last\/bottomup\?cost=leaked&size_min=64$/,
  );
});

test('an exported page has the graph in both directions, and nobody to ask', async (t) => {
  const path = join(s.folder, 'report.html');
  const result = cli('export', '-f', 'html', '-o', path, file);
  assert.equal(result.status, 0, result.stderr);
  const page = await s.open(t, `file://${path}#/exported/flame`);
  await page.waitForSelector('canvas.flame');
  const { total } = await treeOf();
  assert.ok((await label(page)).includes(`Peak: ${bytes(total.peak_bytes)} in`));
  await page.focus('canvas.flame');
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction(
    () => document.querySelector('.view [role=status].sr-only').textContent,
  );
  for (const key of ['m', 'b', 'm']) {
    await page.keyboard.press(key);
    await page.waitForFunction(() => !document.querySelector('.flame-body.stale'));
    await page.waitForSelector('canvas.flame');
  }
  await page.waitForSelector('.flame-bar:has-text("Bottom-up")');
  await page.keyboard.press('2');
  await page.waitForFunction(() => /Leaked/.test(document.querySelector('canvas.flame').ariaLabel));
  assert.equal(await page.locator('.details, .note, [aria-label^="Fold or hide"]').count(), 0);
});

test('every link of an exported Overview leads to a graph that the file holds', async (t) => {
  const path = join(s.folder, 'links.html');
  const result = cli('export', '-f', 'html', '-o', path, file);
  assert.equal(result.status, 0, result.stderr);
  const page = await s.open(t, `file://${path}`);
  await page.waitForSelector('.list .tr');
  await page.waitForSelector('.finding .whole');
  const links = await page.$$eval('.ov a', (list) => list.map((a) => a.getAttribute('href')));
  assert.ok(links.length > 10, String(links));
  for (const href of new Set(links)) {
    await page.evaluate((hash) => (location.hash = hash), href);
    await page.waitForSelector('canvas.flame');
    await page.waitForFunction(() => !document.querySelector('.flame-body.stale'));
    assert.equal(await page.locator('.note, .details, .chip').count(), 0, href);
  }
  /* also an address of the server's page, with a filter that the file cannot answer */
  await page.evaluate(() => (location.hash = '#/exported/flame?lifetime=only_leaked&t0=1&t1=2'));
  await page.waitForSelector('canvas.flame');
  assert.equal(await page.locator('.note').count(), 0);
  assert.match(links[0], /sel=fn/, 'the first card names a function');
});

test('400 pixels: one menu has the controls, nothing is wider than the window', async (t) => {
  const page = await open(t, '', { width: 400, height: 800, theme: 'dark' });
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 400, `the page is ${width} pixels wide`);
  /* the panel would cover the graph: the first tap zooms, the second one opens it */
  const tree = await treeOf();
  const node = nodeOf(tree, HANDLE);
  await clickNode(page, tree, node);
  await page.waitForSelector('.crumbs button[aria-current]:has-text("handle_messages")');
  assert.equal(await page.locator('.details').count(), 0);
  await clickNode(page, tree, node); // the zoomed frame is wherever it was before, and wider
  await page.waitForSelector('.details .block-title:has-text("handle_messages")');
  await page.click('[aria-label="Close details"]');
  await page.click('[aria-label="How the graph is drawn"]');
  await page.click('.menu >> text=Bottom-up');
  await page.waitForFunction(() => location.hash.includes('dir=up'));
  await checkAccessible(page, 'the flame graph, narrow and dark');
});
