/* The five costs, in the order of the cost switch and of the keys 1 to 5. Pure. */
import type { Unit } from './format';

export type CostId = 'peak' | 'leaked' | 'allocs' | 'temp' | 'bytes';

/* The cost of something as the server tells it: the fields of the API's Cost that pages show. */
export interface CostValues {
  peak_bytes: number;
  leaked_bytes: number;
  allocations: number;
  temporary_count: number;
  bytes: number;
}

export interface CostKind {
  id: CostId;
  name: string;
  unit: Unit;
  field: keyof CostValues;
  hint: string;
}

export const COSTS: readonly CostKind[] = [
  {
    id: 'peak',
    name: 'Peak',
    unit: 'bytes',
    field: 'peak_bytes',
    hint: 'Alive at the first moment the heap was largest',
  },
  {
    id: 'leaked',
    name: 'Leaked',
    unit: 'bytes',
    field: 'leaked_bytes',
    hint: 'Not freed when the recording ended; not proof of a mistake',
  },
  {
    id: 'allocs',
    name: 'Allocations',
    unit: 'count',
    field: 'allocations',
    hint: 'Calls that asked for memory',
  },
  {
    id: 'temp',
    name: 'Temporary',
    unit: 'count',
    field: 'temporary_count',
    hint: 'Freed before the same thread allocated again',
  },
  {
    id: 'bytes',
    name: 'Bytes',
    unit: 'bytes',
    field: 'bytes',
    hint: 'Sum of all requests, freed or not',
  },
];

const BY_ID = new Map(COSTS.map((c) => [c.id, c]));

export const isCost = (text: string | undefined): text is CostId => BY_ID.has(text as CostId);

export function costKind(id: CostId): CostKind {
  const kind = BY_ID.get(id);
  if (!kind) throw new Error(`unknown cost ${id}`);
  return kind;
}

/* What a cost is, in words; under a filter the peak is another moment. */
export const costHint = (kind: CostKind, isFiltered: boolean): string =>
  isFiltered && kind.id === 'peak'
    ? 'Alive at the first moment what matches the filters was largest'
    : kind.hint;

export const costOf = (cost: CostValues, id: CostId): number => cost[costKind(id).field];
