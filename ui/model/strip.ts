/* The timeline strip's arithmetic: what is where, and what a drag does. Pure. */

export interface Span {
  fromNs: number;
  toNs: number;
}

/* The part of the run that the strip shows; zooming changes it, the range does not. */
export const clampView = (v: Span, runNs: number): Span => {
  const width = Math.min(Math.max(v.toNs - v.fromNs, Math.max(runNs * 1e-6, 10)), runNs);
  const from = Math.max(0, Math.min(runNs - width, v.fromNs));
  return { fromNs: from, toNs: from + width };
};

export function zoomView(v: Span, atNs: number, factor: number, runNs: number): Span {
  return clampView(
    { fromNs: atNs - (atNs - v.fromNs) * factor, toNs: atNs + (v.toNs - atNs) * factor },
    runNs,
  );
}

export const xOf = (v: Span, ns: number, width: number): number =>
  ((ns - v.fromNs) / (v.toNs - v.fromNs)) * width;

export const nsOf = (v: Span, x: number, width: number): number =>
  Math.round(v.fromNs + (Math.max(0, Math.min(width, x)) / width) * (v.toNs - v.fromNs));

export type Grip = 'new' | 'start' | 'end' | 'middle';
export const GRIP_PX = 7; // how near to an edge a press takes hold of it
export const CLICK_PX = 3; // a press that moves less is a click

/* What a press at x takes hold of. */
export function gripAt(range: Span | null, v: Span, x: number, width: number): Grip {
  if (!range) return 'new';
  const [a, b] = [xOf(v, range.fromNs, width), xOf(v, range.toNs, width)];
  if (Math.abs(x - a) <= GRIP_PX && Math.abs(x - a) <= Math.abs(x - b)) return 'start';
  if (Math.abs(x - b) <= GRIP_PX) return 'end';
  return x > a && x < b ? 'middle' : 'new';
}

/* The range while the pointer is at nowNs, having begun at startNs with `before`. */
export function dragged(
  grip: Grip,
  before: Span | null,
  startNs: number,
  nowNs: number,
  runNs: number,
): Span {
  const ordered = (a: number, b: number): Span => ({
    fromNs: Math.min(a, b),
    toNs: Math.max(a, b),
  });
  if (!before || grip === 'new') return ordered(startNs, nowNs);
  if (grip === 'start') return ordered(nowNs, before.toNs);
  if (grip === 'end') return ordered(before.fromNs, nowNs);
  return moved(before, nowNs - startNs, runNs);
}

export function moved(r: Span, byNs: number, runNs: number): Span {
  const width = r.toNs - r.fromNs;
  const from = Math.max(0, Math.min(runNs - width, r.fromNs + byNs));
  return { fromNs: from, toNs: from + width };
}

export function widened(r: Span, byNs: number, runNs: number): Span {
  const middle = (r.fromNs + r.toNs) / 2;
  const half = Math.max((r.toNs - r.fromNs) / 2 + byNs, runNs * 1e-4);
  return { fromNs: Math.max(0, middle - half), toNs: Math.min(runNs, middle + half) };
}

/* "Never freed" over time: allocated so far and never freed later. */
export function runningSum(values: readonly number[], start = 0): number[] {
  let sum = start;
  return values.map((v) => (sum += v));
}

/* The last sample at or before a moment, or the first one; samples are ascending in time. */
function sampleAt(times: readonly number[], ns: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) <= ns) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/* The value of that sample. */
export function valueAt(
  times: readonly number[],
  values: readonly number[],
  ns: number,
): number | null {
  return values[sampleAt(times, ns)] ?? null;
}

/* How long before a moment the value there was sampled (less than 0: afterwards), if that is far on a chart
 * of viewNs; else 0. A figure of another moment must not look like one of this. */
export function sampleAge(times: readonly number[], ns: number, viewNs: number): number {
  const age = ns - (times[sampleAt(times, ns)] ?? ns);
  return Math.abs(age) > viewNs / 100 ? age : 0;
}

/* The value at a moment, on the line between two samples; outside of them that of the nearest one. */
export function interpolated(
  times: readonly number[],
  values: readonly number[],
  ns: number,
): number | null {
  const i = sampleAt(times, ns);
  const [t, next] = [times[i], times[i + 1]];
  const [v, nextValue] = [values[i], values[i + 1]];
  if (t === undefined || v === undefined) return null;
  if (next === undefined || nextValue === undefined || ns <= t || next <= t) return v;
  return v + ((nextValue - v) * (ns - t)) / (next - t);
}

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

const CURVE_STEP_PX = 4;

/* Of boxes for a label the first that no curve passes through, or the one that fewest do. A curve gives y at
 * x, or null where it is not. */
export function freeBox(
  boxes: readonly Box[],
  curves: readonly ((x: number) => number | null)[],
): Box | null {
  let best: Box | null = null;
  let fewest = Infinity;
  for (const b of boxes) {
    let crossed = 0;
    for (const y of curves)
      for (let x = b.left; x <= b.left + b.width; x += CURVE_STEP_PX) {
        const at = y(x);
        if (at !== null && at >= b.top && at <= b.top + b.height) crossed++;
      }
    if (crossed < fewest) [best, fewest] = [b, crossed];
  }
  return best;
}
