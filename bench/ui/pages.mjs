/* How long the pages of the GUI take: MP_BUILD=build/release node bench/ui/pages.mjs [options]
 *
 *   --file FILE    measure this recording; default: records bench/programs/service
 *   --runs N       best of N runs (3); each has a server and a browser of its own
 *   --only PAGES   pages of the table below, by commas
 *   --requests     also print the requests of what misses its target, and when they were under way
 *
 * Opens the GUI once, clicks each page in the navigation, and takes the time from the click to the first
 * frame in which the page is usable: its main content is there, with figures (PAGES below). Then what a
 * person does on the page; each interaction has two times:
 *   shown   to the first frame in which all figures that the interaction changes are on screen, none of
 *           them pale or a placeholder, each question answered: exactly, or by an estimate that is marked
 *           as one on screen
 *   exact   to the first frame in which all of them are exact
 * Then all pages are clicked once more. "cpu" is processor time of the server, "longest task"
 * what blocked the page's main thread. Targets: 1000 ms for a page, 100 ms for an interaction; the typing of
 * text waits 150 ms on purpose before it asks, which is taken off.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { part, withPage, withRecording } from "./common.mjs";

const { values: options } = parseArgs({
  options: {
    file: { type: "string" },
    runs: { type: "string", default: "3" },
    only: { type: "string" },
    requests: { type: "boolean", default: false },
  },
});
const PAGE_MS = 1000;
const INTERACTION_MS = 100;
const DEBOUNCE_MS = 150;
const TICKS_PER_S = 100;
const HELD_FRAMES = 6;
const TYPED_FRAMES = 15; // longer than DEBOUNCE_MS
const PATIENCE_MS = 5_000; // then the result counts as missing

const ROWS = "main .grid .grid-room .tr:not(:has(.skel))";
const NOT_YET = ["main .stale", "main .grid .skel"];
const DETAILS_NOT_YET = [
  "aside.details .stale",
  "aside.details .skel",
  "aside.details .costs-room",
];
const CHART = "main .timechart .u-over";

/* What must be there, and what must not, when a page is usable; what is done on it. A page's find field,
 * columns that sort and rows that open are found by what they are, so a page without them skips the step. */
const PAGES = [
  {
    page: "overview",
    has: [
      "main .findings:not([aria-busy])",
      "main .tile",
      CHART,
      "main .ov-top .card:nth-of-type(3) .sym",
    ],
  },
  { page: "timeline", has: ["main .tl-card:nth-of-type(4) .u-over"] },
  {
    page: "flame",
    has: ["main canvas.flame"],
    foot: "frames$",
    steps: ["cost", "find", "range"],
  },
  {
    page: "bottomup",
    has: [ROWS],
    steps: ["cost", "arrows", "open", "details", "find", "range"],
  },
  {
    page: "topdown",
    has: [ROWS],
    steps: ["cost", "arrows", "open", "details", "find", "range"],
  },
  {
    page: "callers",
    has: [ROWS],
    steps: ["cost", "arrows", "details", "sort", "find", "range"],
  },
  {
    page: "sites",
    has: [ROWS],
    steps: ["sort", "arrows", "open", "find", "range"],
  },
  {
    page: "allocations",
    has: [ROWS],
    steps: ["sort", "arrows", "details", "range"],
  },
  { page: "sizes", has: ["main canvas.chart"], steps: ["cost", "range"] },
  { page: "threads", has: [ROWS], steps: ["arrows", "sort", "range"] },
  { page: "chains", has: [ROWS], steps: ["sort", "arrows", "open", "range"] },
  {
    page: "map",
    has: [ROWS, "main .heap-card canvas", CHART],
    steps: ["sort", "range"],
  },
  /* the program's own files: bench/programs/service has one */
  { page: "source", has: [ROWS], steps: ["cost", "range"] },
];

/* Runs in the page before its own scripts: knows which requests are under way, and finds the frame in which
 * something has become true. The clock begins with the event that the reader makes. */
