/* What the table of allocations and the panel share: the row of the API with the frames to blame,
 * filters that an allocation leads to, its menu. */
import type { AllocationRow, AllocationRows, FrameText } from '../api/types';
import { address, goPage, hrefPage, set } from '../state/router';
import { copyText } from '../state/overlay';
import type { MenuItem } from '../widgets/floating';
import { copyStack, notSite } from './site_parts';

export interface BlamedRow extends AllocationRow {
  site: FrameText | null; // the frame to blame for the allocation, and
  freeSite: FrameText | null; // for the free
}

export const SHAPE = {
  rows: (a: AllocationRows): BlamedRow[] =>
    a.allocations.map((row) => ({
      ...row,
      site: a.stacks[row.stack] ?? null,
      freeSite: row.free_stack ? (a.stacks[row.free_stack] ?? null) : null,
    })),
  count: (a: AllocationRows): number => a.total_count,
};

/* Filters; the row of the table is another one afterwards. */
export const withFilter = (filter: Record<string, string | null>) => ({ ...filter, row: null });
export const sameSize = (r: AllocationRow) =>
  withFilter({ size_min: String(r.size), size_max: String(r.size) });
export const sameAddress = (r: AllocationRow) =>
  withFilter({ address_min: r.address, address_max: r.address });
export const onlyStack = (stack: number) => withFilter({ backtraces: String(stack) });
export const onlyFreeStack = (stack: number) =>
  withFilter({ deallocation_backtraces: String(stack) });

/* The menu of a row. `tid` of the thread that allocated, for the filter. */
export function allocationItems(
  recording: string,
  r: AllocationRow,
  tid: number | null,
): MenuItem[] {
  const a = address.value;
  return [
    { label: 'Only this call site', hint: 'O', act: () => set(onlyStack(r.stack)) },
    {
      label: 'Not this call site',
      hint: 'X',
      act: () => set(withFilter(notSite(a, r.stack))),
    },
    ...(r.free_stack
      ? [
          {
            label: 'Only what is freed there',
            act: () => set(onlyFreeStack(r.free_stack ?? 0)),
          },
        ]
      : []),
    { label: 'Same size', act: () => set(sameSize(r)) },
    { label: 'Same address', act: () => set(sameAddress(r)) },
    ...(tid === null
      ? []
      : [{ label: 'Same thread', act: () => set(withFilter({ thread: String(tid) })) }]),
    ...(r.marker
      ? [{ label: 'Same marker', act: () => set(withFilter({ marker: String(r.marker) })) }]
      : []),
    {
      label: 'Alive at the same moment',
      act: () => goPage('allocations', { alive_at: `+${r.at_ns}ns` }),
    },
    {
      label: 'Call site',
      href: hrefPage(a, 'sites', { backtraces: String(r.stack) }),
    },
    { label: 'Copy address', act: () => void copyText(r.address, 'Address') },
    { label: 'Copy stack', act: () => void copyStack(recording, r.stack) },
  ];
}
