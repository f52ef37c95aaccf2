/* What the browser tests share: a real recording, a real server, a real Chromium.
 *
 * MP_BUILD is the build folder. A test file calls suite(), which starts the browser once, and gets
 * helpers bound to it; everything is ended when the file's tests are done. Console errors and
 * warnings, failed requests and exceptions of a page fail the test that opened the page.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
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
    /* waits until every recording is ready */
    ready: async () => {
      for (let i = 0; i < 600; i++) {
        const { recordings } = await server.json('/api/v1/recordings');
        if (recordings.every((r) => r.state !== 'loading')) return recordings;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      throw new Error('the recordings were not loaded in time');
    },
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

/* One browser for all tests of a file. */
export function suite() {
  const s = { folder: '', browser: null, servers: [] };
  before(async () => {
    s.folder = mkdtempSync(join(tmpdir(), 'memory-profiler-browser-'));
    s.browser = await chromium.launch({
      executablePath: findChromium(),
      args: ['--no-sandbox', '--disable-gpu', '--force-device-scale-factor=1'],
    });
  });
  after(async () => {
    await s.browser?.close();
    await Promise.all(s.servers.map((server) => server.stop()));
    rmSync(s.folder, { recursive: true, force: true });
  });
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
      await context.close();
      assert.deepEqual(complaints, [], 'the page complained');
    });
    await page.goto(url);
    return page;
  };
  return s;
}

/* axe-core: no serious or critical finding. The policy of the page forbids foreign scripts, so the
 * script is run through the debugger's protocol. */
export async function checkAccessible(page, what) {
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: AXE });
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    expression: `axe.run(document, { resultTypes: ['violations'] }).then((r) => JSON.stringify(
      r.violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => ({
        id: v.id, help: v.help, nodes: v.nodes.slice(0, 4).map((n) => n.html.slice(0, 160) + ' | ' + (n.any[0]?.message ?? '')) }))))`,
    awaitPromise: true,
    returnByValue: true,
  });
  assert.equal(exceptionDetails, undefined, JSON.stringify(exceptionDetails));
  assert.deepEqual(JSON.parse(result.value), [], `accessibility of ${what}`);
}

/* Text with ordinary spaces, for comparing figures. */
export const plain = (text) =>
  (text ?? '')
    .replace(/[\u00a0\u202f\u2002]/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
