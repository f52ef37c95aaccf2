/* Call sites: figures are the API's, sorting, the open row, menu, find, columns, states, widths. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { checkAccessible, plain, program, suite } from './harness.mjs';

const s = suite();
let server;

before(async () => {
  server = await s.serve([s.record('node.dat', [program('demo_node'), '1'])]);
  await server.ready();
});

const api = (path) => server.json(`/api/v1/last/${path}`);
const groups = async (query = '') =>
  (await api(`groups?by=stack&sort_by=leaked_bytes${query ? '&' + query : ''}`)).groups;
const url = (query = '') => `${server.url}#/last/sites${query ? '?' + query : ''}`;
const params = (page) =>
  page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.split('?')[1])));

const openPage = async (t, query, options) => {
  const page = await s.open(t, url(query), options);
  await page.waitForSelector('.sites .grid-room .tr .sym');
  return page;
};
/* "Type::method demo_node.cpp:68" of a row; `row` counts from 0 */
const rowName = async (page, row) =>
  plain(await page.textContent(`.sites .tr[aria-rowindex="${row + 2}"] .fn`)) +
  ' ' +
  plain(await page.textContent(`.sites .tr[aria-rowindex="${row + 2}"] .rest`)).split(' ')[0];
const lineOf = (g) => `${g.blame.source.split('/').pop()}:${g.blame.line}`;
const cell = async (page, row, title) => {
  const heads = await page.$$eval('.sites .head > *', (all) => all.map((e) => e.textContent));
  const at = heads.indexOf(title);
  assert.ok(at >= 0, `no column ${title}: ${heads}`);
  return plain(
    await page.textContent(`.sites .tr[aria-rowindex="${row + 2}"] > :nth-child(${at + 1})`),
  );
};
const sites = (n) => `${n} ${n === 1 ? 'call site' : 'call sites'}`;
const settled = (page) => page.waitForSelector('.sites[aria-busy=false]', { state: 'attached' });

/* the same rule as model/format.ts, written once more: figures on the page must not be its own */
const bytes = (n) => {
  if (n < 1024) return `${n} B`;
  const power = Math.min(4, Math.floor(Math.log2(n) / 10));
  const value = n / 1024 ** power;
  return `${value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : Math.round(value)} ${' KMGT'[power]}iB`;
};

test('rows are those of the API, the leaks first', async (t) => {
  const page = await openPage(t);
  const rows = await groups();
  const { total, total_count } = await api('groups?by=stack&count=0');
  assert.match(plain(await page.textContent('.foot')), new RegExp(`^${total_count} call sites`));
  for (const [i, g] of rows.slice(0, 4).entries()) {
    if (g.blame.source) assert.ok((await rowName(page, i)).endsWith(lineOf(g)), `row ${i}`);
    const share = ((100 * g.cost.leaked_bytes) / total.leaked_bytes).toFixed(1);
    const text = await cell(page, i, 'Leaked');
    assert.ok(
      text.replace(/ /g, '').startsWith(bytes(g.cost.leaked_bytes).replace(/ /g, '')),
      `${text} is not ${g.cost.leaked_bytes}`,
    );
    if (share >= 0.1) assert.ok(text.replace(/ /g, '').endsWith(`${share}%`), `${text}, ${share}`);
  }
  /* the exact number is in the tooltip */
  const title = await page.getAttribute('.sites .tr[aria-rowindex="2"] .two-l.r', 'title');
  assert.equal(Number(title.split('\n')[0].replace(/\D/g, '')), rows[0].cost.leaked_bytes);
});

