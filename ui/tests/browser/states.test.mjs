/* States of the frame: what it says of recordings that grow, were killed, are empty, damaged or lost
 * something, and of a server that goes away and comes back. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  checkAccessible,
  cli,
  plain,
  program,
  startRecorded,
  suite,
  waitForText,
} from './harness.mjs';

const s = suite();
const AWAY = [
  /ERR_CONNECTION_REFUSED/,
  /ERR_CONNECTION_RESET/,
  /ERR_EMPTY_RESPONSE/,
  /ERR_INCOMPLETE_CHUNKED_ENCODING/, // the server went away while it answered
  /Failed to load/,
];

const serve = async (file, options) => {
  const server = await s.serve([file].flat(), options);
  const recordings = await server.ready();
  return { server, recordings, r: recordings[recordings.length - 1] };
};
const rows = (page) =>
  page.$eval('.sum', (e) => e.textContent.replace(/\D*([\d\s.]+\s?[kM]?).*/, '$1').trim());

test('growing: figures follow by themselves, stand still while paused, and come to an end', async (t) => {
  const path = join(s.folder, 'grows.dat');
  const running = await startRecorded(path, [program('grows_on_command')]);
  t.after(() => running.child.kill('SIGKILL'));
  await running.answer();
  await running.say('x');
  const { server, r } = await serve(path);
  const page = await s.open(t, `${server.url}#/${r.id}/sites`);
  await waitForText(
    page,
    '.banner',
    /^Recording now, [\d.]+ m?s\. ?New data every 2 s\. Figures stand still while you select or filter\. ?Pause$/,
  );
  await waitForText(page, '.sum', /Whole recording: 1 000 allocations/);
  await checkAccessible(page, 'a growing recording');

  await running.say('x');
  await waitForText(page, '.sum', /Whole recording: 2 000 allocations/);

  await page.click('.banner button:has-text("Pause")');
  await waitForText(page, '.banner', /Paused:/);
  const banner = plain(await page.textContent('.banner b'));
  await running.say('x');
  /* the server knows more, and the page has asked it since */
  await server.until(async () => (await server.json(`/api/v1/${r.id}/summary`)).rows === 3000);
  await page.waitForResponse((response) => response.url().endsWith('/api/v1/recordings'));
  await page.waitForResponse((response) => response.url().endsWith('/api/v1/recordings'));
  assert.match(await rows(page), /^2.000$/);
  assert.equal(plain(await page.textContent('.banner b')), banner);
  await page.click('.banner button:has-text("Go to now")');
  await waitForText(page, '.sum', /Whole recording: 3 000 allocations/);

  running.child.stdin.end();
  await running.ended;
  await page.waitForSelector('.banner', { state: 'detached' });
  await waitForText(page, '.rec-switch', /finished/);
});

/* What a page shows that must move: figures of the overview, the pixels of its chart and of those of
 * the timeline. */
const moving = (page) =>
  page.evaluate(() => [
    document.querySelector('.tile.c-allocs .big')?.textContent,
    ...[...document.querySelectorAll('.chartbox canvas')].map((c) => c.toDataURL()),
  ]);

test('a program on another host: overview and timeline move with it, and pause', async (t) => {
  const log = join(s.folder, 'live.log');
  const running = await startRecorded(
    join(s.folder, 'live.dat'),
    [program('runs_on'), '2', '2000'],
    {
      MEMORY_PROFILER_ENABLE_SERVER: '1',
      MEMORY_PROFILER_BASE_SERVER_PORT: '8300',
      MEMORY_PROFILER_LOG: 'info',
      MEMORY_PROFILER_LOGFILE: log,
    },
  );
  t.after(() => running.child.kill('SIGKILL'));
  let port;
  for (let i = 0; i < 600 && !port; i++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    port = existsSync(log) && /can be received on port (\d+)/.exec(readFileSync(log, 'utf8'))?.[1];
  }
  const { server, r } = await serve([], ['--connect', `127.0.0.1:${port}`]);
  await server.until(async () => (await server.json(`/api/v1/${r.id}/summary`)).rows > 100);
  for (const [name, nCharts] of [
    ['overview', 1],
    ['timeline', 4],
  ]) {
    const page = await s.open(t, `${server.url}#/${r.id}/${name}`);
    await waitForText(page, '.banner', /^Recording now/);
    await page.waitForFunction(
      (n) => document.querySelectorAll('.chartbox canvas').length >= n,
      nCharts,
    );
    let before = await moving(page);
    const hasMoved = async () =>
      (await moving(page)).every((value, i) => value === undefined || value !== before[i]);
    await server.until(hasMoved);

    await page.click('.banner button:has-text("Pause")');
    await waitForText(page, '.banner', /Paused:/);
    await page.waitForFunction(() => !document.querySelector('.stale'));
    before = await moving(page);
    const { rows: seen } = await server.json(`/api/v1/${r.id}/summary`);
    await server.until(async () => (await server.json(`/api/v1/${r.id}/summary`)).rows > seen);
    await page.waitForResponse((response) => response.url().endsWith('/api/v1/recordings'));
    await page.waitForResponse((response) => response.url().endsWith('/api/v1/recordings'));
    assert.deepEqual(await moving(page), before, `${name} moves while it is paused`);

    await page.click('.banner button:has-text("Go to now")');
    await server.until(hasMoved);
  }
});

