/* Allocations: rows are the API's, a long table, sorting, keys, the panel with chain and stacks. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { checkAccessible, plain, program, suite, waitForText } from './harness.mjs';

const s = suite();
let server;

before(async () => {
  /* some 600 000 allocations: more than fit into the height that browsers allow */
  server = await s.serve([s.record('node.dat', [program('demo_node'), '2'])]);
  await server.ready();
});

const api = (path) => server.json(`/api/v1/last/${path}`);
const url = (query = '') => `${server.url}#/last/allocations${query ? '?' + query : ''}`;
const params = (page) =>
  page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.split('?')[1])));
const openPage = async (t, query, options) => {
  const page = await s.open(t, url(query), options);
  await page.waitForSelector('.allocs .grid-room .tr .sym');
  return page;
};

/* Text of a row's cell by the head of its column; `row` counts from 0. */
const cell = (page, row, title) =>
  page.evaluate(
    ([index, head]) => {
      const heads = [...document.querySelectorAll('.allocs .head > *')].map((e) => e.textContent);
      const tr = document.querySelector(`.allocs .tr[aria-rowindex="${index}"]`);
      return tr?.children[heads.indexOf(head)]?.textContent ?? null;
    },
    [row + 2, title],
  );
const waitForCell = (page, row, title, text) =>
  page.waitForFunction(
    ([index, head, want]) => {
      const heads = [...document.querySelectorAll('.allocs .head > *')].map((e) => e.textContent);
      const tr = document.querySelector(`.allocs .tr[aria-rowindex="${index}"]`);
      return tr?.children[heads.indexOf(head)]?.textContent === want;
    },
    [row + 2, title, text],
  );
/* Names as the page has them: threads without a name (short runs) by their id. */
const threadNames = async () => {
  const { threads } = await api('threads');
  return (index) => {
    const thread = threads.find((x) => x.index === index);
    const isOnly = threads.filter((x) => x.name === thread.name).length === 1;
    if (!thread.name) return String(thread.tid);
    return isOnly ? thread.name : `${thread.tid} ${thread.name}`;
  };
};
const hex = (row) => row.address.replace(/^0x/, '');
const foot = async (page) => plain(await page.textContent('.foot span'));

test('rows are those of the API, by time', async (t) => {
  const page = await openPage(t);
  const { allocations, total_count } = await api('allocations?count=20');
  const nameOf = await threadNames();
  for (const [i, row] of allocations.entries()) {
    assert.equal(await cell(page, i, 'Address'), hex(row));
    assert.equal(await cell(page, i, 'Kind'), row.kind);
    assert.equal(await cell(page, i, 'Thread'), nameOf(row.thread));
    const life = plain(await cell(page, i, 'Lifetime'));
    if (row.released_ns === undefined) assert.equal(life, 'never freed');
    else assert.equal(life.endsWith('T'), row.is_temporary, life);
    if (row.size < 1024) assert.equal(plain(await cell(page, i, 'Size')), `${row.size}B`);
  }
  assert.match(await foot(page), /^Row 1 to \d+ of /);
  assert.equal(Number((await foot(page)).split(' of ')[1].replace(/ /g, '')), total_count);
});

test('a table higher than browsers allow: end, home, wheel, scrollbar', async (t) => {
  const page = await openPage(t);
  const { total_count: n } = await api('allocations?count=0');
  const room = await page.evaluate(() => document.querySelector('.grid-room').offsetHeight);
  assert.ok(n * 26 > room, `${n} rows need a scrollbar that maps in proportion`);
  await page.focus('.grid-body');
  await page.keyboard.press('End');
  const { allocations: last } = await api(`allocations?skip=${n - 1}&count=1`);
  await waitForCell(page, n - 1, 'Address', hex(last[0]));
  const inside = await page.evaluate((index) => {
    const row = document.querySelector(`.tr[aria-rowindex="${index}"]`).getBoundingClientRect();
    const body = document.querySelector('.grid-body').getBoundingClientRect();
    return row.top >= body.top && row.bottom <= body.bottom + 1;
  }, n + 1);
  assert.ok(inside, 'the last row is on screen');
  /* the row that the keyboard reached is selected once it is there */
  await page.waitForFunction((id) => location.hash.includes(`sel=alloc:${id}`), last[0].id);
  await page.keyboard.press('Home');
  await page.waitForSelector('.tr[aria-rowindex="2"][aria-selected=true] .sym');

  /* the wheel moves by pixels, not by the scrollbar's proportion */
  const box = await (await page.$('.grid-body')).boundingBox();
  await page.mouse.move(box.x + 200, box.y + 200);
  await page.mouse.wheel(0, 260);
  await page.waitForFunction(() => /^Row 11 /.test(document.querySelector('.foot').textContent));

  /* half of the scrollbar is half of the rows */
  await page.evaluate(() => {
    const el = document.querySelector('.grid-body');
    el.scrollTop = (el.scrollHeight - el.clientHeight) / 2;
  });
  await page.waitForFunction((half) => {
    const first = Number(
      /Row ([\d\s]+) to/.exec(document.querySelector('.foot').textContent)[1].replace(/\D/g, ''),
    );
    return Math.abs(first - half) < 30;
  }, n / 2);
  const first = Number(/Row ([\d ]+) to/.exec(await foot(page))[1].replace(/ /g, '')) - 1;
  const { allocations: middle } = await api(`allocations?skip=${first + 3}&count=1`);
  await waitForCell(page, first + 3, 'Address', hex(middle[0]));
});