test('every head sorts as the API does, both ways', async (t) => {
  const page = await openPage(t, 'open=none');
  const keys = {
    Peak: 'peak_bytes',
    Allocations: 'allocations',
    'Mean size': 'mean_size',
    First: 'first_ns',
    Last: 'last_ns',
    'Largest at': 'max_at_ns',
    Leaked: 'leaked_bytes',
  };
  for (const [title, key] of Object.entries(keys)) {
    const seen = new Set();
    for (let click = 0; click < 2; click++) {
      await page.click(`.sites .head button:text-is("${title}")`);
      const head = await page.waitForSelector(`.sites .head [aria-sort]:has-text("${title}")`);
      const order = (await head.getAttribute('aria-sort')) === 'ascending' ? 'asc' : 'dsc';
      seen.add(order);
      const { groups: want } = await api(`groups?by=stack&sort_by=${key}&order=${order}&count=3`);
      const first = want.find((g) => g.blame.source);
      await page.waitForFunction(
        ([row, line]) =>
          document
            .querySelector(`.sites .tr[aria-rowindex="${row + 2}"] .rest`)
            ?.textContent.startsWith(line),
        [want.indexOf(first), lineOf(first)],
      );
    }
    assert.deepEqual([...seen].sort(), ['asc', 'dsc'], title);
  }
});

test('the keys 1 to 5 choose the cost; its column is there', async (t) => {
  const page = await openPage(t);
  await page.keyboard.press('4');
  await page.waitForSelector('.sites .head [aria-sort]:has-text("Temporary")');
  await settled(page);
  const [first] = (await api('groups?by=stack&sort_by=temporary_count&count=1')).groups;
  await page.waitForFunction(
    (line) =>
      document.querySelector('.sites .tr[aria-rowindex="2"] .rest')?.textContent.startsWith(line),
    lineOf(first),
  );
  assert.equal((await params(page)).cost, 'temp');
  await page.keyboard.press('2');
  await page.waitForSelector('.sites .head [aria-sort]:has-text("Leaked")');
});

test('the first row is open: stack and facts; a click closes it', async (t) => {
  const page = await openPage(t);
  const [leak] = await groups();
  const open = await page.waitForSelector('.site-open .stack li.guilty');
  assert.match(plain(await open.textContent()), /SeenCache::remember/);
  const facts = plain(await page.textContent('.site-open .kv'));
  assert.match(facts, new RegExp(`Freed\\s?none of`));
  assert.match(facts, new RegExp(`Sizes\\s?${leak.min_size} B, all the same`));
  const { threads } = await api('threads');
  const [most] = (await api(`groups?by=thread&backtraces=${leak.key}`)).groups;
  const thread = threads.find((x) => x.index === most.key); // short runs may have no names
  const text = `only ${thread.name || thread.tid}, of ${threads.length} threads`;
  await page.waitForSelector(`.site-open .kv:has-text("${text}")`);
  /* on a busy machine the program does not grow evenly */
  await page.waitForFunction(() =>
    /per (second|minute), (straight line|in steps|levels off|speeds up|uneven)/.test(
      document.querySelector('.site-open .kv')?.textContent ?? '',
    ),
  );
  /* folded runtime frames open */
  const before = await page.locator('.site-open .stack li').count();
  await page.click('.site-open .stack li.fold button');
  await page.waitForFunction(
    (n) => document.querySelectorAll('.site-open .stack li').length > n,
    before,
  );
  await page.click('.sites .tr[aria-rowindex="2"] .fn');
  await page.waitForSelector('.site-open', { state: 'detached' });
  assert.equal((await params(page)).open, 'none');
});

test('rows below the open one keep their place while its content arrives', async (t) => {
  const page = await openPage(t);
  await page.waitForSelector('.site-open .stack li');
  const { open, next } = await page.evaluate(() => ({
    open: document.querySelector('.row-open').getBoundingClientRect().bottom,
    next: document.querySelector('.tr[aria-rowindex="3"]').getBoundingClientRect().top,
  }));
  assert.ok(Math.abs(open - next) < 1.5, `${open} and ${next}`);
});

