/* A recording from which short-lived allocations were left out: no page shows figures without them as if
 * they were all. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { checkAccessible, plain, program, suite, waitForText } from './harness.mjs';
import { pageUrl } from './tables.mjs';

const s = suite();
let server;
let summary;

before(async () => {
  const environment = {
    MEMORY_PROFILER_CULL_TEMPORARY_ALLOCATIONS: '1',
    MEMORY_PROFILER_TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD: '200',
  };
  server = await s.serve([s.record('node.dat', [program('demo_node'), '2'], environment)]);
  await server.ready();
  summary = await server.json('/api/v1/last/summary');
  assert.ok(summary.culled_count > summary.rows);
});

const all = () => summary.rows + summary.culled_count;
const figure = (text) => {
  const found = /(\d[\d ]*(?:\.\d+)?) ?([kMG]?)/.exec(plain(text));
  return Number(found[1].replace(/ /g, '')) * { '': 1, k: 1e3, M: 1e6, G: 1e9 }[found[2]];
};
const near = (text, wanted, what) =>
  assert.ok(Math.abs(figure(text) / wanted - 1) < 0.01, `${what}: ${text}, not ${wanted}`);

test('the Overview counts all allocations, and says how many were left out', async (t) => {
  const page = await s.open(t, pageUrl(server, 'overview'));
  near(await waitForText(page, '.tile.c-allocs', /Allocations/), all(), 'the key figure');
  const temporary = await waitForText(page, '.tile.c-temp', /%/);
  near(temporary, (100 * summary.temporary_count) / all(), 'the share of temporary ones');
  near(await waitForText(page, '.sum', /Whole recording/), all(), 'beside the filters');
  await waitForText(page, 'main', /short-lived allocations left out \(culled\)/);
  await checkAccessible(page, 'overview');
});

test('pages of single allocations say what they lack', async (t) => {
  for (const name of ['sizes', 'allocations']) {
    const page = await s.open(t, pageUrl(server, name));
    near(await waitForText(page, '.culled', /Without .* \(culled\)/), summary.culled_count, name);
  }
});

test('a call site says how much of it was left out', async (t) => {
  const page = await s.open(t, pageUrl(server, 'sites', { cost: 'allocs' }));
  await waitForText(page, 'main', /% culled/);
});