function instrument() {
  const bench = { pending: 0, behind: 0, requests: [], long: [], begun: 0 };
  /* the flame graph's frames below 0.05 % come behind the others, and its foot says so */
  const FINE = /\/tree\?.*direction=.*min_share=0(&|$)/;
  const foot = () => document.querySelector(".foot span")?.textContent ?? "";
  const isMarked = () =>
    document.querySelector(".chips .estimate") || /on their way$/.test(foot());
  /* questions that an estimate has answered: the exact answer is still to come */
  const estimated = new Set();
  const plainUrl = (url) => String(url).replace(/[?&]first=\d+/, "");
  window.bench = bench;
  const plain = window.fetch.bind(window);
  window.fetch = async (url, init) => {
    bench.pending++;
    const start = performance.now();
    const isBehind = estimated.delete(String(url)) || FINE.test(url);
    if (isBehind) bench.behind++;
    let isOver = false;
    const over = () => {
      if (isOver) return;
      isOver = true;
      bench.pending--;
      if (isBehind) bench.behind--;
      bench.requests.push({ url, start, ms: performance.now() - start });
    };
    try {
      const response = await plain(url, init);
      const json = response.json.bind(response);
      response.json = async () => {
        try {
          const data = await json();
          if (data.estimate) estimated.add(plainUrl(url));
          return data;
        } finally {
          over();
        }
      };
      return response;
    } catch (error) {
      over();
      throw error;
    }
  };
  new PerformanceObserver((list) => {
    for (const e of list.getEntries()) bench.long.push(e.duration);
  }).observe({ entryTypes: ["longtask"] });
  const begin = (e) => {
    if (e.isTrusted) bench.begun = e.timeStamp;
  };
  for (const kind of ["pointerdown", "pointerup", "keydown"])
    addEventListener(kind, begin, { capture: true });

  const isThere = (c) =>
    c.has.every((s) => document.querySelector(s)) &&
    !c.not.some((s) => document.querySelector(s)) &&
    (!c.foot || (c.isQuiet && !c.isExact) || new RegExp(c.foot).test(foot())) &&
    (!c.isQuiet || bench.pending === bench.behind) &&
    (!c.isExact || bench.pending === 0) &&
    (!bench.behind || isMarked()) &&
    (!c.asked || bench.requests.some((r) => r.url.includes(c.asked))) &&
    (!c.changed || c.before !== bench.look(c.changed));
  bench.look = (selector) =>
    [...document.querySelectorAll(selector)]
      .map((e) => e.outerHTML.replace(/ style="[^"]*"/, ""))
      .join("\n");
  /* Watches from now on; bench.found is the time of the first frame in which all holds, and goes on to hold for
   * c.frames frames: a question may begin a frame or two after the key that leads to it. */
  bench.watch = (c) => {
    bench.begun = 0;
    bench.found = watch(c);
    bench.exact = watch({ ...c, isExact: c.isQuiet });
  };
  const watch = (c) =>
    new Promise((resolve) => {
      let since = null;
      let held = 0;
      const look = (now) => {
        const holds = bench.begun && now > bench.begun && isThere(c);
        since = holds ? (since ?? now) : null;
        held = holds ? held + 1 : 0;
        if (held === c.frames) resolve(since - bench.begun);
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
}

/* ---- one measurement ---- */

const cpuOf = (pid) => {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_S;
};

/* Does something and waits for its result: { ms, cpu, task, requests }. */
async function timed(bench, condition, act) {
  const { page, server } = bench;
  const cpu = cpuOf(server.child.pid);
  await page.evaluate(
    (c) => {
      window.bench.requests.length = 0;
      window.bench.long.length = 0;
      if (c.changed) c.before = window.bench.look(c.changed);
      window.bench.watch(c);
    },
    { frames: HELD_FRAMES, ...condition },
  );
  await act();
  const [ms, exact] = await page.evaluate((most) => {
    const late = new Promise((resolve) => setTimeout(resolve, most, Infinity));
    const { found, exact } = window.bench;
    return Promise.all([found, exact].map((p) => Promise.race([p, late])));
  }, PATIENCE_MS);
  await page
    .waitForFunction(() => window.bench.pending === 0, null, {
      timeout: PATIENCE_MS,
    })
    .catch(() => undefined);
  const { requests, long, begun } = await page.evaluate(() => window.bench);
  for (const q of requests) q.at = q.start - begun;
  return {
    ms,
    exact,
    cpu: cpuOf(server.child.pid) - cpu,
    task: Math.max(0, ...long),
    requests,
  };
}

const usable = (p) => ({
  has: [`.app[data-page="${p.page}"]`, ...p.has],
  not: NOT_YET,
  foot: p.foot,
});

const click = (bench, p) =>
  timed(bench, usable(p), () =>
    bench.page.click(`nav.nav a[href*="/${p.page}"]`),
  );

/* ---- interactions ---- */

const settled = (p, more) => ({
  ...usable(p),
  not: [...NOT_YET, ...DETAILS_NOT_YET],
  isQuiet: true,
  ...more,
});
const rows = "main .grid .grid-room .tr";
const selected = `${rows}[aria-selected="true"]`;

const STEPS = {
  /* each cost, by its key; what shows figures changes, or is there already */
  cost: (bench, p) =>
    ["2", "3", "4", "5", "1"].map(
      (key) => () =>
        timed(bench, settled(p), () => bench.page.keyboard.press(key)),
    ),
  sort: (bench, p) =>
    [1, 2].map((n) => async () => {
      const head = bench.page.locator(
        "main .grid >> nth=0 >> .head [role=columnheader]:not([aria-sort]) button >> visible=true",
      );
      const condition = settled(p, { changed: rows });
      return timed(bench, condition, () => head.nth(n).click());
    }),
  arrows: (bench, p) =>
    Array.from({ length: 4 }, () => () => {
      return timed(bench, { has: p.has, not: [], changed: selected }, () =>
        bench.page.keyboard.press("ArrowDown"),
      );
    }),
  open: (bench, p) =>
    [0].map(
      () => () =>
        timed(bench, settled(p, { changed: "main .grid .grid-room" }), () =>
          bench.page.keyboard.press(
            p.page.endsWith("n") || p.page === "bottomup"
              ? "ArrowRight"
              : "Enter",
          ),
        ),
    ),
  /* the panel of another row, until all of its parts are there */
  details: (bench, p) => [
    () =>
      timed(
        bench,
        {
          has: ["aside.details .details-body *"],
          not: DETAILS_NOT_YET,
          isQuiet: true,
          changed: "aside.details",
        },
        () => bench.page.keyboard.press("ArrowDown"),
      ),
  ],
  find: (bench, p) => [
    async () => {
      const field = bench.page.locator("main .toolbar .field input >> nth=0");
      await field.focus();
      const result = await timed(
        bench,
        settled(p, {
          changed: p.page === "flame" ? "main .hit" : rows,
          frames: TYPED_FRAMES,
        }),
        () => bench.page.keyboard.press("7"),
      );
      await field.fill("");
      await bench.page.waitForTimeout(2 * DEBOUNCE_MS);
      await field.blur();
      return withoutDebounce(result);
    },
  ],
  range: (bench, p) => [
    async () => {
      const box = await bench.page.locator(".strip-chart").boundingBox();
      const y = box.y + box.height / 2;
      await bench.page.mouse.move(box.x + box.width * 0.3, y);
      await bench.page.mouse.down();
      for (let i = 1; i <= 10; i++)
        await bench.page.mouse.move(box.x + box.width * (0.3 + i * 0.03), y);
      const result = await timed(bench, settled(p), () =>
        bench.page.mouse.up(),
      );
      await bench.page.keyboard.press("Backspace");
      return result;
    },
  ],
};

const withoutDebounce = (r) => ({
  ...r,
  ms: Math.max(0, r.ms - DEBOUNCE_MS),
  exact: Math.max(0, r.exact - DEBOUNCE_MS),
});

/* Ctrl K: until the functions that the server found are listed, and belong to what was typed. Commands are
 * found at once, without the server, and do not count. */
async function search(bench) {
  await bench.page.keyboard.press("Control+k");
  await bench.page.waitForSelector(".palette input");
  const result = await timed(
    bench,
    {
      has: ['.palette [role=group][aria-label="Functions"] [role=option]'],
      not: [".palette .answers.stale", ".palette [aria-busy=true]"],
      isQuiet: true,
      asked: "q=h",
      changed: ".palette [role=listbox]",
      frames: TYPED_FRAMES,
    },
    () => bench.page.keyboard.press("h"),
  );
  await bench.page.keyboard.press("Escape");
  return withoutDebounce(result);
}

async function interact(bench, p) {
  const results = [];
  for (const name of p.steps ?? ["range"]) {
    for (const step of STEPS[name](bench, p)) {
      await quiet(bench);
      const result = { name, ...(await step()) };
      tell(p.page, result);
      results.push(result);
    }
  }
  await quiet(bench);
  return results;
}

/* While it runs: where the run is. */
const tell = (page, r) =>
  process.stderr.write(
    `${page} ${r.name} ${r.ms.toFixed(0)} ms, exact ${r.exact.toFixed(0)} ms\n`,
  );

/* Until nothing is under way: the next measurement begins with a page at rest. */
async function quiet({ page }) {
  await page.waitForTimeout(300);
  await page.waitForFunction(() => window.bench.pending === 0);
}

/* ---- runs and the table ---- */

async function run(page, server) {
  const bench = { page, server };
  const only = options.only?.split(",");
  const shown = PAGES.filter((p) => !only || only.includes(p.page));
  const results = new Map(shown.map((p) => [p.page, { steps: [] }]));
  await page.goto(`${server.url}#/last/recordings`);
  await page.waitForSelector("nav.nav a");
  for (const p of shown) {
    await quiet(bench);
    results.get(p.page).first = await click(bench, p);
    tell(p.page, { name: "first", ...results.get(p.page).first });
    results.get(p.page).steps = await interact(bench, p);
    await page.keyboard.press("Escape");
  }
  for (const p of shown) {
    await quiet(bench);
    results.get(p.page).second = await click(bench, p);
  }
  results.set("Ctrl K", {
    steps: [{ name: "search", ...(await search(bench)) }],
  });
  return results;
}

const best = (list) =>
  list.filter(Boolean).reduce((a, b) => (b.ms < a.ms ? b : a), {
    ms: Infinity,
    exact: Infinity,
    cpu: 0,
    task: 0,
    requests: [],
  });

/* The best of all runs for each thing that was measured. */
function bestOf(runs, page) {
  const all = runs.map((r) => r.get(page));
  return {
    first: all[0].first && best(all.map((r) => r.first)),
    second: all[0].second && best(all.map((r) => r.second)),
    steps: all[0].steps.map((s, i) => ({
      ...best(all.map((r) => r.steps[i])),
      name: s.name,
    })),
  };
}

const cell = (ms, limit) =>
  ms === undefined
    ? "-".padStart(9)
    : `${ms.toFixed(0)}${ms > limit ? " MISS" : ""}`.padStart(9);

function printSteps(steps) {
  const names = [...new Set(steps.map((s) => s.name))];
  return names
    .map((name) => {
      const all = steps.filter((s) => s.name === name);
      const shown = all.map((s) => s.ms);
      const exact = Math.max(...all.map((s) => s.exact));
      const most = Math.max(...shown);
      return (
        `${name} ${part(shown, 0.5).toFixed(0)}` +
        (all.length > 1 ? `/${most.toFixed(0)}` : "") +
        (exact > most + 10 ? ` (exact ${exact.toFixed(0)})` : "")
      );
    })
    .join(", ");
}

/* From when to when each request was under way. */
function printRequests(what, r) {
  const sorted = [...(r?.requests ?? [])].sort((a, b) => a.at - b.at);
  const ms = (t) => t.toFixed(0).padStart(5);
  for (const q of sorted)
    console.log(
      `    ${what.padEnd(8)} ${ms(q.at)} to ${ms(q.at + q.ms)} ms  ${q.url}`,
    );
}

function print(runs) {
  console.log(
    "page          first ms   cpu  task  second ms  interactions: median/worst ms",
  );
  for (const page of runs[0].keys()) {
    const { first, second, steps } = bestOf(runs, page);
    const times = steps.map((s) => s.ms);
    console.log(
      page.padEnd(12) +
        cell(first?.ms, PAGE_MS) +
        (first ? first.cpu.toFixed(0) : "-").padStart(6) +
        (first ? first.task.toFixed(0) : "-").padStart(6) +
        cell(second?.ms, PAGE_MS) +
        `  ${part(times, 0.5).toFixed(0)}/${cell(Math.max(0, ...times), INTERACTION_MS).trim()}: ${printSteps(steps)}`,
    );
    if (!options.requests) continue;
    printRequests("first", first);
    for (const s of steps) if (s.ms > INTERACTION_MS) printRequests(s.name, s);
  }
}

async function measure(file) {
  const runs = [];
  for (let i = 0; i < Number(options.runs); i++)
    runs.push(await withPage(file, instrument, run));
  print(runs);
}

if (options.file) await measure(options.file);
else
  await withRecording(
    [join(process.env.MP_BUILD, "bench", "service"), "10", "24000"],
    measure,
  );
