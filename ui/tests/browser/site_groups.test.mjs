/* Call sites added up by function and by package. */
import { before, test } from 'node:test';
import { addressOf, checkAccessible, program, suite, waitForText } from './harness.mjs';
import { COST_FIELDS, eventually, rowsOf } from './tables.mjs';

const s = suite();
let server;

before(async () => {
  server = await s.serve([s.record('node.dat', [program('demo_node'), '1'])]);
  await server.ready();
});

test('rows added up by function and by package, down to the call sites', async (t) => {
  const page = await s.open(t, `${server.url}#/last/sites?cost=peak`);
  const shown = async () =>
    (await rowsOf(page, '.site-groups')).map(({ name, values }) => ({ name, values }));
  const wanted = async (by) =>
    (await server.json(`/api/v1/last/groups?by=${by}&sort_by=peak_bytes&count=500`)).groups;
  const values = (g) => COST_FIELDS.map((f) => g.cost[f]);
  await page.click('.toolbar button:has-text("Packages")');
  const packages = await wanted('package');
  await eventually(
    shown,
    packages.map((g) => ({ name: g.name, values: values(g) })),
    'packages',
  );
  await checkAccessible(page, 'packages');
  await page.dblclick('.site-groups .grid-room .tr >> nth=0');
  const functions = (await wanted('blame')).filter((g) => g.blame?.package === packages[0].name);
  await eventually(
    async () => (await shown()).map((r) => r.values),
    functions.slice(0, 40).map(values),
    'functions of the first package',
  );
  await page.dblclick('.site-groups .grid-room .tr >> nth=0');
  await page.waitForSelector('.sites .grid-room .tr');
  const { blame_regex } = await addressOf(page);
  const { total_count } = await server.json(
    `/api/v1/last/groups?by=stack&count=0&blame_regex=${encodeURIComponent(blame_regex)}`,
  );
  await waitForText(page, '.foot', new RegExp(`^${total_count} call sites`));
});
