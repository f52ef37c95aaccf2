/* Comparing two recordings: choosing the base, figures of every page that compares, links, the chip. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { addressOf, checkAccessible, plain, program, suite, waitForText } from './harness.mjs';
import { COST_FIELDS, eventually, rowsOf } from './tables.mjs';

const s = suite();
let server;
let base; // of the API's recordings
let fresh;

before(async () => {
  const files = [
    s.record('before.dat', [program('demo_node'), '1']),
    s.record('after.dat', [program('demo_node'), '2']),
  ];
  server = await s.serve(files);
  const list = await server.ready();
  base = list.find((r) => r.file === 'before.dat');
  fresh = list.find((r) => r.file === 'after.dat');
});

const api = (path, id = fresh.id) => server.json(`/api/v1/${id}/${path}`);
const compared = (path) => api(`${path}${path.includes('?') ? '&' : '?'}base=${base.id}`);
const open = (t, page, query = '', options = {}) =>
  s.open(t, `${server.url}#/${fresh.id}/${page}?base=${base.id}${query}`, options);

/* What a canvas or table says, when it says so at last. */
const label = async (page) => plain((await page.getAttribute('canvas.flame', 'aria-label')) ?? '');

/* "+4.93MiB" -> the value as far as the digits go */
function isRounded(text, value) {
  const found = /([+\u2212-]?)([\d.]+)(B|KiB|MiB|GiB|k|M)?/.exec(text.replace(/[\s\u202f]/g, ''));
  assert.ok(found, text);
  const unit = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, k: 1e3, M: 1e6 }[found[3]] ?? 1;
  const shown = (found[1] && found[1] !== '+' ? -1 : 1) * Number(found[2]) * unit;
  const digits = (found[2].split('.')[1] ?? '').length;
  assert.ok(Math.abs(shown - value) <= 0.51 * unit * 10 ** -digits, `${text}: ${value}`);
}

/* ---- choosing ---- */

test('two picked recordings: Compare these two opens the new one with its base', async (t) => {
  const page = await s.open(t, `${server.url}#/last/recordings?pick=${base.id},${fresh.id}`);
  await page.click('.comparebar button:has-text("Compare these two")');
  await page.waitForSelector('.chip:has-text("Compared with")');
  const at = await addressOf(page);
  assert.equal(at.path, `#/${fresh.id}/flame`);
  assert.equal(at.base, base.id);
  await waitForText(page, '.chip', /Compared with ?before\.dat/);
});

test('the top bar and the search box choose a base, the chip ends the comparison', async (t) => {
  const page = await s.open(t, `${server.url}#/${fresh.id}/flame`);
  await page.click('.topbar button:has-text("Compare")');
  await page.click('[role^=menuitem]:has-text("before.dat")');
  await page.waitForSelector('.chip:has-text("Compared with")');
  assert.equal((await addressOf(page)).base, base.id);
  await page.click('.chip [aria-label="End the comparison"]');
  await page.waitForSelector('.chip:has-text("Compared with")', { state: 'detached' });
  assert.equal((await addressOf(page)).base, undefined);
  await page.keyboard.press('Control+k');
  await page.keyboard.type('>compare with');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.chip:has-text("Compared with")');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('>end the comparison');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.chip:has-text("Compared with")', { state: 'detached' });
});

/* ---- the API ---- */

test('the API: rows are both recordings, their difference is the cost', async () => {
  for (const path of [
    'functions?count=1000',
    'functions?count=1000&from=%2B200ms&to=%2B600ms&size_min=32',
    'groups?by=blame',
    'groups?by=package&lifetime=only_leaked',
  ]) {
    const answer = await compared(path);
    const rows = answer.functions ?? answer.groups;
    assert.ok(rows.length > 0);
    for (const [side, id] of [
      ['before', base.id],
      ['after', fresh.id],
    ]) {
      const alone = await api(path, id);
      assert.deepEqual(answer[`total_${side}`], alone.total, path);
      for (const row of alone.functions ?? alone.groups) {
        const name = row.function ?? row.name;
        const found = rows.filter((r) => (r.function ?? r.name) === name);
        assert.equal(found.length, 1, name);
        assert.deepEqual(found[0][side], row.cost, name);
      }
    }
    for (const r of rows)
      for (const field of Object.keys(r.cost))
        assert.equal(r.cost[field], r.after[field] - r.before[field]);
  }
});

