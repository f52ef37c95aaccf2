/* The rows of the table of threads: costs of the server's groups, and what others freed. Pure. */
import { costOf, type CostId, type CostValues } from './costs';

/* The API's ThreadFreed: what was freed of a thread's blocks. */
export interface Freed {
  thread: number;
  others_count: number;
  others_bytes: number;
}

export interface ThreadRow {
  index: number;
  cost: CostValues | null; // null: the thread allocated nothing
  others: { count: number; bytes: number }; // freed by other threads
  share: number; // of the thread's allocations that others freed, percent
}

export type ThreadSort = CostId | 'name' | 'others';

/* Threads that allocated or freed what matches, and those of `also` (all threads, without a filter). */
export function threadRows(
  groups: readonly { key: number; cost: CostValues }[],
  freed: readonly Freed[],
  also: readonly number[],
): ThreadRow[] {
  const costs = new Map(groups.map((g) => [g.key, g.cost]));
  const others = new Map(freed.map((f) => [f.thread, f]));
  const indices = new Set([...costs.keys(), ...others.keys(), ...also]);
  return [...indices].map((index) => {
    const cost = costs.get(index) ?? null;
    const by = others.get(index);
    const other = { count: by?.others_count ?? 0, bytes: by?.others_bytes ?? 0 };
    const share = cost?.allocations ? (100 * other.count) / cost.allocations : 0;
    return { index, cost, others: other, share };
  });
}

const bytesOf = (r: ThreadRow): number => r.cost?.bytes ?? 0;

export function sortRows(
  rows: readonly ThreadRow[],
  by: ThreadSort,
  isAscending: boolean,
  name: (index: number) => string,
): ThreadRow[] {
  const value = (r: ThreadRow): number => {
    if (by === 'others') return r.others.count;
    return by === 'name' || !r.cost ? 0 : costOf(r.cost, by);
  };
  const compare = (a: ThreadRow, b: ThreadRow): number =>
    by === 'name' ? name(b.index).localeCompare(name(a.index)) : value(b) - value(a);
  const sign = isAscending ? -1 : 1;
  return [...rows].sort(
    (a, b) => sign * compare(a, b) || bytesOf(b) - bytesOf(a) || a.index - b.index,
  );
}
