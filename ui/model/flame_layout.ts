/* Where the boxes of a flame graph are. Pure.
 *
 * A position is a box: positions count row by row from the top, from left to right within a row, so
 * that the children of a box are neighbours (firstKid[p] .. firstKid[p + 1] - 1), heaviest first. x and
 * right are in units of the cost: whole numbers below 2^53, hence exact. A View is the part of the
 * root's width that is on screen, in fractions of it.
 */
import type { FlameTree } from './flame_tree';

export const ROW_PX = 21;
export const MIN_PX = 0.5; // narrower boxes are not drawn, and neither are their children

export interface Layout {
  n: number; // boxes: nodes with no width have none
  rows: number;
  total: number;
  node: Int32Array; // by position
  x: Float64Array;
  right: Float64Array;
  firstKid: Int32Array; // n + 1 entries
  rowStart: Int32Array; // rows + 1 entries
  deepest: Int32Array; // by position: the last row that the box reaches with what it calls
  position: Int32Array; // by node; -1: no box
}

export interface View {
  from: number;
  to: number;
}

export const WHOLE: View = { from: 0, to: 1 };

/* Sorts order[from, to) by width, heaviest first; equal ones keep the order of the tree. */
function sortKids(order: Int32Array, from: number, to: number, width: Float64Array): void {
  if (to - from > 24) {
    order.subarray(from, to).sort((a, b) => (width[b] ?? 0) - (width[a] ?? 0) || a - b);
    return;
  }
  for (let i = from + 1; i < to; i++) {
    const kid = order[i] ?? 0;
    const w = width[kid] ?? 0;
    let j = i - 1;
    for (; j >= from && (width[order[j] ?? 0] ?? 0) < w; j--) order[j + 1] = order[j] ?? 0;
    order[j + 1] = kid;
  }
}

/* width: by node, never negative; no child is wider than its parent. */
export function layOut(t: FlameTree, width: Float64Array): Layout {
  const node = new Int32Array(t.n);
  const x = new Float64Array(t.n);
  const right = new Float64Array(t.n);
  const firstKid = new Int32Array(t.n + 1);
  const position = new Int32Array(t.n).fill(-1);
  const rowStart: number[] = [];
  let n = t.n > 0 && (width[0] ?? 0) > 0 ? 1 : 0;
  if (n) right[0] = width[0] ?? 0;
  for (let p = 0; p < n; p++) {
    const at = node[p] ?? 0;
    if (t.depth[at] === rowStart.length) rowStart.push(p);
    position[at] = p;
    firstKid[p] = n;
    const end = t.childStart[at + 1] ?? 0;
    const first = n;
    for (let c = t.childStart[at] ?? 0; c < end; c++) {
      const kid = t.child[c] ?? 0;
      if ((width[kid] ?? 0) > 0) node[n++] = kid;
    }
    sortKids(node, first, n, width);
    let edge = x[p] ?? 0;
    for (let k = first; k < n; k++) {
      x[k] = edge;
      edge += width[node[k] ?? 0] ?? 0;
      right[k] = edge;
    }
  }
  firstKid[n] = n;
  return {
    n,
    rows: rowStart.length,
    total: width[0] ?? 0,
    node,
    x,
    right,
    firstKid,
    rowStart: Int32Array.from([...rowStart, n]),
    deepest: deepestRows(t, node, n),
    position,
  };
}

function deepestRows(t: FlameTree, node: Int32Array, n: number): Int32Array {
  const byNode = t.depth.slice();
  for (let p = n - 1; p > 0; p--) {
    const at = node[p] ?? 0;
    const parent = t.parent[at] ?? 0;
    if ((byNode[at] ?? 0) > (byNode[parent] ?? 0)) byNode[parent] = byNode[at] ?? 0;
  }
  const out = new Int32Array(n);
  for (let p = 0; p < n; p++) out[p] = byNode[node[p] ?? 0] ?? 0;
  return out;
}