test('growing: an open filter panel holds the figures still', async (t) => {
  const path = join(s.folder, 'held.dat');
  const running = await startRecorded(path, [program('grows_on_command')]);
  t.after(() => running.child.kill('SIGKILL'));
  await running.answer();
  await running.say('x');
  const { server, r } = await serve(path);
  const page = await s.open(t, `${server.url}#/${r.id}/sites`);
  await waitForText(page, '.sum', /1 000 allocations/);
  await page.keyboard.press('f');
  await page.waitForSelector('.sheet');
  await running.say('x');
  await server.until(async () => (await server.json(`/api/v1/${r.id}/summary`)).rows === 2000);
  await page.waitForResponse((response) => response.url().endsWith('/api/v1/recordings'));
  await page.waitForResponse((response) => response.url().endsWith('/api/v1/recordings'));
  assert.match(await rows(page), /^1.000$/);
  await page.keyboard.press('Escape');
  await waitForText(page, '.sum', /2 000 allocations/);
});

test('killed: nothing is lost, and growth is one click away', async (t) => {
  const path = join(s.folder, 'killed.dat');
  const running = await startRecorded(path, [program('grows_on_command')]);
  await running.answer();
  await running.say('x');
  running.child.kill('SIGKILL');
  await running.ended;
  const { server, r } = await serve(path);
  const page = await s.open(t, `${server.url}#/${r.id}/sites`);
  const text = await waitForText(page, '.banner.bad', /^Killed by SIGKILL after /);
  assert.match(text, /Nothing is lost: every event up to the kill is here\./);
  await waitForText(page, '.sum', /1 000 allocations/);
  await checkAccessible(page, 'a killed recording');
  const href = page.url();
  await page.click('.banner button:has-text("Close")');
  await page.waitForSelector('.banner', { state: 'detached' });
  await page.goto(href.replace('/sites', '/recordings'));
  await waitForText(page, '.recs', /Killed/);
});

test('killed: what held the memory is the first card, whether it grew or not', async (t) => {
  const { server, r } = await serve(s.record('held.dat', [program('stands_out'), 'killed']));
  const page = await s.open(t, `${server.url}#/${r.id}/overview`);
  await waitForText(page, '.banner.bad', /^Killed by SIGKILL after /);
  await waitForText(page, '.finding', /^Held at the end.*load_tables held 8\.00 MiB at the end/);
  await waitForText(page, '.ov-top .card', /^Alive when it was killed/);
});

test('empty: the program allocated nothing', async (t) => {
  const path = join(s.folder, 'empty.dat');
  const running = await startRecorded(path, [program('grows_on_command')]);
  await running.answer();
  running.child.stdin.end();
  await running.ended;
  const { server, r } = await serve(path);
  assert.equal(r.allocations, 0);
  const page = await s.open(t, `${server.url}#/${r.id}/sites`);
  const text = await waitForText(
    page,
    '.note',
    /^The program allocated nothing while it was recorded\./,
  );
  assert.match(text, /It ran \d.*MEMORY_PROFILER_TRACK_CHILD_PROCESSES=1/);
  await page.click('.note button:has-text("How to record")');
  await waitForText(page, '.howto', /memory-profiler-cli run -- /);
});

