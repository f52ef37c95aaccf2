/* The columns of Call sites, and what the page's address says about them. Pure. */
import type { TableColumn } from './columns';
import type { CostId } from './costs';
import type { Params } from './address';

export type SiteColumnId =
  | 'site'
  | 'graph'
  | CostId
  | 'mean'
  | 'freed'
  | 'lifetime'
  | 'median'
  | 'interval'
  | 'threads'
  | 'marker'
  | 'first'
  | 'last'
  | 'largest'
  | 'menu';

export interface SiteColumn extends TableColumn {
  id: SiteColumnId;
  cost?: CostId; // choosing it is choosing this cost
}

/* What the API calls sorting by a cost. */
export const COST_SORT: Record<CostId, string> = {
  leaked: 'leaked_bytes',
  peak: 'peak_bytes',
  allocs: 'allocations',
  temp: 'temporary_count',
  bytes: 'bytes',
};

const cost = (id: CostId, title: string, hint: string, width: readonly number[]): SiteColumn => ({
  id,
  title,
  hint,
  width,
  goes: 3,
  class: 'r',
  sort: COST_SORT[id],
  cost: id,
});

const figure = (id: SiteColumnId, title: string, hint: string, sort?: string): SiteColumn => ({
  id,
  title,
  hint,
  width: [88, 88, 78],
  goes: 3,
  class: 'r',
  isExtra: true,
  ...(sort ? { sort } : {}),
});

const MOMENT_PX = [78, 96, 114, 134]; // of 0, 3, 6, 9 decimals

/* The columns for moments with this many decimals. */
export function siteColumns(digits: number): SiteColumn[] {
  const px = MOMENT_PX[Math.ceil(digits / 3)] ?? 140;
  return SITE_COLUMNS.map((c) => {
    if (c.id === 'site') return { ...c, minWidth: [digits ? 170 : 230, 140, 100] };
    return ['first', 'last', 'largest'].includes(c.id) ? { ...c, width: [px, px + 6, px] } : c;
  });
}

export const SITE_COLUMNS: readonly SiteColumn[] = [
  {
    id: 'site',
    title: 'Call site',
    hint: 'The innermost frame of your own code, and who called it',
    width: [null],
    minWidth: [230, 140, 100],
  },
  {
    id: 'graph',
    title: 'Alive over time',
    hint: 'Bytes alive at the end of each of 120 intervals; leaked ones in their colour',
    width: [148, 148, 120],
    goes: 3,
    class: 'pad',
  },
  cost(
    'leaked',
    'Leaked',
    'Bytes not freed when the recording ended; not proof of a mistake',
    [104, 104, 92],
  ),
  cost(
    'peak',
    'Peak',
    'Bytes alive at the first moment the heap was largest; with a filter: when what matches was largest',
    [104, 104, 92],
  ),
  cost('allocs', 'Allocations', 'Calls that asked for memory', [96, 96, 88]),
  {
    ...cost('temp', 'Temporary', 'Freed before the same thread allocated again', [92, 92, 88]),
    isExtra: true,
  },
  {
    ...cost('bytes', 'Bytes', 'Sum of all requests, freed or not', [104, 104, 92]),
    isExtra: true,
  },
  {
    ...figure('mean', 'Mean size', 'Requested bytes per allocation, in the mean', 'mean_size'),
    width: [84, 84, 74],
    isExtra: false,
  },
  figure('freed', 'Freed', 'Allocations that were freed', 'freed_count'),
  figure(
    'lifetime',
    'Mean lifetime',
    'From allocation to free, in the mean of those that were freed',
    'mean_lifetime_ns',
  ),
  figure(
    'median',
    'Median lifetime',
    'Half of those that were freed lived so long at most; within 3 %, exact in the open row',
  ),
  figure('interval', 'Interval', 'Time from the first to the last allocation', 'interval_ns'),
  figure('threads', 'Threads', 'How many threads allocated here, and which one most'),
  figure('marker', 'Marker', 'The numbers that the program had set when it allocated'),
  {
    ...figure('first', 'First', 'When it allocated for the first time', 'first_ns'),
    width: [78],
    goes: 1,
    isExtra: false,
    isAscendingFirst: true,
  },
  {
    ...figure('last', 'Last', 'When it allocated for the last time', 'last_ns'),
    width: [78],
    goes: 1,
    isExtra: false,
  },
  {
    ...figure(
      'largest',
      'Largest at',
      'When most bytes of the call site were alive, in the whole recording, whatever the filters are',
      'max_at_ns',
    ),
    width: [78],
    isExtra: false,
  },
  { id: 'menu', title: '', width: [30], goes: 3, class: 'menu-cell' },
];

/* Columns whose figures cost the server a pass over all allocations: asked for beside the rows. */
export const FACT_COLUMNS: readonly SiteColumnId[] = ['median', 'threads', 'marker'];

/* The order of the rows: a column's, if somebody chose one, else the cost's. */
export function siteSort(params: Params, chosenCost: CostId): { by: string; isAscending: boolean } {
  const known = SITE_COLUMNS.some((c) => c.sort && c.sort === params['sort']);
  return {
    by: known ? (params['sort'] ?? '') : COST_SORT[chosenCost],
    isAscending: params['order'] === 'asc',
  };
}

/* The parameters of the address for an order; choosing a cost's column is choosing the cost. */
export function sortParams(by: string, isAscending: boolean): Record<string, string | null> {
  const column = SITE_COLUMNS.find((c) => c.sort === by);
  return {
    ...(column?.cost ? { cost: column.cost, sort: null } : { sort: by }),
    order: isAscending ? 'asc' : null,
  };
}