test('graphs come with the rows; Graphs turns column and questions off', async (t) => {
  const page = await openPage(t);
  await page.waitForSelector('.sites .tr[aria-rowindex="2"] .spark .l');
  const points = await page.getAttribute('.sites .tr[aria-rowindex="2"] .spark .l', 'points');
  assert.equal(points.trim().split(/\s+/).length, 120);
  await page.click('.toolbar button:text-is("Graphs")');
  await page.waitForSelector('.sites .head :text("Alive over time")', { state: 'detached' });
  const asked = [];
  page.on('request', (r) => asked.push(r.url()));
  await page.reload();
  await page.waitForSelector('.sites .grid-room .tr .sym');
  await settled(page);
  assert.equal(await page.locator('.sites .head :text("Alive over time")').count(), 0);
  const many = asked.filter((u) => /groups.*graph=/.test(u) && !/backtraces=/.test(u));
  assert.deepEqual(many, []);
});

test('columns are the reader’s and last', async (t) => {
  const page = await openPage(t, 'open=none');
  await page.click('.toolbar button:text-is("Columns")');
  await page.click('[role=menuitemcheckbox]:has-text("Interval")');
  await page.waitForSelector('.sites .head :text("Interval")');
  const [first] = await groups();
  const seconds = (first.last_ns - first.first_ns) / 1e9;
  assert.equal(
    await cell(page, 0, 'Interval'),
    seconds < 0.9995 ? `${(seconds * 1000).toFixed(0)} ms` : `${seconds.toFixed(2)} s`,
  );
  await page.reload();
  await page.waitForSelector('.sites .head :text("Interval")');
});

test('a time range filters: upper line matches, lower line is the whole site', async (t) => {
  const { duration_ns: run } = await api('summary');
  const [t0, t1] = [Math.round(run * 0.25), Math.round(run * 0.5)];
  const page = await openPage(t, `t0=${t0}&t1=${t1}`);
  const [row] = await groups(`from=%2B${t0}ns&to=%2B${t1}ns`);
  await page.waitForFunction(() =>
    /of\s/.test(document.querySelector('.sites .two-l.r .dim')?.textContent),
  );
  const text = (await cell(page, 0, 'Leaked')).replace(/ /g, '');
  assert.equal(
    text,
    `${bytes(row.cost.leaked_bytes)}of ${bytes(row.all.leaked_bytes)}`.replace(/ /g, ''),
  );
  assert.ok(row.cost.leaked_bytes < row.all.leaked_bytes);
  assert.match(await page.textContent('.foot'), /Lower line: the whole recording/);
});

test('a link restores order, open row and cursor', async (t) => {
  const { groups: rows } = await api('groups?by=stack&sort_by=first_ns&order=asc');
  const at = 12;
  const page = await openPage(t, `sort=first_ns&order=asc&open=${rows[at].key}&row=${at}`);
  await page.waitForSelector('.row-open .stack li');
  await page.waitForSelector(
    `.tr[aria-rowindex="${at + 2}"][aria-selected=true] .twist[aria-expanded=true]`,
  );
  assert.equal(await page.getAttribute('.sites .head [aria-sort]', 'aria-sort'), 'ascending');
  const visible = await page.evaluate((n) => {
    const row = document.querySelector(`.tr[aria-rowindex="${n}"]`).getBoundingClientRect();
    const body = document.querySelector('.grid-body').getBoundingClientRect();
    return row.top >= body.top && row.bottom <= body.bottom;
  }, at + 2);
  assert.ok(visible, 'the row is on screen');
});

test('the menu: only this, not this, copy stack', async (t) => {
  const page = await openPage(t, 'open=none');
  const [first] = await groups();
  const { total_count: all } = await api('groups?by=stack&count=0');
  const menu = async (item) => {
    await page.click('.sites .tr[aria-rowindex="2"] .menu-cell button');
    await page.click(`[role=menu] [role=menuitem]:has-text("${item}")`);
  };
  await menu('Copy stack');
  await page.waitForSelector('.message:has-text("Stack copied.")');
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  const { frames } = await api(`stack/${first.key}`);
  assert.equal(copied.split('\n').length, frames.length);
  await menu('Not this');
  await page.waitForSelector(`.foot:has-text("${sites(all - 1)}")`);
  assert.equal((await params(page)).negative_backtraces, String(first.key));
  await page.click('.chip .x');
  await page.waitForSelector(`.foot:has-text("${sites(all)}")`);
  await menu('Only this');
  await page.waitForSelector('.foot :text-is("1 call site")');
  await page.waitForSelector('.chip:has-text("SeenCache::remember")');
  assert.equal((await params(page)).backtraces, String(first.key));
});

