/* In a comparison: the base over time, in the buckets of a chart of this recording. Both begin at their own
 * start. The figures end where the base ended.
 */
import { useMemo } from 'preact/hooks';
import type { Query } from '../api/client';
import type { Buckets } from '../api/types';
import { useQuery } from './query';
import { useAddress } from './router';

export interface BaseBuckets {
  at: number[]; // ns: the middle of each bucket
  buckets: Buckets; // those of the base
}

/* query: as for this recording's timeline. null: no comparison, or the answer is not here yet. */
export function useBaseBuckets(query: Query, isReady = true): BaseBuckets | null {
  const base = useAddress().params['base'];
  const { data } = useQuery<Buckets>(
    'timeline',
    { ...query, by: null, series: null, top: null, base },
    { isFiltered: false, isReady: isReady && base !== undefined },
  );
  return useMemo(() => {
    if (!base || !data?.before) return null;
    const at = data.max_bytes
      .map((_, i) => data.from_ns + (i + 0.5) * data.bucket_ns)
      .filter((ns) => ns - data.bucket_ns / 2 <= (data.before?.duration_ns ?? 0));
    return { at, buckets: { ...data, ...data.before } };
  }, [base, data]);
}
