/* Frame times of the flame graph: MP_BUILD=build/release node bench/ui/flame.mjs [stacks, 100000]
 *
 * Records tests/programs/many_stacks, serves the recording and opens the flame graph in Chromium. While
 * the graph zooms by clicks, by the wheel and pans by dragging, every frame is timed: the time that the
 * page itself takes (requestAnimationFrame callbacks and handlers of events) and the time from frame to
 * frame, which includes what Chromium does; without a GPU Chromium paints on the CPU. Then the costs of
 * layout, search and switching the cost, as long tasks of the main thread.
 */
import { program } from "../../ui/tests/browser/harness.mjs";
import { part, withPage, withRecording } from "./common.mjs";

const stacks = process.argv[2] ?? "100000";

/* Runs in the page before its own scripts: times all frames and all tasks. */
function instrument() {
  const times = { frames: [], own: [], long: [] };
  window.times = times;
  const plain = window.requestAnimationFrame.bind(window);
  let at = -1;
  window.requestAnimationFrame = (act) =>
    plain((now) => {
      const start = performance.now();
      act(now);
      const took = performance.now() - start;
      if (now === at) times.own[times.own.length - 1] += took;
      else times.own.push(took);
      at = now;
    });
  let last = 0;
  const tick = (now) => {
    if (last) times.frames.push(now - last);
    last = now;
    plain(tick);
  };
  plain(tick);
  new PerformanceObserver((list) => {
    for (const e of list.getEntries()) times.long.push(e.duration);
  }).observe({ entryTypes: ["longtask"] });
}

const ms = (value) => value.toFixed(1).padStart(6);

async function measure(page, what, act) {
  await page.evaluate(() => {
    window.times.frames.length = 0;
    window.times.own.length = 0;
    window.times.long.length = 0;
  });
  await act();
  const { frames, own, long } = await page.evaluate(() => window.times);
  const fps = frames.length / (frames.reduce((a, b) => a + b, 0) / 1000);
  console.log(
    `${what.padEnd(34)} ${fps.toFixed(0).padStart(4)} fps  page's own: median ${ms(part(own, 0.5))}, ` +
      `95 % ${ms(part(own, 0.95))} ms  frame to frame: median ${ms(part(frames, 0.5))}, ` +
      `95 % ${ms(part(frames, 0.95))} ms  longest task ${ms(Math.max(0, ...long))} ms`,
  );
}

const settle = (page) => page.waitForTimeout(260); // an animation of 160 ms, and some
const rowY = (box, row) => box.y + 8 + row * 21 + 10;

async function clicks(page, box) {
  for (let i = 0; i < 6; i++) {
    await page.mouse.click(box.x + box.width * 0.3, rowY(box, 3 + i));
    await settle(page);
  }
  await page.keyboard.press("Escape");
  await settle(page);
}

async function wheel(page, box) {
  await page.mouse.move(box.x + box.width * 0.4, rowY(box, 8));
  await page.keyboard.down("Control");
  for (let i = 0; i < 60; i++) await page.mouse.wheel(0, i < 30 ? -80 : 80);
  await page.keyboard.up("Control");
  await settle(page);
}

async function drag(page, box) {
  await page.keyboard.down("Control");
  await page.mouse.move(box.x + box.width * 0.5, rowY(box, 8));
  for (let i = 0; i < 12; i++) await page.mouse.wheel(0, -80);
  await page.keyboard.up("Control");
  await settle(page);
  await page.mouse.down();
  for (let i = 0; i < 120; i++)
    await page.mouse.move(
      box.x + box.width * (0.5 + 0.4 * Math.sin(i / 12)),
      rowY(box, 8),
    );
  await page.mouse.up();
  await settle(page);
}

async function hover(page, box) {
  for (let i = 0; i < 100; i++)
    await page.mouse.move(box.x + i * 9, rowY(box, 10 + (i % 6)));
}

async function measureAll(page, server) {
  const start = Date.now();
  await page.goto(`${server.url}#/last/flame`);
  const canvas = await page.waitForSelector("canvas.flame");
  console.log(`first drawing after ${Date.now() - start} ms`);
  await page.waitForFunction(() =>
    /frames$/.test(document.querySelector(".foot span").textContent),
  );
  console.log(
    `${await page.textContent(".foot span")} after ${Date.now() - start} ms, longest task ` +
      `${ms(Math.max(0, ...(await page.evaluate(() => window.times.long))))} ms`,
  );
  const box = await canvas.boundingBox();
  await measure(page, "zoom by click", () => clicks(page, box));
  await measure(page, "zoom by wheel", () => wheel(page, box));
  await measure(page, "pan by drag", () => drag(page, box));
  await page.keyboard.press("Escape");
  await settle(page);
  await measure(page, "hover", () => hover(page, box));
  await measure(page, "switch of the cost", async () => {
    for (const key of ["2", "3", "4", "5", "1"]) {
      await page.keyboard.press(key);
      await settle(page);
    }
  });
  await measure(page, "search", async () => {
    await page.fill('input[aria-label="Find function"]', "east");
    await page.waitForSelector(".hit");
    await settle(page);
  });
}

await withRecording([program("many_stacks"), stacks], (file) =>
  withPage(file, instrument, measureAll),
);
