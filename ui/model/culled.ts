/* Allocations that the recorder left out because they were freed soon. They count in totals and call
 * sites, and there are no rows of them. Pure. */
import { count, join, share } from './format';

interface Counted {
  rows: number;
  culled_count: number;
}

/* All allocations of a recording. */
export const allAllocations = (s: Counted): number => s.rows + s.culled_count;

/* What a page says that shows single allocations only; '': none are missing. */
export const withoutCulled = (s: Counted | null): string =>
  s?.culled_count ? `Without ${join(count(s.culled_count))} short-lived ones (culled)` : '';

/* Beside a filter; '': it misses none. */
export const filterMisses = (s: Counted): string =>
  s.culled_count
    ? `${join(count(s.culled_count))} were culled while recording. Filters by time, size, lifetime and other facts of single allocations leave them out.`
    : '';

/* "98.2 % culled", of a call site; '': none. */
export const culledShare = (culled: number, allocations: number): string =>
  culled ? `${share(culled, allocations)} culled` : '';
