/* Bottom-up and Top-down: figures, opening rows, boxes, keys, links, widths. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { checkAccessible, plain, program, suite } from './harness.mjs';
import { COST_FIELDS, eventually, middle, pageUrl, parametersOf, rowsOf } from './tables.mjs';

const s = suite();
let server;

before(async () => {
  const file = s.record('node.dat', [program('demo_node'), '1']);
  server = await s.serve([file]);
  await server.ready();
});

/* ---- what the API says ---- */

/* Code without a function is named by its place in its module. */
const nameOf = (f) =>
  f.function ?? (f.module ? `${f.module.replace(/.*\//, '')}+${f.module_offset}` : f.address);

const tree = (query) => server.json(`/api/v1/last/tree?${query}`);
const UP = 'direction=bottom_up&fold=runtime';
const DOWN = 'direction=top_down&fold=runtime';

/* The children of a node, largest first: name, key and the five costs. */
function children(t, parent, field) {
  const nodes = t.parent
    .map((p, i) => ({ p, i }))
    .filter(({ p, i }) => i > 0 && p === parent)
    .map(({ i }) => ({
      i,
      name: nameOf(t.names[t.name[i]]),
      key: t.key[t.name[i]],
      values: COST_FIELDS.map((f) => t[f][i]),
    }));
  const at = COST_FIELDS.indexOf(field);
  return nodes.sort((a, b) => b.values[at] - a.values[at] || b.values[4] - a.values[4]);
}
const shown = (nodes) => nodes.map(({ name, values }) => ({ name, values }));
const namesAndValues = (rows) => rows.map(({ name, values }) => ({ name, values }));
const isNode = (row) => row.values.length === COST_FIELDS.length;

const open = async (t, page, parameters, options) => {
  const view = await s.open(t, pageUrl(server, page, parameters), options);
  await view.waitForSelector('.trees .grid-room .tr .fn');
  return view;
};
const rows = (view) => rowsOf(view, '.trees');
const roots = async (view) =>
  namesAndValues((await rows(view)).filter((r) => r.level === 1 && isNode(r)));

/* ---- tests ---- */

test('figures are those of the API, the cost chosen last first', async (t) => {
  for (const [page, query, field] of [
    ['bottomup', UP, 'leaked_bytes'],
    ['topdown', DOWN, 'peak_bytes'],
  ]) {
    const view = await open(t, page, { open: '0' });
    const answer = await tree(`${query}&min_share=0.05`);
    await eventually(() => roots(view), shown(children(answer, 0, field)), page);
    const all = answer.parent.filter((p, i) => i && p === 0).length + answer.children_left_out[0];
    assert.match(plain(await view.textContent('.foot')), new RegExp(`^${all} `));
  }
});

test('a head sorts, once more turns the order, keys 1 to 5 choose a cost', async (t) => {
  const view = await open(t, 'bottomup', { open: '0' });
  const answer = await tree(`${UP}&min_share=0.05`);
  const by = (field) => shown(children(answer, 0, field));
  await view.click('.trees .head button:has-text("Allocations")');
  await eventually(() => roots(view), by('allocations'), 'largest first');
  await view.click('.trees .head button:has-text("Allocations")');
  const smallest = (list) => list.map((n) => n.values[2]);
  await eventually(
    async () => smallest(await roots(view)),
    smallest(by('allocations')).reverse(),
    'smallest first',
  );
  assert.equal(await view.getAttribute('.trees .head [aria-sort]', 'aria-sort'), 'ascending');
  await view.keyboard.press('5');
  await eventually(() => roots(view), by('bytes'), 'by bytes');
  assert.equal((await parametersOf(view)).cost, 'bytes');
});

test('a row opens in place and is open for whoever gets the link', async (t) => {
  const view = await open(t, 'bottomup', { open: '0' });
  const answer = await tree(`${UP}&min_share=0.05`);
  const first = children(answer, 0, 'leaked_bytes')[0];
  await view.click('.trees .grid-room .tr >> nth=0 >> .twist');
  const below = shown(children(answer, first.i, 'leaked_bytes'));
  assert.ok(below.length > 0);
  const levelTwo = async (v) =>
    namesAndValues((await rows(v)).filter((r) => r.level === 2 && isNode(r)));
  await eventually(() => levelTwo(view), below, 'children');
  assert.equal((await rows(view))[0].expanded, 'true');
  const link = await open(t, 'bottomup', { open: (await parametersOf(view)).open });
  await eventually(() => levelTwo(link), below, 'by link');
  await view.click('.trees .grid-room .tr >> nth=0 >> .twist');
  await eventually(() => levelTwo(view), [], 'closed');
});