test('a right click opens the same menu; allocations of the site', async (t) => {
  const page = await openPage(t, 'open=none');
  const [first] = await groups();
  await page.click('.sites .tr[aria-rowindex="2"] .fn', { button: 'right' });
  await page.click('[role=menu] [role=menuitem]:has-text("Allocations")');
  await page.waitForSelector('.allocs .grid-room .tr .sym');
  const { total_count } = await api(`allocations?backtraces=${first.key}&count=0`);
  await page.waitForFunction(
    (n) => document.querySelector('.foot')?.textContent.replace(/\D/g, '').endsWith(String(n)),
    total_count,
  );
});

test('find: function, file, expression; what is found and what is not', async (t) => {
  const page = await openPage(t);
  await page.keyboard.press('/');
  await page.keyboard.type('seencache');
  const want = (await api('groups?by=stack&count=0&find_regex=(?i)seencache')).total_count;
  assert.ok(want > 0);
  await page.waitForSelector(`.foot:has-text("${sites(want)}")`);
  assert.match(plain(await page.textContent('.field .hit')), new RegExp(`^${want}, `));
  await page.fill('.toolbar input', '/append\\(/');
  const appended = (await api('groups?by=stack&count=0&find_regex=append%5C(')).total_count;
  await page.waitForSelector(`.foot:has-text("${sites(appended)}")`);
  await page.fill('.toolbar input', 'no such thing');
  await page.waitForSelector('.note:has-text("No call site has “no such thing”.")');
  await page.click('.note button');
  await page.waitForSelector('.sites .grid-room .tr .sym');
});

test('an expression that cannot be read is explained', async (t) => {
  const page = await openPage(t, '', { allowed: [/status of 400/] });
  await page.fill('.toolbar input', '/a(/');
  await page.waitForSelector('.note:has-text("cannot be read")');
  assert.match(await page.textContent('.note'), /group opened at character 2 is not closed/);
  await page.fill('.toolbar input', '');
  await page.waitForSelector('.sites .grid-room .tr .sym');
});

test('keys: rows, open, close, only this', async (t) => {
  const page = await openPage(t, 'open=none');
  await page.focus('.grid-body');
  await page.keyboard.press('j');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.waitForSelector('.tr[aria-rowindex="4"][aria-selected=true]');
  await page.keyboard.press('k');
  await page.waitForSelector('.tr[aria-rowindex="3"][aria-selected=true]');
  await page.keyboard.press('ArrowRight');
  await page.waitForSelector('.tr[aria-rowindex="3"] .twist[aria-expanded=true]');
  await page.waitForSelector('.row-open .kv');
  await page.keyboard.press('ArrowLeft');
  await page.waitForSelector('.row-open', { state: 'detached' });
  await page.keyboard.press('Enter');
  await page.waitForSelector('.row-open .kv');
  await page.keyboard.press('End');
  const { total_count } = await api('groups?by=stack&count=0');
  await page.waitForSelector(`.tr[aria-rowindex="${total_count + 1}"][aria-selected=true]`);
  await page.keyboard.press('Home');
  await page.waitForSelector('.tr[aria-rowindex="2"][aria-selected=true]');
  await page.keyboard.press('o');
  await page.waitForSelector('.foot :text-is("1 call site")');
});

test('the panel of a call site: costs, facts, stack', async (t) => {
  const [first] = await groups();
  const page = await openPage(t, `sel=site:${first.key}`);
  const panel = await page.waitForSelector('.details .stack li.guilty');
  assert.ok(panel);
  const text = plain(await page.textContent('.details'));
  assert.match(text, /SeenCache::remember/);
  assert.ok(text.replace(/ /g, '').includes(bytes(first.cost.leaked_bytes).replace(/ /g, '')));
  await page.waitForSelector(`.tr[aria-rowindex="2"][aria-selected=true]`);
  /* with the panel open a click shows another row there */
  await page.click('.sites .tr[aria-rowindex="3"] .fn');
  const [, second] = await groups();
  await page.waitForFunction((key) => location.hash.includes(`sel=site:${key}`), second.key);
});

