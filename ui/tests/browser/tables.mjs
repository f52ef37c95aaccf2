/* Reading tables of the GUI in browser tests: rows as a reader sees them, with exact figures. */
import assert from 'node:assert/strict';

export const COST_FIELDS = [
  'peak_bytes',
  'leaked_bytes',
  'allocations',
  'temporary_count',
  'bytes',
];

/* The rows of a table that exist now: the first line of the name's tooltip, level, state, and the exact
 * figures from the tooltips of the cells. */
export const rowsOf = (page, grid) =>
  page.$$eval(`${grid} .grid-room .tr`, (rows) =>
    rows
      .sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)
      .map((row) => ({
        name: (row.querySelector('.sym')?.title ?? row.firstElementChild.textContent).split(
          '\n',
        )[0],
        level: Number(row.getAttribute('aria-level')),
        expanded: row.getAttribute('aria-expanded'),
        selected: row.getAttribute('aria-selected') === 'true',
        values: [...row.querySelectorAll('.cost')].map((cell) =>
          Number(cell.title.replace(/\u2212/, '-').replace(/[^\d-]/g, '')),
        ),
      })),
  );

/* Waits until what is read is what is expected; says what was there instead when it never is. */
export async function eventually(read, expected, what) {
  let got;
  for (let i = 0; i < 100; i++) {
    got = await read();
    try {
      assert.deepEqual(got, expected);
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  assert.deepEqual(got, expected, what);
}

/* The parameters in the address bar. */
export const parametersOf = (page) =>
  page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.split('?')[1] ?? '')));

/* The address of a page of the recording that was given last. */
export const pageUrl = (server, page, parameters = {}) =>
  `${server.url}#/last/${page}?${new URLSearchParams(parameters)}`;

/* A filter of the API for the middle part of a recording, and the same range in the address. */
export async function middle(server) {
  const { duration_ns } = await server.json('/api/v1/last/summary');
  const [t0, t1] = [0.3, 0.6].map((part) => Math.round(duration_ns * part));
  return {
    address: { t0, t1 },
    api: `from=%2B${t0}ns&to=%2B${t1}ns`,
  };
}
