/* The histogram of sizes: buckets in words, the scale of the columns, which bucket a point belongs to.
 * Pure. */
import { bytes, group, join, parseBytes, SPACE, type Unit } from './format';
import type { Params } from './address';
import { valueTicks } from './ticks';

/* Bytes from min to max, both included. */
export interface SizeRange {
  min: number;
  max: number;
}

/* As the address has it: "129-256". null: not a range. */
export function parseRange(text: string): SizeRange | null {
  const m = /^(\d+)-(\d+)$/.exec(text);
  if (!m) return null;
  const [min, max] = [Number(m[1]), Number(m[2])];
  return min <= max ? { min, max } : null;
}

export const rangeKey = (r: SizeRange): string => `${r.min}-${r.max}`;

/* A size without empty digits: "4 KiB", "129 B"; with all its digits where a unit would round it. */
function sizeWords(value: number): string {
  const isRound = value < 1024 || Number.isInteger(value / 1024);
  return isRound ? join(bytes(value)).replace(/\.0+(?=\D)/, '') : `${group(value)}${SPACE}B`;
}

export const rangeWords = (r: SizeRange): string =>
  r.min === r.max ? sizeWords(r.min) : `${boundWords(r.min)} to ${sizeWords(r.max)}`;

/* The lower bound is one above a power of two: above 1 KiB "over 1 KiB" says so. */
const boundWords = (min: number): string =>
  min > 1024 && Number.isInteger((min - 1) / 1024) ? `over ${sizeWords(min - 1)}` : sizeWords(min);

/* Below a column: 256, 4K, 64M. */
export function sizeLabel(max: number): string {
  const units = ['', 'K', 'M', 'G', 'T', 'P', 'E'];
  let [value, i] = [max, 0];
  while (value >= 1024 && i < units.length - 1) {
    value /= 1024;
    i++;
  }
  return `${Number.isInteger(value) ? value : value.toFixed(1)}${units[i]}`;
}

/* The range, cut to the bounds that the filter has already. */
export function cutToFilter(r: SizeRange, params: Params): SizeRange {
  const low = parseBytes(params['size_min'] ?? '');
  const high = parseBytes(params['size_max'] ?? '');
  return { min: Math.max(r.min, low ?? 0), max: Math.min(r.max, high ?? Infinity) };
}

/* The filter that leaves a range out. The API holds one range of sizes, so that works for a range at
 * either end of what there is; null: two ranges would remain. */
export function withoutRange(
  r: SizeRange,
  buckets: readonly SizeRange[],
): { size_min?: string; size_max?: string } | null {
  const [first, last] = [buckets[0], buckets[buckets.length - 1]];
  if (!first || !last || (r.min <= first.min && r.max >= last.max)) return null;
  if (r.min <= first.min) return { size_min: String(r.max + 1) };
  return r.max >= last.max ? { size_max: String(r.min - 1) } : null;
}

/* Indices of the buckets that a range covers, [first, last]; null: none. */
export function bucketsIn(r: SizeRange, buckets: readonly SizeRange[]): [number, number] | null {
  const inside = (b: SizeRange) => b.min <= r.max && b.max >= r.min;
  const first = buckets.findIndex(inside);
  if (first < 0) return null;
  let last = first;
  while (last + 1 < buckets.length && inside(buckets[last + 1] as SizeRange)) last++;
  return [first, last];
}

/* Index of the greatest value; -1: there is none above 0. */
export function greatest(values: readonly number[]): number {
  let best = -1;
  values.forEach((v, i) => {
    if (v > 0 && (best < 0 || v > (values[best] ?? 0))) best = i;
  });
  return best;
}

export interface Scale {
  ticks: number[];
  /* 0 at the base, 1 at the top of the chart */
  at: (value: number) => number;
}

const LOG_DECADES = 4;

/* Logarithmic columns begin one step below the lowest tick, so that the least value has a height. */
export function valueScale(top: number, unit: Unit, isLog: boolean): Scale {
  if (!isLog || !(top > 0)) {
    const ticks = valueTicks(top, unit, 4);
    const max = ticks[ticks.length - 1] || 1;
    return { ticks, at: (v) => v / max };
  }
  const factor = unit === 'count' ? 10 : 32;
  const power = Math.floor(Math.log(top) / Math.log(factor) + 1e-9);
  const ticks: number[] = [];
  for (let k = Math.max(0, power - LOG_DECADES); k <= power; k++) ticks.push(Math.pow(factor, k));
  const low = (ticks[0] ?? 1) / factor;
  const span = Math.log((top * 1.3) / low);
  return { ticks, at: (v) => (v > low ? Math.log(v / low) / span : 0) };
}

/* ---- lifetimes in few classes ---- */

export interface LifetimeBucket {
  min_ns: number;
  max_ns: number;
  count: number;
}

/* Upper bounds that are also bounds of the server's buckets (1, 2, 5 times powers of ten; a minute is
 * not one of them, 50 s is). */
const CLASSES: readonly (readonly [words: string, maxNs: number])[] = [
  ['up to 1 µs', 1e3],
  ['to 1 ms', 1e6],
  ['to 1 s', 1e9],
  ['to 50 s', 5e10],
  ['over 50 s', Infinity],
];

/* How many were freed within each class; every bucket lies in one class. */
export function lifetimeClasses(
  buckets: readonly LifetimeBucket[],
): { words: string; count: number }[] {
  const out = CLASSES.map(([words]) => ({ words, count: 0 }));
  for (const b of buckets) {
    const entry = out[CLASSES.findIndex(([, max]) => b.max_ns <= max)];
    if (entry) entry.count += b.count;
  }
  return out;
}
