/* What the browser tests share: a real recording, a real server, a real Chromium.
 *
 * MP_BUILD is the build folder. A test file calls suite(), which starts the browser once, and gets
 * helpers bound to it; everything is ended when the file's tests are done. Console errors and
 * warnings, failed requests and exceptions of a page fail the test that opened the page.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { chromium } from 'playwright-core';

const require = createRequire(import.meta.url);
const BUILD = process.env.MP_BUILD;
if (!BUILD) throw new Error('MP_BUILD must name the build folder');
const CLI = join(BUILD, 'memory-profiler-cli');
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const CHROMIUM = process.env.MP_CHROMIUM ?? 'chromium';

function findChromium() {
  const found = spawnSync('sh', ['-c', `command -v ${CHROMIUM}`], { encoding: 'utf8' });
  if (found.status !== 0) throw new Error('chromium is needed: tools/install-deps.sh installs it');
  return found.stdout.trim();
}

export const program = (name) => join(BUILD, 'tests', 'programs', name);

/* The command line tool, for what is not a recording or a server: { status, stdout, stderr }. */
export const cli = (...argv) => spawnSync(CLI, argv, { encoding: 'utf8' });
cli.path = CLI;

/* Runs a line in a shell, in a folder, where the command line tool has its name. */
export const shell = (line, folder) =>
  spawnSync('sh', ['-c', line], {
    encoding: 'utf8',
    cwd: folder,
    env: { ...process.env, PATH: `${BUILD}:${process.env.PATH}` },
    maxBuffer: 1 << 28,
  });

/* Starts a program under the recorder and leaves it running: its input and output are pipes, and whoever
 * starts it ends it. say(line) writes a line and waits for the program's answer to it. */
export async function startRecorded(path, argv, environment = {}) {
  const child = spawn(argv[0], argv.slice(1), {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      ...process.env,
      LD_PRELOAD: join(BUILD, 'libmemory_profiler.so'),
      MEMORY_PROFILER_OUTPUT: path,
      ...environment,
    },
  });
  const ended = new Promise((resolve) => child.on('exit', resolve));
  const answer = () => new Promise((resolve) => child.stdout.once('data', resolve));
  return {
    child,
    ended,
    answer,
    say: async (line) => {
      const next = answer();
      child.stdin.write(line);
      await next;
    },
  };
}

/* Records a program into a file of the folder and returns the file's path. */
export function record(folder, name, argv, environment = {}) {
  const path = join(folder, name);
  const result = spawnSync(CLI, ['run', '-o', path, '--', ...argv], {
    encoding: 'utf8',
    env: { ...process.env, ...environment },
  });
  assert.equal(result.error, undefined);
  return path;
}

/* A server on a free port; ends with stop(). */
export async function serve(files, options = []) {
  const child = spawn(CLI, ['server', '-p', '0', ...options, ...files], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (data) => {
      text += data;
      const found = /http:\/\/\S+/.exec(text);
      if (found) resolve(found[0]);
    });
    child.on('exit', () => reject(new Error(`the server ended: ${text}`)));
  });
  const server = {
    url,
    child,
    json: async (path) => {
      const response = await fetch(new URL(path, url));
      assert.ok(response.ok, `${path}: ${response.status} ${await response.clone().text()}`);
      return response.json();
    },
    /* asks until the answer is not false: gives the answer */
    until: async (question) => {
      for (let i = 0; i < 600; i++) {
        const answer = await question();
        if (answer) return answer;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      throw new Error(`not so in time: ${question}`);
    },
    /* waits until every recording is ready */
    ready: () =>
      server.until(async () => {
        const { recordings } = await server.json('/api/v1/recordings');
        return recordings.every((r) => r.state !== 'loading') && recordings;
      }),
    stop: () =>
      new Promise((resolve) => {
        if (child.exitCode !== null) return resolve();
        child.on('exit', resolve);
        child.kill('SIGTERM');
        return undefined;
      }),
  };
  return server;
}