/* The first position in [from, to) whose right edge is beyond x; `to` when there is none. */
function beyond(l: Layout, from: number, to: number, x: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((l.right[middle] ?? 0) <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The position under a point: px from the left of `widthPx` pixels, and a row; -1: nothing there. */
export function hitTest(l: Layout, v: View, widthPx: number, px: number, row: number): number {
  if (row < 0 || row >= l.rows || px < 0 || px >= widthPx) return -1;
  const x = (v.from + (px / widthPx) * (v.to - v.from)) * l.total;
  const end = l.rowStart[row + 1] ?? 0;
  const p = beyond(l, l.rowStart[row] ?? 0, end, x);
  return p < end && (l.x[p] ?? 0) <= x ? p : -1;
}

export interface Painter {
  /* a box, with its edges in pixels, cut at the edges of the view */
  box(position: number, row: number, left: number, right: number): void;
  /* where boxes are that are too narrow to draw */
  crowd(row: number, left: number, right: number): void;
}

/* Visits what is on screen in rows [firstRow, lastRow]. The work grows with what is drawn, not with
 * the tree: below a box that is too narrow nothing is looked at, and its right neighbours are
 * narrower still. */
export function eachVisible(
  l: Layout,
  v: View,
  widthPx: number,
  [firstRow, lastRow]: readonly [number, number],
  paint: Painter,
): void {
  if (!l.n || lastRow < 0) return;
  const from = v.from * l.total;
  const to = v.to * l.total;
  const scale = widthPx / (to - from);
  const edge = (x: number) => Math.max(0, Math.min(widthPx, (x - from) * scale));
  let row: number[] = [0];
  for (let depth = 0; row.length && depth <= lastRow; depth++) {
    const below: number[] = [];
    const isShown = depth >= firstRow;
    for (const p of row) {
      if (isShown) paint.box(p, depth, edge(l.x[p] ?? 0), edge(l.right[p] ?? 0));
      const end = l.firstKid[p + 1] ?? 0;
      let k = beyond(l, l.firstKid[p] ?? 0, end, from);
      for (; k < end && (l.x[k] ?? 0) < to; k++) {
        if (((l.right[k] ?? 0) - (l.x[k] ?? 0)) * scale < MIN_PX) break;
        below.push(k);
      }
      if (k < end && (l.x[k] ?? 0) < to && depth + 1 >= firstRow && depth < lastRow)
        paint.crowd(depth + 1, edge(l.x[k] ?? 0), edge(l.right[end - 1] ?? 0));
    }
    row = below;
  }
}

/* ---- views ---- */

/* The view that a box fills. */
export function viewOf(l: Layout, position: number): View {
  if (position <= 0 || !l.total) return WHOLE;
  return { from: (l.x[position] ?? 0) / l.total, to: (l.right[position] ?? 0) / l.total };
}

const NARROWEST = 1e-9; // of the root's width

/* A view inside the whole, with the width it wants where there is room. */
export function clampView(v: View): View {
  const width = Math.max(NARROWEST, Math.min(1, v.to - v.from));
  const from = Math.max(0, Math.min(1 - width, v.from));
  return { from, to: from + width };
}

/* Zooms around a point of the view (0: left edge, 1: right edge). */
export function zoomedView(v: View, at: number, factor: number): View {
  const middle = v.from + at * (v.to - v.from);
  return clampView({
    from: middle - (middle - v.from) * factor,
    to: middle + (v.to - middle) * factor,
  });
}

export const pannedView = (v: View, byFraction: number): View => {
  const by = byFraction * (v.to - v.from);
  return clampView({ from: v.from + by, to: v.to + by });
};

/* A view in the address; empty for the whole. */
export const viewText = (v: View): string =>
  v.from <= 0 && v.to >= 1 ? '' : `${Number(v.from.toPrecision(9))}-${Number(v.to.toPrecision(9))}`;

export function parseView(text: string | undefined): View | null {
  const parts = /^(\d[\d.]*(?:e-\d+)?)-(\d[\d.]*(?:e-\d+)?)$/.exec(text ?? '');
  const [from, to] = [Number(parts?.[1]), Number(parts?.[2])];
  return parts && from >= 0 && to <= 1 && to > from ? clampView({ from, to }) : null;
}

/* How far a motion is after a part `t` of its time: the curve cubic-bezier(.2, 0, 0, 1). */
export function ease(t: number): number {
  if (t <= 0) return 0;
  if (t >= 1) return 1;
  let low = 0;
  let high = 1;
  for (let i = 0; i < 24; i++) {
    const s = (low + high) / 2;
    const x = 3 * (1 - s) * (1 - s) * s * 0.2 + s * s * s;
    if (x < t) low = s;
    else high = s;
  }
  const s = (low + high) / 2;
  return 3 * (1 - s) * s * s + s * s * s;
}

/* The view that is a part `k` of the way from one to another. */
export function between(a: View, b: View, k: number): View {
  if (k <= 0) return a;
  if (k >= 1) return b;
  return { from: a.from + (b.from - a.from) * k, to: a.to + (b.to - a.to) * k };
}
