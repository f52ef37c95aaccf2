/* Functions and their callers as tables show them. Pure. */
import { costKind, costOf, type CostId, type CostValues } from './costs';

/* What the API tells of a function alone, without what it calls. */
export interface SelfCosts {
  self_bytes: number;
  self_allocations: number;
  self_leaked_bytes: number;
  self_peak_bytes: number;
  self_temporary_count: number;
}

export const selfCost = (row: SelfCosts): CostValues => ({
  peak_bytes: row.self_peak_bytes,
  leaked_bytes: row.self_leaked_bytes,
  allocations: row.self_allocations,
  temporary_count: row.self_temporary_count,
  bytes: row.self_bytes,
});

/* What /functions calls the order of a column. */
export const functionsSort = (cost: CostId, isSelf: boolean): string =>
  (isSelf ? 'self_' : '') + costKind(cost).field;

/* Rows of a small table, largest first. Those without any of the cost come last, in their order. */
export function largestFirst<T extends { cost: CostValues }>(
  rows: readonly T[],
  cost: CostId,
): T[] {
  return [...rows].sort(
    (a, b) => costOf(b.cost, cost) - costOf(a.cost, cost) || b.cost.bytes - a.cost.bytes,
  );
}