test('damaged: how much of the file, and what that means', async (t) => {
  const path = s.record('whole.dat', [program('demo_node'), '1']);
  const damaged = s.copy(path, 'damaged.dat', (bytes) => {
    const middle = bytes.length >> 1;
    for (let i = 0; i < 200; i++) bytes[middle + i] ^= 0x55;
  });
  const { server, r } = await serve(damaged);
  const { damaged_bytes } = await server.json(`/api/v1/${r.id}/summary`);
  assert.ok(damaged_bytes > 0);
  const page = await s.open(t, `${server.url}#/${r.id}/sites`);
  const text = await waitForText(page, '.banner.warn', /[KM]iB are damaged\./);
  assert.ok(text.startsWith(`${(damaged_bytes / 1024).toPrecision(3)} KiB of `), text);
  assert.match(
    text,
    /Events .*between .* and .*shown hatched on the timeline\. Totals are too low/,
  );
  await waitForText(page, '.strip .gaps', /^Events are missing from /);
  await checkAccessible(page, 'a damaged recording');
});

test('events lost: how many and why', async (t) => {
  const path = join(s.folder, 'lost.dat');
  const limited = spawnSync(
    'bash',
    ['-c', 'ulimit -f 3000; exec "$0" run -o "$1" -- "$2" 1', cli.path, path, program('demo_node')],
    { encoding: 'utf8' },
  );
  assert.equal(limited.error, undefined);
  const { server, r } = await serve(path);
  const { lost_events } = await server.json(`/api/v1/${r.id}/summary`);
  assert.ok(lost_events > 0, limited.stderr);
  const page = await s.open(t, `${server.url}#/${r.id}/sites`);
  await waitForText(
    page,
    '.banner.warn',
    /events were lost\. ?The recorder could not write: File too large\./,
  );
  await page.click('.banner button:has-text("Details")');
  await page.waitForFunction(() => location.hash.includes('/overview'));
});

test('cut off before its first event: it says that, not that nothing was allocated', async (t) => {
  const whole = readFileSync(s.record('whole.dat', [program('demo_node'), '1']));
  const path = join(s.folder, 'cut.dat');
  writeFileSync(path, whole.subarray(0, 1 << 20));
  const { server, r } = await serve(path);
  assert.equal(r.allocations, 0);
  const page = await s.open(t, `${server.url}#/${r.id}/overview`);
  await waitForText(page, '.note', /^The recording holds no allocation that can be read\./);
  const banner = await waitForText(page, '.banner.warn', /damaged\./);
  const { damaged_bytes, file_bytes } = await server.json(`/api/v1/${r.id}/summary`);
  assert.equal(/ of /.test(banner.split('damaged.')[0]), damaged_bytes < file_bytes, banner);
});

test('cannot open, not there, none at all', async (t) => {
  const bad = s.copy(program('grows_on_command'), 'program.dat');
  const { server, r } = await serve(bad);
  const page = await s.open(t, `${server.url}#/${r.id}/sites`);
  await waitForText(
    page,
    '.note',
    /^program\.dat cannot be opened\. ?Not a recording; it is a program/,
  );
  await page.goto(`${server.url}#/nonsense/sites`);
  await waitForText(
    page,
    '.note',
    /^This recording is not on the server\. ?The address names nonsense/,
  );
  await page.click('.note button:has-text("All recordings")');
  await waitForText(page, '.recs', /Cannot open/);
  const none = await s.serve([]);
  const other = await s.open(t, none.url);
  await waitForText(
    other,
    '.note',
    /^No recording is loaded\. ?Start the server with one: memory-profiler-cli server/,
  );
  await other.click('.nav a:has-text("Recordings")');
  await waitForText(other, '.recs', /No recording is loaded\..*Record another program/);
});

