/* Who frees whose blocks: the server's list of pairs as a table of threads. Pure. */

/* The API's Release. */
export interface Pair {
  allocated_by: number;
  released_by: number;
  count: number;
  bytes: number;
}

export type Measure = 'count' | 'bytes';

/* What other threads freed of each thread's blocks. */
export function freedByOthers(
  pairs: readonly Pair[],
): Map<number, { count: number; bytes: number }> {
  const out = new Map<number, { count: number; bytes: number }>();
  for (const p of pairs) {
    const sum = out.get(p.allocated_by) ?? { count: 0, bytes: 0 };
    if (p.allocated_by !== p.released_by) {
      sum.count += p.count;
      sum.bytes += p.bytes;
    }
    out.set(p.allocated_by, sum);
  }
  return out;
}

export const OTHERS = -1; // stands for all threads that have no line of their own

export interface Matrix {
  threads: number[]; // indices; OTHERS last when there are more than `top`
  cells: number[][]; // [allocated by][freed by]
  maxOwn: number; // the greatest of what threads freed of their own blocks
  maxOthers: number; // and of what they freed of others'
}

/* The `top` threads that took part in most, and the rest as one. */
export function matrixOf(pairs: readonly Pair[], measure: Measure, top: number): Matrix {
  const weight = new Map<number, number>();
  const add = (t: number, n: number) => weight.set(t, (weight.get(t) ?? 0) + n);
  for (const p of pairs) {
    add(p.allocated_by, p[measure]);
    add(p.released_by, p[measure]);
  }
  const all = [...weight].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([t]) => t);
  const kept = all.slice(0, all.length > top ? top : all.length).sort((a, b) => a - b);
  const threads = all.length > kept.length ? [...kept, OTHERS] : kept;
  const place = new Map(kept.map((t, i) => [t, i]));
  const cells = threads.map(() => threads.map(() => 0));
  for (const p of pairs) {
    const row = cells[place.get(p.allocated_by) ?? kept.length];
    const column = place.get(p.released_by) ?? kept.length;
    if (row) row[column] = (row[column] ?? 0) + p[measure];
  }
  const isOwn = (i: number, k: number) => i === k && threads[i] !== OTHERS;
  const most = (own: boolean) =>
    Math.max(0, ...cells.flatMap((row, i) => row.filter((_, k) => isOwn(i, k) === own)));
  return { threads, cells, maxOwn: most(true), maxOthers: most(false) };
}

/* How strong a cell is tinted, 0 to 100. The root keeps small values visible beside large ones. */
export const heat = (value: number, max: number): number =>
  max > 0 && value > 0 ? Math.max(6, Math.round(100 * Math.sqrt(value / max))) : 0;
