/* What the measurements in the browser share: figures of a list, and a recording that is served. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch, record, serve } from "../../ui/tests/browser/harness.mjs";

/* The value below which a share of the list is: part(list, 0.5) is the median; 0 for an empty list. */
export const part = (list, share) =>
  [...list].sort((a, b) => a - b)[
    Math.min(list.length - 1, Math.floor(list.length * share))
  ] ?? 0;

/* Records a program into a folder that is removed in the end, and calls act(path of the recording). */
export async function withRecording(argv, act) {
  const folder = mkdtempSync(join(tmpdir(), "memory-profiler-bench-"));
  try {
    return await act(record(folder, "bench.dat", argv));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/* Serves a recording, waits until all of it is read, and calls act(page, server) with an empty page of a
 * new Chromium. `instrument` runs in the page before the page's own scripts. */
export async function withPage(file, instrument, act) {
  const server = await serve([file]);
  const browser = await launch();
  try {
    await server.ready();
    const page = await browser.newPage({
      viewport: { width: 1440, height: 900 },
    });
    await page.addInitScript(instrument);
    return await act(page, server);
  } finally {
    await browser.close();
    await server.stop();
  }
}