test('what was left out comes when somebody asks for it', async (t) => {
  const cut = await tree(`${UP}&min_share=0.05`);
  assert.ok(cut.children_left_out[0] > 0, 'this recording has nothing that is left out');
  const all = await tree(`${UP}&min_share=0&depth=1`);
  const view = await open(t, 'bottomup', { open: '0' });
  await view.click('.trees .treecell.more button');
  await eventually(() => roots(view), shown(children(all, 0, 'leaked_bytes')), 'all roots');
  assert.equal(await view.locator('.trees .treecell.more').count(), 0);
});

test('rows below what the first answer has are asked for', async (t) => {
  /* the smallest root is left out at first: open it by a link, as somebody would send it */
  const all = await tree(`${UP}&min_share=0&depth=2`);
  const known = new Set(children(await tree(`${UP}&min_share=0.05`), 0, 'bytes').map((n) => n.key));
  const small = children(all, 0, 'bytes').find(
    (n) => !known.has(n.key) && children(all, n.i, 'bytes').length > 0,
  );
  assert.ok(small, 'this recording has no small function with a caller');
  const view = await open(t, 'bottomup', { open: small.key.toString(36), cost: 'bytes' });
  const below = shown(children(all, small.i, 'bytes'));
  await eventually(
    async () =>
      namesAndValues((await rows(view)).filter((r) => r.level === 2 && isNode(r))).slice(
        0,
        below.length,
      ),
    below,
    'callers of a small function',
  );
});

test('boxes filter rows and count anew', async (t) => {
  const view = await open(t, 'bottomup', { open: '0' });
  await view.fill('.toolbar input[aria-label=Function]', 'SeenCache::REMEMBER');
  const filter = 'function_regex=(%3Fi)SeenCache::remember';
  const some = await tree(`${UP}&min_share=0.05&${filter}`);
  await eventually(() => roots(view), shown(children(some, 0, 'leaked_bytes')), 'text');
  await view.waitForSelector('.chip:has-text("SeenCache::REMEMBER")');
  /* all three have to match the same frame */
  await view.fill('.toolbar input[aria-label=File]', '/demo_node\\.cpp$/');
  const both = await tree(`${UP}&min_share=0.05&${filter}&source_regex=demo_node%5C.cpp%24`);
  await eventually(() => roots(view), shown(children(both, 0, 'leaked_bytes')), 'file');
  await view.fill('.toolbar input[aria-label=Module]', 'no such module');
  await view.waitForSelector('.note:has-text("No allocation matches these filters.")');
  await view.click('.note button:has-text("Reset all filters")');
  const whole = await tree(`${UP}&min_share=0.05`);
  await eventually(() => roots(view), shown(children(whole, 0, 'leaked_bytes')), 'reset');
});

test('an expression that cannot be read is said so, and where', async (t) => {
  const view = await open(t, 'topdown', {}, { allowed: [/status of 400/] });
  await view.fill('.toolbar input[aria-label=Function]', '/(open/');
  await view.waitForSelector('.note:has-text("This filter cannot be read.")');
  assert.equal(
    await view.getAttribute('.toolbar input[aria-label=Function]', 'aria-invalid'),
    'true',
  );
  await view.fill('.toolbar input[aria-label=Function]', '');
  await view.waitForSelector('.trees .grid-room .tr .fn');
});

test('the time range filters', async (t) => {
  const { address, api } = await middle(server);
  const view = await open(t, 'topdown', { ...address, open: '0' });
  const some = await tree(`${DOWN}&min_share=0.05&${api}`);
  await eventually(() => roots(view), shown(children(some, 0, 'peak_bytes')), 'range');
});

test('a pinned moment: what is alive then', async (t) => {
  const { duration_ns } = await server.json('/api/v1/last/summary');
  const at = Math.round(duration_ns * 0.4);
  const view = await open(t, 'bottomup', { at, open: '0' });
  await view.keyboard.press('6');
  const alive = await tree(`${UP}&min_share=0.05&alive_at=%2B${at}ns`);
  await eventually(() => roots(view), shown(children(alive, 0, 'bytes')), 'alive');
  assert.equal(
    await view.getAttribute('.toolbar button:has-text("Alive at")', 'aria-pressed'),
    'true',
  );
  await view.keyboard.press('6');
  const all = await tree(`${UP}&min_share=0.05`);
  await eventually(() => roots(view), shown(children(all, 0, 'bytes')), 'all again');
});

test('a run of frames says what it stands for and selects no function', async (t) => {
  const answer = await tree(`${UP}&min_share=0.05`);
  const nodes = children(answer, 0, 'leaked_bytes');
  const run = nodes.findIndex((n) => answer.folded[n.i] > 1);
  assert.ok(run >= 0, 'no run of frames in this recording');
  const view = await open(t, 'bottomup', { open: '0' });
  await view.click(`.trees .grid-room .tr >> nth=${run}`);
  await view.waitForSelector('.details h3:has-text("Cost of this row")');
  const n = answer.folded[nodes[run].i];
  assert.match(plain(await view.textContent('.details .where')), new RegExp(`^${n} frames`));
  assert.equal((await parametersOf(view)).sel, undefined);
});