test('124 million rows: first, last, any in between, and none jumps', async (t) => {
  const n = 124_046_772;
  const { allocations, stacks } = await api('allocations?count=1');
  const page = await s.open(t, 'about:blank');
  /* answers as the server would give them: row i begins at address i */
  await page.route(/\/allocations\?/, (route) => {
    const query = new URL(route.request().url()).searchParams;
    const skip = Number(query.get('skip') ?? 0);
    const count = Math.min(Number(query.get('count') ?? 200), n - skip);
    const rows = Array.from({ length: count }, (_, i) => ({
      ...allocations[0],
      id: skip + i,
      address: `0x${(skip + i).toString(16)}`,
    }));
    return route.fulfill({ json: { allocations: rows, stacks, total_count: n } });
  });
  await page.goto(url());
  const shown = (row) => waitForCell(page, row, 'Address', row.toString(16));
  /* where a row is on screen, and whether rows lie below each other without gaps */
  const place = (row) =>
    page.evaluate((index) => {
      const body = document.querySelector('.grid-body').getBoundingClientRect();
      const box = (i) =>
        document.querySelector(`.tr[aria-rowindex="${i}"]`).getBoundingClientRect();
      const top = box(index).top - body.top;
      return { top, gap: box(index).top - box(index - 1).bottom, below: body.height - top - 26 };
    }, row + 2);
  await shown(0);
  await page.focus('.grid-body');
  await page.keyboard.press('End');
  await shown(n - 1);
  const last = await place(n - 1);
  assert.deepEqual([last.below, last.gap], [0, 0], 'the last row ends where the table ends');
  await page.keyboard.press('k');
  await page.waitForSelector(`.tr[aria-rowindex="${n}"][aria-selected=true]`);
  await page.goto(url('row=61234567'));
  await page.reload();
  await shown(61_234_567);
  const before = await place(61_234_567);
  assert.equal(before.gap, 0);
  const box = await (await page.$('.grid-body')).boundingBox();
  await page.mouse.move(box.x + 300, box.y + 300);
  await page.mouse.wheel(0, 78); // three rows
  await page.waitForFunction(
    ([index, want]) => {
      const body = document.querySelector('.grid-body').getBoundingClientRect();
      const row = document.querySelector(`.tr[aria-rowindex="${index}"]`);
      return row && Math.abs(row.getBoundingClientRect().top - body.top - want) < 0.01;
    },
    [61_234_567 + 2, before.top - 78],
  );
});