test('a link into a recording that is still being read shows how far, then the page', async (t) => {
  const { server, r } = await serve(s.record('read.dat', [program('grows_on_command')]));
  const page = await s.open(t, 'about:blank');
  let isReading = true;
  await page.route('**/api/v1/recordings', async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    const state = { state: 'loading', percent: 62.4, eta_s: 100 };
    if (isReading)
      answer.recordings = answer.recordings.map(({ id, file }) => ({ id, file, ...state }));
    await route.fulfill({ response, json: answer });
  });
  await page.goto(`${server.url}#/${r.id}/sites`);
  await waitForText(page, '.note', /^Reading read\.dat\. ?62 % read, 1 m 40 s left\./);
  assert.equal(await page.getAttribute('.note [role=progressbar]', 'aria-valuenow'), '62');
  await checkAccessible(page, 'a recording that is being read');
  isReading = false;
  await waitForText(page, '.rec-switch', /finished/);
});

test('away: what is there stays usable, and the page comes back with the server', async (t) => {
  const file = s.record('away.dat', [program('demo_node'), '1']);
  const { server, r } = await serve(file);
  const page = await s.open(t, `${server.url}#/${r.id}/sites`, { allowed: AWAY });
  await waitForText(page, '.sum', /Whole recording/);
  const view = () => page.$eval('.view > :not(.banner-slot)', (e) => e.getBoundingClientRect().top);
  const top = await view();
  const isSettled = () => !document.querySelector('.stale, [aria-busy=true]');
  await page.waitForFunction(isSettled); // all answers came
  await server.stop();
  /* a new question finds out */
  await page.evaluate(() => (location.hash += '?size_min=64'));
  const text = await waitForText(page, '.banner.warn', /^The server does not answer\./);
  assert.match(text, /What you see stays usable\. Trying again( in \d s)?\. ?Try now$/);
  assert.equal(await view(), top, 'the banner pushes nothing');
  assert.equal(await page.locator('.note:has-text("does not answer")').count(), 0, 'said once');
  await page.goBack(); // what was asked before is still there, and not stale
  await page.waitForFunction(isSettled);
  await checkAccessible(page, 'a page without its server');
  await page.goForward();
  await page.click('.nav a:has-text("Recordings")'); // still works
  await waitForText(page, '.recs', /demo_node/);
  await page.goBack();

  const again = await s.serve([file], ['-p', new URL(server.url).port]);
  assert.equal(again.url, server.url);
  await page.waitForSelector('.banner', { state: 'detached' });
  await waitForText(page, '.sum', / of .* allocations/); // the question that waited
  /* Try now asks at once */
  await again.stop();
  await page.evaluate(() => (location.hash = location.hash.replace('size_min=64', 'size_min=65')));
  await page.waitForSelector('.banner.warn');
  const third = await s.serve([file], ['-p', new URL(server.url).port]);
  await third.ready();
  await page.click('.banner button:has-text("Try now")');
  await page.waitForSelector('.banner', { state: 'detached' });
});

test('a filter that cannot be read leads to its field', async (t) => {
  const file = s.record('filter.dat', [program('demo_node'), '1']);
  const { server, r } = await serve(file);
  const page = await s.open(t, `${server.url}#/${r.id}/overview?function_regex=gossip::(seen`, {
    allowed: [/status of 400/],
  });
  const text = await waitForText(page, '.note', /This filter cannot be read\./);
  assert.match(text, /gossip::\(seen ?The group opened at character 9 is not closed\./);
  await page.click('.note button:has-text("Edit filter") >> nth=0');
  await page.waitForSelector('.sheet');
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'field-function_regex');
});

test('nothing matches: every filter can be removed, and what that would bring is said', async (t) => {
  const file = s.record('none.dat', [program('demo_node'), '1']);
  const { server, r } = await serve(file);
  const run = r.duration_ns;
  const query = `t0=0&t1=${Math.round(run / 2)}&function_regex=no_such_function`;
  const page = await s.open(t, `${server.url}#/${r.id}/overview?${query}`);
  const text = await waitForText(
    page,
    '.note',
    /holds .* allocations, but none of them fits “Has function/,
  );
  assert.match(
    text,
    /^No allocation matches these filters\. ?The time range 00:00:00\.0+ to 00:00:00\.\d+ holds/,
  );
  const held = await server.json(
    `/api/v1/${r.id}/summary?from=%2B0ns&to=%2B${Math.round(run / 2)}ns`,
  );
  const n = held.matched.allocations;
  const shown =
    n < 100_000 ? String(n).replace(/\B(?=(\d{3})+$)/g, ' ') : `${Math.round(n / 1000)} k`;
  assert.ok(text.includes(`holds ${shown} allocations`), `${text}: ${shown}`);
  await waitForText(page, '.note button:has-text("Allocated in")', /still none$/);
  await page.click('.note button:has-text("Has function")');
  await page.waitForSelector('.chip:has-text("Has function")', { state: 'detached' });
  await page.waitForSelector('.note:has-text("No allocation matches")', { state: 'detached' });
});