test('the API: a tree compared with itself does not change, swapped it is negated', async () => {
  const query = 'min_share=0&direction=bottom_up';
  const same = await api(`tree?${query}&base=${fresh.id}`);
  const alone = await api(`tree?${query}`);
  assert.equal(same.parent.length, alone.parent.length);
  for (const f of COST_FIELDS) {
    assert.ok(same[f].every((v) => v === 0));
    assert.equal(same[`base_${f}`][0], alone[f][0]);
  }
  const there = await compared(`tree?${query}`);
  const back = await api(`tree?${query}&base=${fresh.id}`, base.id);
  const sum = (list) => list.reduce((a, b) => a + Math.abs(b), 0);
  for (const f of COST_FIELDS) {
    assert.equal(there[f][0], -back[f][0]);
    assert.equal(sum(there[f]), sum(back[f]));
  }
});

test('the API: what cannot be compared is refused with the parameter and the remedy', async () => {
  const refused = async (path, status, parameter, words) => {
    const response = await fetch(new URL(`/api/v1/${fresh.id}/${path}`, server.url));
    const answer = await response.json();
    assert.equal(response.status, status, path);
    assert.equal(answer.parameter, parameter, path);
    assert.match(answer.error, words);
    assert.ok(answer.valid);
  };
  const with_ = `base=${base.id}`;
  await refused('tree?base=nowhere', 404, 'base', /no recording with this id/);
  await refused(`allocations?${with_}`, 400, 'base', /does not compare/);
  await refused(`groups?by=stack&${with_}`, 400, 'by', /use blame/);
  await refused(`groups?by=blame&sort_by=key&${with_}`, 400, 'sort_by', /change of a cost/);
  await refused(`timeline?by=package&${with_}`, 400, 'by', /comparison/);
  await refused(`tree?from=1600000000&${with_}`, 400, 'from', /since the start/);
  await refused(`tree?at=1600000000&${with_}`, 400, 'at', /since the start/);
  await refused(`functions?thread=1&${with_}`, 400, 'thread', /comparison/);
  await refused(`tree?under=123&${with_}`, 404, 'under', /two recordings/);
});

/* ---- pages ---- */

test('the flame graph shows the change of the API', async (t) => {
  const page = await open(t, 'flame', '&cost=bytes');
  const tree = await compared('tree?fold=runtime&min_share=0');
  await page.waitForSelector('canvas.flame');
  await server.until(async () => /\+/.test(await label(page)));
  isRounded(/Bytes: (\+[\d.,\s\u202f]+\w+)/.exec(await label(page))?.[1] ?? '', tree.bytes[0]);
  const box = await page.locator('canvas.flame').boundingBox();
  await page.mouse.move(box.x + 30, box.y + 31);
  await page.waitForSelector('.tip:not([hidden]) .tip-line');
  const numbers = plain(await page.textContent('.tip .tip-line'))
    .split(/before|now/)
    .map((part) => Number(part.replace(/[^\d]/g, '')));
  assert.deepEqual(numbers.slice(0, 2), [tree.base_bytes[1], tree.base_bytes[1] + tree.bytes[1]]);
  await waitForText(page, '.legend, .toolbar, .subbar, main', /less.*more/);
  await checkAccessible(page, 'the flame graph of a comparison');
});

test('bottom-up, top-down and functions have the figures of the API', async (t) => {
  for (const [name, direction, field] of [
    ['bottomup', 'bottom_up', 'leaked_bytes'],
    ['topdown', 'top_down', 'peak_bytes'],
  ]) {
    const page = await open(t, name, '&open=0');
    const tree = await compared(`tree?direction=${direction}&fold=runtime&min_share=0.05`);
    const want = tree.parent
      .map((parent, i) => ({ parent, i }))
      .filter(({ parent, i }) => i > 0 && parent === 0)
      .map(({ i }) => ({
        name: tree.names[tree.name[i]].function,
        values: COST_FIELDS.map((f) => tree[f][i]),
      }));
    const at = COST_FIELDS.indexOf(field);
    const byText = (list) => list.map((r) => JSON.stringify(r)).sort();
    await page.waitForSelector('.trees .grid-room .tr .fn');
    const shown = async () =>
      (await rowsOf(page, '.trees'))
        .filter((r) => r.level === 1 && r.values.length === COST_FIELDS.length)
        .map(({ name, values }) => ({ name, values }));
    await eventually(async () => byText(await shown()), byText(want), name);
    const order = (await shown()).map((r) => r.values[at]);
    assert.deepEqual(
      order,
      [...order].sort((a, b) => b - a),
      'what grew most comes first',
    );
  }
  const page = await open(t, 'callers');
  const { functions } = await compared('functions?sort_by=peak_bytes&own=true&count=10');
  await page.waitForSelector('.functions .grid-room .tr .fn');
  const want = functions.map((f) => COST_FIELDS.map((field) => f.cost[field]));
  await eventually(
    async () => (await rowsOf(page, '.functions')).slice(0, 10).map((r) => r.values),
    want,
    'functions',
  );
});

