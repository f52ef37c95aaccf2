/* The Export menu: every format of `export -f`, and commands that really run. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { cli, clipboardOf, plain, program, shell, suite } from './harness.mjs';

const s = suite();
let server;
let id;

before(async () => {
  server = await s.serve([s.record("it's.dat", [program('demo_node'), '1'])]);
  [{ id }] = await server.ready();
});

const QUERY = 't0=100000000&t1=700000000&size_min=32&function_regex=o%27r%7Chandle%7C%24x';
const openMenu = async (page) => {
  await page.click('.topbar button:has-text("Export")');
  await page.waitForSelector('.menu');
};
const open = async (t, path) => {
  const page = await s.open(t, `${server.url}#/${id}/${path}`);
  await openMenu(page);
  return page;
};
const copy = async (page, label) => {
  await page.click(`.menu button:has-text("${label}")`);
  await page.waitForSelector('.message:has-text("copied")');
  return clipboardOf(page);
};

test('the menu has every format of the command line, and each of them answers', async (t) => {
  const page = await open(t, `sites?${QUERY}`);
  const help = cli('export', '--help').stdout;
  const table = /^Formats:\n(.*?)\n\n/ms.exec(help)?.[1] ?? '';
  const formats = [...table.matchAll(/^ {2}([a-z][\w-]*) {2,}\S/gm)];
  const wanted = formats.map((m) => m[1]).sort();
  assert.ok(wanted.length >= 15, wanted.join());
  const links = await page.$$eval('.menu a[download]', (all) =>
    all.map((a) => ({ label: a.textContent, href: a.href })),
  );
  const offered = links.flatMap((l) => /\/export\/([\w-]+)\//.exec(l.href)?.[1] ?? []);
  const others = links.length - offered.length;
  assert.equal(others, 2, 'what constants allocate, what statics allocate');
  assert.deepEqual([...new Set(offered)].sort(), wanted);
  for (const { label, href } of links) {
    const response = await fetch(href);
    assert.equal(response.status, 200, `${label}: ${href}`);
    assert.ok((await response.arrayBuffer()).byteLength > 0, label);
    const query = new URL(href).searchParams;
    assert.equal(query.get('size_min'), '32', label);
    assert.equal(query.get('from'), '+100000000ns', label);
  }
  assert.equal(plain(await page.textContent('.menu-head')), 'With the current filter');
});

test('the table of each page comes as CSV, with all rows', async (t) => {
  const api = (path) => server.json(`/api/v1/last/${path}`);
  const { total_count: functions } = await api('functions?count=1&own=true');
  const { total_count: maps } = await api('maps?count=1');
  const { threads } = await api('threads');
  for (const [name, column, rows] of [
    ['callers', 'frame_function', functions],
    ['map', 'address', maps],
    ['threads', 'name', threads.length],
    ['bottomup', 'function', 5],
    ['timeline', 'max_bytes', 100],
    ['chains', 'copied_bytes', 1],
    ['sizes', 'min', 5],
  ]) {
    const page = await s.open(t, `${server.url}#/${id}/${name}`);
    await page.waitForSelector(name === 'timeline' ? '.timechart canvas' : '.grid .grid-room .tr');
    await openMenu(page);
    const wait = page.waitForEvent('download');
    await page.click('.menu button:has-text("(CSV)") >> nth=0');
    const text = readFileSync(await (await wait).path(), 'utf8');
    const [head, ...lines] = text.trim().split('\r\n');
    assert.ok(head.split(',').includes(column), `${name}: ${head}`);
    const isAtLeast = ['bottomup', 'timeline', 'chains', 'sizes'].includes(name);
    assert.ok(isAtLeast ? lines.length >= rows : lines.length === rows, `${name}: ${lines.length}`);
  }
});

test('without a filter the menu says that it is the whole recording', async (t) => {
  const page = await open(t, 'flame');
  assert.equal(plain(await page.textContent('.menu-head')), 'The whole recording');
});

/* What "Copy as command line" is on which page: part of its output must be there. */
const COMMANDS = [
  ['sites', /^memory-profiler-cli report --sort leaked /, /demo_node/],
  ['sites?cost=temp', /^memory-profiler-cli report --sort temporary /, /demo_node/],
  [
    'flame?cost=peak',
    /^memory-profiler-cli export -f flamegraph-svg -o flamegraph\.svg --cost=peak /,
    null,
  ],
  ['topdown', /^memory-profiler-cli export -f ascii-tree --cost=peak /, /handle_messages/],
  [
    'bottomup',
    /^memory-profiler-cli export -f ascii-tree --inverted=true --cost=leaked /,
    /SOURCE/,
  ],
  ['allocations', /^memory-profiler-cli export -f csv /, /^id,|^"?id/m],
];

for (const [path, words, output] of COMMANDS)
  test(`Copy as command line runs: ${path}`, async (t) => {
    const page = await open(t, path + (path.includes('?') ? '&' : '?') + QUERY);
    const line = await copy(page, 'Copy as command line');
    assert.match(line, words);
    const got = shell(line, s.folder);
    assert.equal(got.status, 0, `${line}\n${got.stderr}`);
    if (output) assert.match(got.stdout, output, line);
    else assert.match(readFileSync(`${s.folder}/flamegraph.svg`, 'utf8'), /<svg/);
  });

test('Copy as command line leaves out the leaks that the server leaves out', async (t) => {
  const rules = `${s.folder}/known.supp`;
  writeFileSync(rules, "leak:remember\nleak:it's mine\n");
  const other = await s.serve([`${s.folder}/it's.dat`], ['--suppressions', rules]);
  const [entry] = await other.ready();
  const page = await s.open(t, `${other.url}#/${entry.id}/sites`);
  await openMenu(page);
  const line = await copy(page, 'Copy as command line');
  const got = shell(line.replace(' report ', ' report --json '), s.folder);
  assert.equal(got.status, 0, `${line}\n${got.stderr}`);
  const { leaked_bytes } = await other.json(`/api/v1/${entry.id}/summary`);
  const { totals } = JSON.parse(got.stdout);
  assert.equal(totals.leaked.bytes, leaked_bytes);
  assert.ok(leaked_bytes < totals.peak.bytes / 10, 'the leak of the demo does not count');
});

/* "Copy as curl" is the request that the page itself made: how many rows it brings, and how many the API
 * has for the same filter. */
const API =
  'from=%2B100000000ns&to=%2B700000000ns&size_min=32&function_regex=o%27r%7Chandle%7C%24x';
const CURLS = [
  ['sites', 'groups?by=stack&count=0', (a) => a.total_count],
  ['allocations', 'allocations?count=0', (a) => a.total_count],
  ['callers', 'functions?count=0&own=true', (a) => a.total_count],
  ['overview', 'summary', (a) => a.matched.allocations],
  ['flame', 'tree?min_share=0&fold=runtime', (a) => a.total.allocations],
  ['bottomup', 'tree?direction=bottom_up', (a) => a.total.allocations],
  ['chains', 'chains?count=0', (a) => a.total_count],
  ['threads', 'groups?by=thread&count=0', (a) => a.total_count],
];

for (const [path, api, figure] of CURLS)
  test(`Copy as curl copies the request of the page: ${path}`, async (t) => {
    const page = await open(t, `${path}?${QUERY}`);
    const line = await copy(page, 'Copy as curl');
    assert.ok(line.includes(`/api/v1/${id}/${api.replace(/[?].*/, '')}?`), line);
    const got = shell(`${line} -sS`, s.folder);
    assert.equal(got.status, 0, `${line}\n${got.stderr}`);
    const want = await server.json(`/api/v1/${id}/${api}${api.includes('?') ? '&' : '?'}${API}`);
    assert.equal(figure(JSON.parse(got.stdout)), figure(want), line);
    assert.ok(figure(want) > 0 || path === 'chains');
  });

test('a server with a token: curl and downloads carry it', async (t) => {
  const closed = await s.serve([`${s.folder}/it's.dat`], ['--token', 'secret words']);
  const page = await s.open(
    t,
    `${closed.url.replace(/[?#].*$/, '')}?token=secret+words#/last/sites`,
  );
  await openMenu(page);
  const href = await page.$eval('.menu a[download]', (a) => a.href);
  assert.equal((await fetch(href)).status, 200);
  const got = shell(`${await copy(page, 'Copy as curl')} -sS`, s.folder);
  assert.ok(JSON.parse(got.stdout).total_count > 0, got.stdout);
});

test('this table as CSV: the page’s own rows', async (t) => {
  const page = await open(t, 'recordings');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.click('.menu button:has-text("This table (CSV)")'),
  ]);
  assert.equal(download.suggestedFilename(), 'recordings.csv');
  const [head, row] = readFileSync(await download.path(), 'utf8').split('\r\n');
  assert.match(head, /^program,command_line,file,state,/);
  assert.match(row, /^demo_node,/);
});
