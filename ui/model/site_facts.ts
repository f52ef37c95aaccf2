/* A call site in sentences: what became of its blocks, how often, how large, who, and how it grows.
 * Pure. */
import { bytes, count, duration, join, share } from './format';
import { codeName, type FrameName, frameTitle, ownerOf } from './names';

/* "none of 10.2 M", "all of 936", "98.2 % of 2.71 M" */
export function freedText(allocations: number, leaked: number): string {
  const all = join(count(allocations));
  if (!leaked) return allocations === 1 ? 'the only one' : `all of ${all}`;
  if (leaked >= allocations) return `none of ${all}`;
  return `${share(allocations - leaked, allocations)} of ${all}`;
}

const SECOND = 1e9;
const RATE_UNITS = [
  ['second', SECOND],
  ['minute', 60 * SECOND],
  ['hour', 3600 * SECOND],
  ['day', 86400 * SECOND],
] as const;

/* "1 058 per second", "3.2 per hour": the unit of time in which something happens at least once. */
export function rateText(n: number, spanNs: number): string {
  const fit = RATE_UNITS.find(([, ns]) => (n / spanNs) * ns >= 1) ?? RATE_UNITS[3];
  const value = (n / spanNs) * fit[1];
  const text = value < 100 ? value.toFixed(value < 10 ? 2 : 1) : join(count(value));
  return `${text} per ${fit[0]}`;
}

/* "2 h 40 m, 1 058 per second"; of one allocation there is neither. */
export function intervalText(allocations: number, firstNs: number, lastNs: number): string {
  if (allocations < 2) return 'one allocation';
  const span = lastNs - firstNs;
  if (span <= 0) return 'all at the same moment';
  return `${duration(span)}, ${rateText(allocations, span)}`;
}

/* "96 B, all the same", "16 B to 255 KiB, 812 B in the mean" */
export function sizesText(min: number, max: number, sum: number, allocations: number): string {
  if (min === max) return join(bytes(min)) + (allocations > 1 ? ', all the same' : '');
  const mean = join(bytes(sum / Math.max(1, allocations)));
  return `${join(bytes(min))} to ${join(bytes(max))}, ${mean} in the mean`;
}

/* "12 of 34, worker-03 most"; threads are those that allocated here, the busiest first. */
export function threadsText(names: readonly string[], allThreads: number): string {
  const [most] = names;
  if (most === undefined) return '';
  if (names.length === 1) return allThreads === 1 ? most : `only ${most}, of ${allThreads} threads`;
  return `${names.length} of ${allThreads} threads, most by ${most}`;
}

/* ---- growth ---- */

/* How a sum that never falls came to be, from its points over the run. Two words for people; empty
 * where there are too few points to tell. */
export function growthShape(points: readonly number[]): string {
  const total = points[points.length - 1] ?? 0;
  const first = points.findIndex((v) => v > 0);
  const end = points.findIndex((v) => v >= total);
  if (total <= 0 || first < 0) return '';
  const steps = points.map((v, i) => v - (i ? (points[i - 1] ?? 0) : 0));
  if (Math.max(...steps) >= 0.9 * total) return 'at once';
  if (end - first < 4) return '';
  const before = first ? 0 : (points[0] ?? 0);
  const line = (i: number) => before + ((total - before) * (i - first)) / (end - first);
  let off = 0;
  for (let i = first; i <= end; i++) off = Math.max(off, Math.abs((points[i] ?? 0) - line(i)));
  if (off <= 0.08 * total) return 'straight line';
  const sorted = steps.slice(first, end + 1).sort((a, b) => b - a);
  const few = Math.max(1, Math.floor(sorted.length / 10));
  if (sorted.slice(0, few).reduce((a, b) => a + b, 0) >= 0.8 * total) return 'in steps';
  const half = points[Math.round((first + end) / 2)] ?? 0;
  if (half >= 0.75 * total) return 'levels off';
  return half <= 0.25 * total ? 'speeds up' : 'uneven';
}

/* "347 MiB per hour, straight line"; of what was never freed, over the time in which it was made. */
export function growthText(leakedBytes: number, spanNs: number, points: readonly number[]): string {
  if (!leakedBytes) return 'none, everything was freed';
  const shape = growthShape(points);
  if (spanNs <= 0 || shape === 'at once') return `${join(bytes(leakedBytes))} at once`;
  const [word, ns] =
    spanNs < 120 * SECOND
      ? (['second', SECOND] as const)
      : spanNs < 7200 * SECOND
        ? (['minute', 60 * SECOND] as const)
        : (['hour', 3600 * SECOND] as const);
  const rate = `${join(bytes((leakedBytes / spanNs) * ns))} per ${word}`;
  return shape ? `${rate}, ${shape}` : rate;
}

/* ---- callers ---- */

/* "Validator::accept ← GossipEngine::on_message": the next two that are not runtime, the nearest
 * first. Where no caller has a name, their places in the module. */
export function callersText(callers: readonly FrameName[]): string {
  const ours = callers.filter((f) => ownerOf(f.class) !== 'run');
  const named = ours.filter((f) => f.function);
  return (named.length ? named : ours).slice(0, 2).map(frameTitle).join(' ← ');
}

/* "via vector<…>::push_back, from main": what the blamed line called tells call sites of one line apart. */
export function viaText(called: FrameName | undefined, callers: readonly FrameName[]): string {
  const name = called?.function ? frameTitle(called) : '';
  const from = callersText(callers);
  const via = name && !PLAIN_CALLS.test(name) ? `via ${name}` : '';
  if (!via) return from;
  return from ? `${via}, from ${from}` : via;
}

/* Every call site calls one of these. */
const PLAIN_CALLS =
  /^(operator new(\[\])?|malloc|calloc|realloc|reallocarray|memalign|aligned_alloc|posix_memalign|pvalloc|valloc|_rjem_\w+|mmap)\b/;

/* A stack as text, innermost frame first, for the clipboard. */
export function stackText(frames: readonly FrameName[]): string {
  return frames
    .map((f, i) => {
      const where = f.source ? `${f.source}${f.line ? ':' + f.line : ''}` : (f.module ?? '');
      return `${i} ${codeName(f)}${where ? `  (${where})` : ''}`;
    })
    .join('\n');
}