/* What a page must not say. `allowed`: texts that a test expects, such as those of a server that went away. */
function watch(page, allowed) {
  const complaints = [];
  const isAllowed = (text) => allowed.some((re) => re.test(text));
  page.on('console', (m) => {
    if (['error', 'warning'].includes(m.type()) && !isAllowed(m.text())) complaints.push(m.text());
  });
  page.on('pageerror', (e) => complaints.push(`exception: ${e.stack ?? e.message}`));
  page.on('requestfailed', (r) => {
    const why = r.failure()?.errorText ?? '';
    if (why !== 'net::ERR_ABORTED' && !isAllowed(why)) complaints.push(`${r.url()}: ${why}`);
  });
  return complaints;
}

export const launch = () =>
  chromium.launch({
    executablePath: findChromium(),
    args: ['--no-sandbox', '--disable-gpu', '--force-device-scale-factor=1'],
  });

/* One browser for all tests of a file. */
export function suite() {
  const s = { folder: '', browser: null, servers: [] };
  before(async () => {
    s.folder = mkdtempSync(join(tmpdir(), 'memory-profiler-browser-'));
    s.browser = await launch();
  });
  after(async () => {
    await s.browser?.close();
    await Promise.all(s.servers.map((server) => server.stop()));
    rmSync(s.folder, { recursive: true, force: true });
  });
  /* a copy of a file of the folder, changed: change(bytes) */
  s.copy = (from, name, change = () => {}) => {
    const bytes = readFileSync(from);
    change(bytes);
    const path = join(s.folder, name);
    writeFileSync(path, bytes);
    return path;
  };
  s.record = (name, argv, environment) => record(s.folder, name, argv, environment);
  s.serve = async (files, options) => {
    const server = await serve(files, options);
    s.servers.push(server);
    return server;
  };
  /* Opens a page in a window of its own and fails the test when the page complains. */
  s.open = async (t, url, { width = 1440, height = 900, theme = 'light', allowed = [] } = {}) => {
    const context = await s.browser.newContext({
      viewport: { width, height },
      colorScheme: theme,
      permissions: ['clipboard-read', 'clipboard-write'],
      acceptDownloads: true,
    });
    const page = await context.newPage();
    const complaints = watch(page, allowed);
    t.after(async () => {
      await page.unrouteAll({ behavior: 'ignoreErrors' }); // an answer may be on its way
      await context.close();
      assert.deepEqual(complaints, [], 'the page complained');
    });
    await page.goto(url);
    return page;
  };
  return s;
}

/* axe-core: no finding above a minor one; menus and tooltips float outside of the landmarks. The policy of
 * the page forbids foreign scripts, so the script is run through the debugger's protocol. Figures that wait for newer ones are paler than the
 * contrast that axe demands: the check begins when all of them have arrived. */
export async function checkAccessible(page, what) {
  await page.waitForFunction(() => !document.querySelector('.stale'));
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: AXE });
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    expression: `axe.run(document, { resultTypes: ['violations'] }).then((r) => JSON.stringify(
      r.violations.filter((v) => v.impact !== 'minor' && v.id !== 'region').map((v) => ({
        id: v.id, help: v.help, nodes: v.nodes.slice(0, 4).map((n) => n.html.slice(0, 160) + ' | ' + (n.any[0]?.message ?? '')) }))))`,
    awaitPromise: true,
    returnByValue: true,
  });
  assert.equal(exceptionDetails, undefined, JSON.stringify(exceptionDetails));
  assert.deepEqual(JSON.parse(result.value), [], `accessibility of ${what}`);
}

/* The parameters of the page's address. */
export const addressOf = (page) =>
  page.evaluate(() => ({
    path: location.hash.split('?')[0],
    ...Object.fromEntries(new URLSearchParams(location.hash.split('?')[1] ?? '')),
  }));

/* What the page copied last. */
export const clipboardOf = (page) => page.evaluate(() => navigator.clipboard.readText());

/* Waits until an element's text matches; the failure names what it was. */
export async function waitForText(page, selector, pattern) {
  const deadline = Date.now() + 15_000;
  let seen = '';
  for (;;) {
    const texts = await page.locator(selector).allTextContents();
    seen = plain(texts.join(' | '));
    if (pattern.test(seen)) return seen;
    assert.ok(Date.now() < deadline, `${selector} says “${seen}”, not ${pattern}`);
    await page.waitForTimeout(50);
  }
}

/* Text with ordinary spaces, for comparing figures. */
export const plain = (text) =>
  (text ?? '')
    .replace(/[\u00a0\u202f\u2002]/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