test('every head sorts as the API does, both ways, also far down', async (t) => {
  const page = await openPage(t);
  const keys = {
    Lifetime: 'lifetime',
    Freed: 'released',
    Address: 'address',
    Size: 'size',
    Usable: 'usable',
    Thread: 'thread',
    Kind: 'kind',
    Chain: 'chain_length',
    'Call site': 'stack',
    Allocated: 'timestamp',
  };
  const { total_count: n } = await api('allocations?count=0');
  for (const [title, key] of Object.entries(keys)) {
    const seen = new Set();
    for (let click = 0; click < 2; click++) {
      await page.click(`.allocs .head button:text-is("${title}")`);
      const head = await page.waitForSelector(`.allocs .head [aria-sort]:has-text("${title}")`);
      const order = (await head.getAttribute('aria-sort')) === 'ascending' ? 'asc' : 'dsc';
      seen.add(order);
      const query = `allocations?sort_by=${key}&order=${order}`;
      const { allocations } = await api(`${query}&count=2`);
      await waitForCell(page, 1, 'Address', hex(allocations[1]));
    }
    assert.deepEqual([...seen].sort(), ['asc', 'dsc'], title);
  }
  await page.click('.allocs .head button:text-is("Size")');
  const far = Math.floor(n * 0.6);
  const { allocations } = await api(`allocations?sort_by=size&order=dsc&skip=${far}&count=1`);
  await page.goto(url(`sort=size&order=dsc&row=${far}`));
  await page.reload();
  await waitForCell(page, far, 'Address', hex(allocations[0]));
});

test('the panel: exact figures, both stacks', async (t) => {
  const { allocations } = await api('allocations?size_min=1024&lifetime=only_temporary&count=1');
  const [row] = allocations;
  const page = await openPage(t, `sel=alloc:${row.id}&row=${row.id}`);
  await page.waitForSelector('.details .stack li');
  const text = plain(await page.textContent('.details'));
  assert.ok(text.includes(row.address));
  assert.ok(text.replace(/ /g, '').includes(`${row.size}bytes`), 'the exact size');
  assert.ok(text.replace(/ /g, '').includes(`${row.usable}bytes`), 'the exact usable size');
  const { frames } = await api(`stack/${row.stack}`);
  await page.waitForFunction(() => document.querySelectorAll('.details .stack').length === 2);
  /* folded runtime frames and all others add up to the whole stack */
  const shown = await page.evaluate(() =>
    [...document.querySelector('.details .stack').children].reduce((n, li) => {
      const folded = li.querySelector('button')?.textContent.match(/(\d+) runtime/);
      return n + (li.classList.contains('fold') ? Number(folded[1]) : 1);
    }, 0),
  );
  assert.equal(shown, frames.length);
  assert.ok((await page.textContent('.details')).includes('Freed at'));
});

test('the realloc chain as bars, largest full; a bar leads to its block', async (t) => {
  const { allocations } = await api(
    'allocations?chain_length_min=4&position_in_chain_min=2&count=1',
  );
  const [row] = allocations;
  const { allocations: chain } = await api(`chain/${row.id}?count=1000`);
  const page = await openPage(t, `sel=alloc:${row.id}&row=${row.id}`);
  await page.waitForSelector('.chain li.on');
  assert.match(
    plain(await page.textContent('.details')),
    new RegExp(`block ${row.position_in_chain + 1} of ${row.chain_length}`),
  );
  const largest = Math.max(...chain.map((b) => b.size));
  const width = await page.getAttribute('.chain li.on .bar i', 'style');
  const share = (100 * row.size) / largest;
  assert.ok(Math.abs(parseFloat(/width: ([\d.]+)%/.exec(width)[1]) - share) < 0.1, width);
  assert.ok(plain(await page.textContent('.details .kv')).includes('Chain'));
  const first = chain.find((b) => b.position_in_chain === 0);
  await page.click('.chain li:first-child .bar');
  await page.waitForFunction((id) => location.hash.includes(`sel=alloc:${id}`), first.id);
  await page.waitForSelector('.chain li:first-child.on');
});

test('never freed, temporary, and back', async (t) => {
  const page = await openPage(t);
  const counted = async (query) => (await api(`allocations?count=0&${query}`)).total_count;
  const waitForCount = (n) =>
    page.waitForFunction(
      (want) =>
        Number(
          (document.querySelector('.foot')?.textContent.split(' of ')[1] ?? '')
            .split(/[A-Z]/)[0]
            .replace(/\D/g, ''),
        ) === want,
      n,
    );
  await page.click('.toolbar button:text-is("Never freed")');
  await waitForCount(await counted('lifetime=only_leaked'));
  await page.waitForSelector('.chip:has-text("never")');
  assert.equal(plain(await cell(page, 0, 'Lifetime')), 'never freed');
  await page.click('.toolbar button:text-is("Temporary")');
  await waitForCount(await counted('temporary=yes'));
  await page.click('.toolbar button:text-is("All")');
  await waitForCount(await counted(''));
});