test('callers and callees of a function have the figures of the API', async (t) => {
  const name = 'net::SeenCache::remember(codec::Message const&)';
  const calls = await compared(`callers?function=${encodeURIComponent(name)}`);
  const page = await open(t, 'callers', `&sel=fn:${encodeURIComponent(name)}`);
  const sorted = (rows) => rows.map((r) => r.cost.peak_bytes).sort((a, b) => b - a);
  const want = [...sorted(calls.callers), ...sorted(calls.callees)];
  const read = () =>
    page.$$eval('.tr .cost', (cells) =>
      cells.map((c) => Number(c.title.replace(/\u2212/, '-').replace(/[^\d-]/g, ''))),
    );
  await server.until(async () => {
    const got = await read();
    return want.every((v) => got.includes(v));
  });
  assert.ok(want.length > 0);
});

test('the overview shows the change of the key figures, the charts draw the base', async (t) => {
  const page = await open(t, 'overview');
  const summary = await compared('summary');
  await page.waitForSelector('[aria-label="Changes of key figures"] .tile');
  const tiles = await page.locator('.tile .big').allTextContents();
  const want = [
    summary.matched.peak_bytes,
    summary.matched.leaked_bytes,
    summary.rss_peak_bytes - base_rss(summary),
    summary.matched.allocations,
    summary.matched.temporary_count,
    summary.matched.bytes,
  ];
  tiles.forEach((text, i) => isRounded(text, want[i]));
  assert.equal(summary.matched.bytes, summary.after.bytes - summary.before.bytes);
  await page.waitForSelector('[aria-label*="heap of the base as a dashed line"]');
  await checkAccessible(page, 'the overview of a comparison');
});
const base_rss = (summary) => summary.base_rss_peak_bytes;

test('the timeline says what the base had at the moment under the pointer', async (t) => {
  const page = await open(t, 'timeline');
  const { duration_ns } = await api('summary');
  const buckets = 400;
  const both = await compared(`timeline?from=%2B0ns&to=%2B${duration_ns}ns&buckets=${buckets}`);
  const alone = await api(
    `timeline?from=%2B0ns&to=%2B${duration_ns}ns&buckets=${buckets}`,
    base.id,
  );
  assert.deepEqual(both.before.max_bytes, alone.max_bytes);
  both.max_bytes.forEach((v, i) =>
    assert.equal(v, both.after.max_bytes[i] - both.before.max_bytes[i]),
  );
  await page.waitForSelector('.tl-legend:has-text("dashed: the base")');
  const plot = await page.locator('.tl-card .u-over').first().boundingBox();
  await page.mouse.move(plot.x + plot.width * 0.2, plot.y + plot.height / 2);
  await page.waitForSelector('.tl-legend:has-text("base ")');
  const text = plain(await page.locator('.tl-legend').first().textContent());
  const shown = /base ([\d.]+)\s?(\w+)/.exec(text.replace(/\u202f/g, ''));
  assert.ok(shown, text);
  /* the pointer is in one of a few buckets around there */
  const near = both.before.max_bytes.slice(buckets * 0.2 - 3, buckets * 0.2 + 3);
  const unit = { KiB: 2 ** 10, MiB: 2 ** 20 }[shown[2]] ?? 1;
  assert.ok(
    near.some((v) => Math.abs(v / unit - Number(shown[1])) <= 0.051),
    `${text}: ${near.join(' ')}`,
  );
});

/* ---- links ---- */

test('a link restores the comparison, the chip ends it and figures are whole again', async (t) => {
  const first = await open(t, 'bottomup');
  await first.waitForSelector('.trees .grid-room .tr .fn');
  const link = first.url();
  const page = await s.open(t, link);
  await page.waitForSelector('.chip:has-text("Compared with")');
  await page.waitForSelector('.trees .grid-room .tr .fn');
  const read = async (p) => (await rowsOf(p, '.trees')).map((r) => r.values);
  await eventually(() => read(page), await read(first), 'the same rows');
  await page.click('.chip [aria-label="End the comparison"]');
  const alone = await s.open(t, `${server.url}#/${fresh.id}/bottomup`);
  await alone.waitForSelector('.trees .grid-room .tr .fn');
  await server.until(
    async () => JSON.stringify(await read(page)) === JSON.stringify(await read(alone)),
  );
});

/* A refused question is an error in the console, which fails the test: harness.mjs. */
test('pages that compare nothing ask without the base', async (t) => {
  for (const name of ['sites', 'allocations', 'sizes', 'threads', 'chains', 'map', 'source']) {
    const page = await open(t, name);
    await page.waitForSelector('.chip:has-text("Compared with")');
    await page.waitForLoadState('networkidle');
  }
});

test('a base that is not there is an error that names it', async (t) => {
  const page = await s.open(t, `${server.url}#/${fresh.id}/bottomup?base=nowhere`, {
    allowed: [/status of 404/],
  });
  await waitForText(page, 'main', /base: there is no recording with this id/);
});