test('just my code: M shows all frames and folds them again', async (t) => {
  const view = await open(t, 'bottomup', { open: '0' });
  await view.keyboard.press('m');
  const all = await tree('direction=bottom_up&fold=none&min_share=0.05');
  await eventually(() => roots(view), shown(children(all, 0, 'leaked_bytes')), 'all frames');
  assert.equal(await view.getAttribute('button:text("Just my code")', 'aria-pressed'), 'false');
  await view.keyboard.press('m');
  const mine = await tree(`${UP}&min_share=0.05`);
  await eventually(() => roots(view), shown(children(mine, 0, 'leaked_bytes')), 'folded');
});

test('keys: rows, opening, the heaviest path, only this, copy', async (t) => {
  const view = await open(t, 'topdown', { open: '0' });
  const selected = async () => {
    const list = await rows(view);
    return list.findIndex((r) => r.selected);
  };
  await view.keyboard.press('j');
  await eventually(selected, 0, 'the first row');
  await view.keyboard.press('ArrowRight');
  await eventually(async () => (await rows(view))[0].expanded, 'true', 'opened');
  await view.keyboard.press('ArrowRight');
  await eventually(selected, 1, 'its first child');
  await view.keyboard.press('ArrowLeft');
  await eventually(selected, 0, 'its parent');
  await view.keyboard.press('ArrowLeft');
  await eventually(async () => (await rows(view))[0].expanded, 'false', 'closed');
  /* E: down to where nothing is called any more */
  await view.keyboard.press('e');
  const answer = await tree(`${DOWN}&min_share=0.05`);
  const path = [];
  let at = children(answer, 0, 'peak_bytes')[0];
  while (at) {
    path.push(at.name);
    at = children(answer, at.i, 'peak_bytes')[0];
  }
  const heaviest = async () => {
    const list = await rows(view);
    return path.map((_, i) => list.find((r) => r.level === i + 1)?.name);
  };
  await eventually(heaviest, path, 'the heaviest path');
  await view.keyboard.press('y');
  await view.waitForSelector('.message:has-text("copied")');
  const copied = await view.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied.split('\n')[0], path[0]);
  assert.match(plain(copied), /Peak: .* bytes\)/);
});

test('O and X filter by the selected function, B turns the tree around', async (t) => {
  const answer = await tree(`${UP}&min_share=0.05`);
  const nodes = children(answer, 0, 'leaked_bytes');
  const at = nodes.findIndex((n) => answer.folded[n.i] === 0);
  const name = nodes[at].name;
  const view = await open(t, 'bottomup', { open: '0' });
  for (let i = 0; i <= at; i++) await view.keyboard.press('j');
  await eventually(async () => (await rows(view))[at].selected, true, 'selected');
  await view.keyboard.press('o');
  await view.waitForSelector('.chip:has-text("Has function")');
  const only = (await parametersOf(view)).function_regex;
  assert.ok(new RegExp(only).test(name), only);
  await view.evaluate(() => history.back());
  await view.waitForSelector('.chip:has-text("Has function")', { state: 'detached' });
  await view.keyboard.press('x');
  await view.waitForSelector('.chip:has-text("Has no function")');
  await eventually(
    async () => (await rows(view)).some((r) => r.name === name),
    false,
    'the function is gone',
  );
  await view.keyboard.press('b');
  await view.waitForSelector('.trees[aria-label="Top-down"]');
  assert.ok((await parametersOf(view)).negative_function_regex, 'the filter comes along');
});