test('filters of the panel: same size, same address, only this stack', async (t) => {
  const { allocations } = await api('allocations?skip=500&count=1');
  const [row] = allocations;
  const page = await openPage(t, `sel=alloc:${row.id}&row=${row.id}`);
  await page.click('.details button:text-is("Same size")');
  await page.waitForFunction((n) => location.hash.includes(`size_min=${n}`), row.size);
  await page.goBack();
  await page.click('.details button:text-is("Same address")');
  await page.waitForFunction((at) => location.hash.includes(`address_min=${at}`), row.address);
  await waitForCell(page, 0, 'Address', hex(row));
  await page.goBack();
  await page.click('.details .block:has-text("Allocated at") button:text-is("Only this stack")');
  await page.waitForFunction((n) => location.hash.includes(`backtraces=${n}`), row.stack);
  const found = await (await page.waitForSelector('.chip:has-text("Call site")')).textContent();
  assert.ok(found);
});

test('only what is freed there, from the menu of a row', async (t) => {
  const { allocations } = await api('allocations?count=30');
  const at = allocations.findIndex((r) => r.free_stack && r.released_ns !== undefined);
  const page = await openPage(t);
  await page.click(`.allocs .tr[aria-rowindex="${at + 2}"] .fn`, { button: 'right' });
  await page.click('[role=menuitem]:has-text("Only what is freed there")');
  const id = allocations[at].free_stack;
  await page.waitForFunction((n) => location.hash.includes(`deallocation_backtraces=${n}`), id);
  const { total_count } = await api(`allocations?deallocation_backtraces=${id}&count=0`);
  await page.waitForFunction(
    (n) => document.querySelector('.foot span')?.textContent.replace(/\D/g, '').endsWith(String(n)),
    total_count,
  );
});

test('an address is found; what is none is said so', async (t) => {
  const { allocations } = await api('allocations?skip=300&count=1');
  const page = await openPage(t);
  await page.keyboard.press('/');
  await page.keyboard.type(hex(allocations[0]));
  const { total_count } = await api(
    `allocations?address_min=${allocations[0].address}&address_max=${allocations[0].address}&count=0`,
  );
  await page.waitForFunction(
    (n) =>
      document.querySelector('.foot span')?.textContent.split(' of ')[1]?.replace(/\D/g, '') ===
      String(n),
    total_count,
  );
  await page.fill('.toolbar input', 'seen.rs');
  await page.waitForSelector('.field.bad:has-text("not an address")');
});

test('a pinned moment leads there', async (t) => {
  const page = await openPage(t);
  const { duration_ns } = await api('summary');
  const box = await (await page.waitForSelector('.strip-chart')).boundingBox();
  await page.mouse.click(box.x + box.width * 0.5, box.y + box.height / 2);
  await page.waitForFunction(() => /at=\d+/.test(location.hash));
  const at = Number((await params(page)).at);
  assert.ok(Math.abs(at / duration_ns - 0.5) < 0.01);
  const { total_count } = await api(`allocations?to=%2B${at}ns&count=0`);
  await page.waitForFunction((n) => {
    const m = /Row ([\d\u202f]+) to ([\d\u202f]+)/.exec(
      document.querySelector('.foot').textContent,
    );
    const [a, b] = [m[1], m[2]].map((x) => Number(x.replace(/\D/g, '')));
    return a <= n + 1 && n + 1 <= b;
  }, total_count);
});

test('keys: next, previous, only this call site', async (t) => {
  const page = await openPage(t);
  const { allocations } = await api('allocations?count=3');
  await page.focus('.grid-body');
  await page.keyboard.press('j');
  await page.waitForFunction((id) => location.hash.includes(`sel=alloc:${id}`), allocations[0].id);
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('k');
  await page.waitForFunction((id) => location.hash.includes(`sel=alloc:${id}`), allocations[1].id);
  await page.waitForSelector('.tr[aria-rowindex="3"][aria-selected=true]');
  await page.waitForSelector('.details .kv');
  await page.keyboard.press('o');
  await page.waitForFunction(
    (n) => location.hash.includes(`backtraces=${n}`),
    allocations[1].stack,
  );
});