/* No program of the tests frees everything, so the answer is changed to say that one did. */
test('no leak: everything was freed, and the peak is one click away', async (t) => {
  const { server, r } = await serve(s.record('freed.dat', [program('demo_node'), '1']));
  const page = await s.open(t, 'about:blank');
  const empty = (pattern, change) =>
    page.route(pattern, async (route) => {
      const response = await route.fetch();
      const answer = await response.json();
      change(answer);
      await route.fulfill({ response, json: answer });
    });
  await empty('**/summary**', (a) => Object.assign(a, { leaked_count: 0, leaked_bytes: 0 }));
  await empty('**/groups?*by=blame*', (a) => (a.total.allocations = 0));
  await page.goto(`${server.url}#/${r.id}/overview?lifetime=only_leaked`);
  const text = await waitForText(page, '.note', /^Everything was freed\./);
  assert.match(text, /\d k? ?allocations, 0 B left at the end\./);
  await page.click('.note button:has-text("Show the peak")');
  await page.waitForFunction(() => /cost=peak/.test(location.hash));
  assert.ok(!page.url().includes('lifetime'));
});

/* A large recording, whose exact answers to questions like `pattern` take until the test lets them go. */
async function holdExact(t, name, pattern) {
  const { server, r } = await serve(s.record(name, [program('demo_node'), '1']));
  const page = await s.open(t, 'about:blank');
  await page.route('**/api/v1/recordings', async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    for (const one of answer.recordings) one.allocations = 2e7;
    await route.fulfill({ response, json: answer });
  });
  let letGo = () => {};
  const gone = new Promise((resolve) => (letGo = resolve));
  const asked = [];
  await page.route(pattern, async (route) => {
    const url = new URL(route.request().url());
    const isFirst = url.searchParams.has('first');
    asked.push(isFirst);
    if (!isFirst) await gone;
    const response = await route.fetch();
    const answer = await response.json();
    if (isFirst) answer.estimate = { read_percent: 3.1 };
    await route.fulfill({ response, json: answer });
  });
  return { page, asked, letGo, url: (path) => `${server.url}#/${r.id}/${path}` };
}

test('estimate: shown with its mark until the exact answer is here', async (t) => {
  const { page, asked, letGo, url } = await holdExact(t, 'estimate.dat', /\/sizes\?/);
  await page.goto(url('sizes'));
  await waitForText(
    page,
    '.chips .estimate',
    /^Estimate from 3\.1 % of the rows; exact in a moment\. ?Cancel$/,
  );
  await page.waitForSelector('.hist canvas'); /* its figures are there */
  await checkAccessible(page, 'an estimate');
  letGo();
  await page.waitForSelector('.chips .estimate', { state: 'detached' });
  assert.deepEqual(asked.slice(0, 2), [true, false]);
});

test('estimate: the rows of a table come first as an estimate, too', async (t) => {
  const { page, asked, letGo, url } = await holdExact(t, 'rows.dat', /\/functions\?/);
  await page.goto(url('callers'));
  await waitForText(page, '.chips .estimate', /^Estimate from 3\.1 % .* ?Cancel$/);
  await page.waitForSelector('.grid.functions .tr .sym'); /* its figures are there */
  letGo();
  await page.waitForSelector('.chips .estimate', { state: 'detached' });
  await page.waitForSelector('.grid.functions .tr .sym');
  assert.deepEqual(asked, [true, false]);
});

test('estimate: the frame marks parts of a page that have no mark of their own', async (t) => {
  const { page, letGo, url } = await holdExact(t, 'part.dat', /\/groups\?.*by=blame/);
  await page.goto(url('overview'));
  await page.waitForSelector('.ov-top .sym');
  await waitForText(
    page,
    '.chips .estimate',
    /^Estimate from 3\.1 % of the rows; exact in a moment\.$/,
  );
  letGo();
  await page.waitForSelector('.chips .estimate', { state: 'detached' });
});