test('the stacks behind a row, one after the other', async (t) => {
  const view = await open(t, 'bottomup', { open: '0', cost: 'bytes' });
  const answer = await tree(`${UP}&min_share=0.05`);
  const nodes = children(answer, 0, 'bytes');
  const stacks = (key) =>
    server.json(`/api/v1/last/groups?by=stack&sort_by=bytes&${UP}&under=${key}&count=2`);
  let several = -1;
  for (let i = 0; i < nodes.length && several < 0; i++)
    if ((await stacks(nodes[i].key)).total_count > 1) several = i;
  assert.ok(several >= 0, 'no row of this recording has two stacks');
  await view.click(`.trees .grid-room .tr >> nth=${several}`);
  const { groups, total_count } = await stacks(nodes[several].key);
  const said = async () => {
    const head = view.locator('.details h3:has-text("Stacks behind this row") .push');
    const text = (await head.count()) ? plain(await head.textContent()) : '';
    return /(\d+) of (\d+)/.exec(text)?.slice(1).map(Number);
  };
  const frames = async (n) => {
    const { frames: list } = await server.json(`/api/v1/last/stack/${groups[n].key}`);
    return list.length;
  };
  const drawnFrames = () =>
    view.$$eval('.details .stack', (lists) => {
      if (!lists.length) return 0; // the answer with the frames is not there yet
      const items = [...lists[lists.length - 1].querySelectorAll('li')];
      const last = items[items.length - 1];
      const n = Number(
        /^(\d+) /.exec(last.querySelector('button')?.textContent.trim() ?? '')?.[1] ?? 1,
      );
      return Number(last.querySelector('.i').textContent) + n;
    });
  await eventually(said, [1, total_count], 'first');
  await eventually(drawnFrames, await frames(0), 'frames of the first stack');
  await view.click(
    '.details h3:has-text("Stacks behind this row") button[aria-label="Next stack"]',
  );
  await eventually(said, [2, total_count], 'second');
  await eventually(drawnFrames, await frames(1), 'frames of the second stack');
});

test('a link restores row, order, boxes and what is open', async (t) => {
  const answer = await tree(`${UP}&min_share=0.05`);
  const first = children(answer, 0, 'bytes').find((n) => children(answer, n.i, 'bytes').length);
  const key = first.key.toString(36);
  const view = await open(t, 'bottomup', {
    cost: 'bytes',
    order: 'asc',
    open: key,
    row: key,
    module_regex: '(?i)demo_node',
  });
  await eventually(
    async () => (await rows(view)).find((r) => r.selected)?.name,
    first.name,
    'selected',
  );
  assert.equal(await view.inputValue('.toolbar input[aria-label=Module]'), 'demo_node');
  assert.equal(await view.getAttribute('.trees .head [aria-sort]', 'aria-sort'), 'ascending');
  assert.equal((await rows(view)).find((r) => r.selected).expanded, 'true');
});

test('a right click on a row offers the pages about its function', async (t) => {
  const [first] = children(await tree(`${UP}&min_share=0.05`), 0, 'leaked_bytes');
  for (const page of ['bottomup', 'callers']) {
    const view = await open(t, page, { cost: 'leaked' });
    const row = view.locator(`.trees .tr:has(.sym[title^="${first.name}"])`).first();
    await row.click({ button: 'right' });
    await view.waitForSelector('.menu [role=menuitem]:has-text("Not this")');
    await view.click('.menu [role=menuitem]:has-text("Callers and callees")');
    await eventually(
      async () => (await parametersOf(view)).sel,
      `fn:${first.name}`,
      'the function',
    );
    await view.waitForSelector('.calls-head');
  }
});

test('heads are explained to the keyboard; bars have borders where colours are forced', async (t) => {
  const view = await open(t, 'bottomup');
  await view.keyboard.press('Tab');
  await view.focus('.trees .head button:has-text("Temporary")');
  await view.waitForSelector(
    '.tip:visible:has-text("Freed before the same thread allocated again")',
  );
  await view.keyboard.press('Tab');
  await view.waitForSelector('.tip:has-text("Sum of all requests")');
  const border = () =>
    view.$eval(
      '.trees .cost.c-leaked:not(.zero)',
      (e) => getComputedStyle(e, '::before').borderTopWidth,
    );
  assert.equal(await border(), '0px');
  await view.emulateMedia({ forcedColors: 'active' });
  assert.equal(await border(), '1px');
});

test('widths and themes: usable at 400 pixels, accessible', async (t) => {
  const first = children(await tree(`${UP}&min_share=0.05`), 0, 'leaked_bytes')[0];
  for (const theme of ['light', 'dark']) {
    const view = await open(t, 'bottomup', { row: first.key.toString(36) }, { theme });
    await view.waitForSelector('.details .stack li');
    await checkAccessible(view, `bottom-up, ${theme}`);
  }
  const narrow = await open(t, 'bottomup', {}, { width: 400, height: 800 });
  const wide = await narrow.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 400, `the page is ${wide} pixels wide`);
  const visible = await narrow.$$eval('.trees .grid-room .tr:first-child .cost', (cells) =>
    cells.filter((c) => c.offsetWidth).map((c) => c.className),
  );
  assert.deepEqual(visible.length, 1, 'only the cost that the table is sorted by');
  assert.match(visible[0], /c-leaked/);
  await narrow.click('.only-narrow button:has-text("Peak")');
  await narrow.waitForSelector('.trees .grid-room .tr:first-child .cost.c-peak:visible');
  assert.equal((await parametersOf(narrow)).cost, 'peak');
  await checkAccessible(narrow, 'bottom-up at 400 pixels');
});