test('nothing matches: why, and how to get out', async (t) => {
  const page = await s.open(t, url('size_min=1099511627776&lifetime=only_leaked'));
  await page.waitForSelector('.note:has-text("No allocation matches these filters.")');
  await checkAccessible(page, 'an empty table');
  await page.click('.note button:has-text("Reset all filters")');
  await page.waitForSelector('.sites .grid-room .tr .sym');
});

test('a server error is shown, and asked again', async (t) => {
  const page = await s.open(t, 'about:blank', { allowed: [/status of 500/] });
  let fails = true;
  await page.route(/groups\?.*sort_by/, (route) =>
    fails
      ? route.fulfill({ status: 500, json: { error: 'out of disk space for the store' } })
      : route.continue(),
  );
  await page.goto(url());
  await page.waitForSelector('.note:has-text("The server could not answer this.")');
  assert.match(await page.textContent('.note'), /out of disk space for the store/);
  fails = false;
  await page.click('.note button:has-text("Try again")');
  await page.waitForSelector('.sites .grid-room .tr .sym');
});

for (const theme of ['light', 'dark'])
  test(`axe finds nothing, ${theme}`, async (t) => {
    const page = await openPage(t, '', { theme });
    await page.waitForSelector('.site-open .stack li');
    await checkAccessible(page, `call sites, ${theme}`);
    await page.click('.sites .tr[aria-rowindex="2"] .menu-cell button');
    await page.waitForSelector('[role=menu]');
    await checkAccessible(page, `the menu of a row, ${theme}`);
  });

test('400 pixels: the name and what it is sorted by', async (t) => {
  const page = await openPage(t, '', { width: 400, height: 800 });
  await page.waitForSelector('.site-open .stack li');
  const heads = await page.$$eval('.sites .head > *', (all) =>
    all.filter((e) => e.getBoundingClientRect().width > 0).map((e) => e.textContent),
  );
  assert.deepEqual(heads, ['Call site', 'Leaked']);
  const { wide, height } = await page.evaluate(() => ({
    wide: document.documentElement.scrollWidth,
    height: document.querySelector('.sites .grid-room .tr').offsetHeight,
  }));
  assert.ok(wide <= 400, `${wide} pixels wide`);
  assert.equal(height, 52);
  await checkAccessible(page, 'call sites, 400 pixels');
});

test('figures lead to the allocations that make them', async (t) => {
  const [first] = await groups();
  const { at_ns } = await api('peak');
  const wanted = {
    Leaked: ['lifetime=only_leaked', first.cost.leaked_count],
    Peak: [`alive_at=%2B${at_ns}ns`, first.cost.peak_count],
    Allocations: ['', first.cost.allocations],
  };
  for (const [title, [filter, count]] of Object.entries(wanted)) {
    const page = await openPage(t, 'open=none');
    const heads = await page.$$eval('.sites .head > *', (all) => all.map((e) => e.textContent));
    const link = `.sites .tr[aria-rowindex="2"] > :nth-child(${heads.indexOf(title) + 1}) a`;
    await page.waitForSelector(`${link}[href*="${filter || 'backtraces'}"]`);
    await page.click(link);
    await page.waitForSelector('.allocs .grid-room .tr .sym');
    const { total_count } = await api(`allocations?backtraces=${first.key}&count=0&${filter}`);
    assert.equal(total_count, count, `${title}: the filter reproduces the figure`);
    await page.waitForFunction(
      (n) =>
        document.querySelector('.foot span')?.textContent.split(' of ')[1]?.replace(/\D/g, '') ===
        String(n),
      total_count,
    );
  }
});
