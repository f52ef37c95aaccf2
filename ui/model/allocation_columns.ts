/* The columns of Allocations, and one allocation in words. Pure. */
import type { Params } from './address';
import type { TableColumn } from './columns';

export type AllocationColumnId =
  | 'allocated'
  | 'lifetime'
  | 'freed'
  | 'address'
  | 'size'
  | 'usable'
  | 'extra'
  | 'thread'
  | 'kind'
  | 'memory'
  | 'allocator'
  | 'chain'
  | 'chainlife'
  | 'marker'
  | 'freedby'
  | 'freedat'
  | 'site';

export interface AllocationColumn extends TableColumn {
  id: AllocationColumnId;
}

const ALLOCATION_COLUMNS: readonly AllocationColumn[] = [
  {
    id: 'allocated',
    title: 'Allocated',
    hint: 'When it was allocated',
    width: [94],
    sort: 'timestamp',
    isAscendingFirst: true,
  },
  {
    id: 'lifetime',
    title: 'Lifetime',
    hint: 'From allocation to free. T: temporary, freed before the same thread allocated again',
    width: [92, 92, 92, 96],
    class: 'r',
    sort: 'lifetime',
  },
  {
    id: 'freed',
    title: 'Freed',
    hint: 'When it was freed; empty: never',
    width: [96],
    goes: 2,
    class: 'r',
    sort: 'released',
  },
  {
    id: 'address',
    title: 'Address',
    width: [98],
    goes: 2,
    class: 'pad',
    sort: 'address',
    isAscendingFirst: true,
  },
  {
    id: 'size',
    title: 'Size',
    hint: 'Bytes asked for',
    width: [70, 70, 70, 68],
    class: 'r',
    sort: 'size',
  },
  {
    id: 'usable',
    title: 'Usable',
    hint: 'Bytes that the allocator made usable',
    width: [66],
    goes: 2,
    class: 'r',
    sort: 'usable',
  },
  {
    id: 'extra',
    title: 'Extra',
    hint: 'Usable bytes beyond those asked for',
    width: [62],
    goes: 2,
    class: 'r',
    isExtra: true,
  },
  { id: 'thread', title: 'Thread', width: [112, 96, 78], goes: 3, class: 'pad', sort: 'thread' },
  {
    id: 'kind',
    title: 'Kind',
    hint: 'The call that made it',
    width: [60],
    goes: 2,
    class: 'pad2',
    sort: 'kind',
  },
  {
    id: 'memory',
    title: 'Memory',
    hint: 'Where the allocator took it from',
    width: [82],
    goes: 2,
    isExtra: true,
  },
  {
    id: 'allocator',
    title: 'Allocator',
    hint: 'Who gave the block: the C library’s functions, or an allocator inside the program. !: another one got it back',
    width: [82],
    goes: 2,
    isExtra: true,
  },
  {
    id: 'chain',
    title: 'Chain',
    hint: 'Its position in the chain of reallocs, and the length of the chain',
    width: [40],
    goes: 2,
    sort: 'chain_length',
  },
  {
    id: 'chainlife',
    title: 'Chain lifetime',
    hint: 'From the first allocation of its realloc chain to the last free',
    width: [96],
    goes: 2,
    class: 'r',
    isExtra: true,
  },
  {
    id: 'marker',
    title: 'Marker',
    hint: 'The number that the program had set when it allocated',
    width: [62],
    goes: 2,
    class: 'r',
    isExtra: true,
  },
  {
    id: 'freedby',
    title: 'Freed by',
    hint: 'The thread that freed it',
    width: [84],
    goes: 2,
    class: 'pad',
    isExtra: true,
  },
  {
    id: 'site',
    title: 'Call site',
    hint: 'The innermost frame of your own code. Sorted by it, allocations of one stack are together',
    width: [null],
    minWidth: [140],
    class: 'pad2',
    sort: 'stack',
  },
  {
    id: 'freedat',
    title: 'Freed at',
    hint: 'The innermost frame of your own code that freed it',
    width: [200],
    goes: 2,
    class: 'pad2',
    isExtra: true,
  },
];

const CLOCK_PX = 7; // of a digit

/* The columns for moments with this many decimals. Which allocator gave a block is shown at once where a
 * program has several. */
export const allocationColumns = (digits: number, hasAllocators = false): AllocationColumn[] =>
  ALLOCATION_COLUMNS.map((c) =>
    c.id === 'allocated' || c.id === 'freed'
      ? { ...c, width: c.width.map((w) => (w ?? 0) + (digits - 4) * CLOCK_PX) }
      : c.id === 'allocator' && hasAllocators
        ? { ...c, isExtra: false }
        : c,
  );

/* By time, the earliest first, unless somebody chose otherwise. */
export function allocationSort(params: Params): { by: string; isAscending: boolean } {
  const by = params['sort'] ?? 'timestamp';
  const known = ALLOCATION_COLUMNS.some((c) => c.sort === by);
  return { by: known ? by : 'timestamp', isAscending: params['order'] !== 'dsc' };
}

/* Parameters of the address for an order; the usual one needs none. */
export const allocationSortParams = (by: string, isAscending: boolean) => ({
  sort: by === 'timestamp' ? null : by,
  order: isAscending ? null : 'dsc',
});

/* Decimals of moments in a column: rows that follow each other shall differ. */
export const allocationDigits = (runNs: number): number => (runNs >= 120e9 ? 4 : 6);

/* ---- one allocation ---- */

interface Origin {
  is_mmaped: boolean;
  in_main_arena: boolean;
}

export const memoryWord = (r: Origin): string =>
  r.is_mmaped ? 'mmap' : r.in_main_arena ? 'main arena' : 'other arena';

export function memoryText(r: Origin): string {
  if (r.is_mmaped) return 'a mapping of its own (mmap)';
  return r.in_main_arena ? 'heap, main arena' : 'heap, another arena';
}

/* Which blocks of a chain are drawn: all of a short one, else its ends and the surroundings of
 * `position`. Gaps are null. */
export function chainShown(length: number, position: number, most = 14): (number | null)[] {
  if (length <= most) return Array.from({ length }, (_, i) => i);
  const wanted = new Set<number>();
  for (const [from, n] of [
    [0, 3],
    [position - 3, 7],
    [length - 3, 3],
  ] as const)
    for (let i = from; i < from + n; i++) if (i >= 0 && i < length) wanted.add(i);
  const out: (number | null)[] = [];
  let before = -1;
  for (const i of [...wanted].sort((a, b) => a - b)) {
    if (i > before + 1) out.push(null);
    out.push(i);
    before = i;
  }
  return out;
}