test('extra columns: chain lifetime, freed by, memory', async (t) => {
  const page = await openPage(t, 'chain_length_min=3');
  for (const title of ['Chain lifetime', 'Freed by', 'Memory']) {
    await page.click('.toolbar button:text-is("Columns")');
    await page.click(`[role=menuitemcheckbox]:has-text("${title}")`);
    await page.waitForSelector(`.allocs .head :text-is("${title}")`);
  }
  const { allocations } = await api('allocations?chain_length_min=3&count=1');
  const nameOf = await threadNames();
  assert.equal(await cell(page, 0, 'Freed by'), nameOf(allocations[0].free_thread));
  const ms = allocations[0].chain_lifetime_ns / 1e6;
  const text = plain(await cell(page, 0, 'Chain lifetime'));
  assert.ok(
    Math.abs(parseFloat(text) * (text.endsWith(' s') ? 1000 : 1) - ms) <= ms * 0.01,
    `${text} and ${ms} ms`,
  );
});

test('nothing matches, and a filter that cannot be read', async (t) => {
  const page = await s.open(t, url('size_min=1099511627776'));
  await page.waitForSelector('.note:has-text("No allocation matches these filters.")');
  assert.equal(await foot(page), 'No allocation');
  await page.click('.note button:has-text("Remove")');
  await page.waitForSelector('.allocs .grid-room .tr .sym');
});

test('a server that cannot read the filter is quoted', async (t) => {
  const page = await s.open(t, url('function_regex=a('), { allowed: [/status of 400/] });
  await page.waitForSelector('.note:has-text("This filter cannot be read.")');
  assert.match(await page.textContent('.note'), /group opened at character 2 is not closed/);
});

for (const theme of ['light', 'dark'])
  test(`axe finds nothing, ${theme}`, async (t) => {
    const { allocations } = await api(
      'allocations?chain_length_min=4&position_in_chain_min=2&count=1',
    );
    const page = await openPage(t, `sel=alloc:${allocations[0].id}&row=${allocations[0].id}`, {
      theme,
    });
    await page.waitForSelector('.chain li.on');
    await page.waitForSelector('.details .stack li');
    await checkAccessible(page, `allocations, ${theme}`);
  });

test('1280 with the panel, and 400 pixels', async (t) => {
  const page = await openPage(t, 'sel=alloc:40&row=40', { width: 1280, height: 800 });
  const heads = () =>
    page.$$eval('.allocs .head > *', (all) =>
      all.filter((e) => e.getBoundingClientRect().width > 0).map((e) => e.textContent),
    );
  assert.deepEqual(await heads(), ['Allocated', 'Lifetime', 'Size', 'Thread', 'Call site']);
  await page.setViewportSize({ width: 400, height: 800 });
  await page.waitForFunction(() => innerWidth === 400);
  assert.deepEqual(await heads(), ['Allocated', 'Lifetime', 'Size', 'Call site']);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 400, `${wide} pixels wide`);
  const height = await page.evaluate(
    () => document.querySelector('.allocs .grid-room .tr').offsetHeight,
  );
  assert.equal(height, 36);
});

test('allocators inside the program: a column, the panel, a filter, a fact', async (t) => {
  const server2 = await s.serve([s.record('own.dat', [program('own_allocator')])]);
  await server2.ready();
  const { allocators } = await server2.json('/api/v1/last/summary');
  assert.ok(allocators.length > 0, 'the program has an allocator of its own');
  const { allocations } = await server2.json('/api/v1/last/allocations?count=20');
  const inside = allocations.findIndex((a) => a.allocator === allocators[0].name);
  assert.ok(inside >= 0);

  const page = await s.open(t, `${server2.url}#/last/allocations`);
  await waitForText(page, '.grid .head', /Allocator/);
  await waitForText(
    page,
    `.grid .tr[aria-rowindex="${inside + 2}"]`,
    new RegExp(allocators[0].name),
  );
  await page.click(`.grid .tr[aria-rowindex="${inside + 2}"]`);
  await waitForText(page, '.details', new RegExp(`Allocator ?${allocators[0].name}`));
  const { total_count } = await server2.json('/api/v1/last/allocations?count=0&allocator=^libc$');
  await page.goto(`${server2.url}#/last/allocations?allocator=${encodeURIComponent('^libc$')}`);
  await (total_count
    ? waitForText(page, '.foot', new RegExp(`of ${total_count}$|of ${total_count} `))
    : waitForText(page, '.note', /No allocation matches/));
  await page.goto(`${server2.url}#/last/overview`);
  await waitForText(page, '.facts', /Allocators.* in the program/);
});
