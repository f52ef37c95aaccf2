/* What the flame graph asks the server for: the tree of calls, coarse first where it is large.
 *
 * A recording with few call sites is asked for whole. A large one is shown at once without the nodes
 * that nobody can see (below COARSE_SHARE of every cost), and is replaced by the whole tree when that
 * is here: zooming in shows everything, and searching counts everything. A tree of more than MAX_STACKS
 * stays without its smallest nodes, and FlameTree.leftOut says so. An exported page has the coarse tree
 * only.
 */
import { useMemo, useRef } from 'preact/hooks';
import { isExported } from '../api/client';
import type { Summary } from '../api/types';
import type { Params } from '../model/address';
import { COARSE_SHARE, FINE_SHARE, treeQuery } from '../model/flame_query';
import { flameTree, type FlameTree, type TreeAnswer } from '../model/flame_tree';
import { useQuery, type Asked } from './query';

const FEW_SITES = 20_000;
const MAX_STACKS = 200_000;

export interface AskedTree {
  tree: FlameTree | null;
  asked: Asked<unknown>; // the request that is shown as waiting or failed
  isRefining: boolean; // small nodes are on their way
  isStale: boolean; // the tree is of an older question
}

export function useFlameTree(params: Params): AskedTree {
  const query = treeQuery(params);
  const { data: summary } = useQuery<Summary>('summary', {}, { isFiltered: false });
  const isSmall = !isExported && (summary?.call_sites ?? 0) <= FEW_SITES;
  const first = useQuery<TreeAnswer>(
    'tree',
    { ...query, min_share: isSmall ? '0' : COARSE_SHARE },
    { isReady: summary !== null, isLarge: true, isMain: true },
  );
  const answer = first.isStale || first.error ? null : first.data;
  const isCoarse = answer !== null && !isSmall && !isExported && answer.left_out > 0;
  const second = useQuery<TreeAnswer>(
    'tree',
    { ...query, min_share: (answer?.stacks ?? 0) <= MAX_STACKS ? '0' : FINE_SHARE },
    { isReady: isCoarse && first.estimate === null, isLarge: true, isExact: true },
  );
  const isFine = isCoarse && second.data !== null && !second.isStale && !second.error;
  const now = isFine ? second.data : answer;
  const shown = useRef<TreeAnswer | null>(null);
  if (now) shown.current = now;
  const source = shown.current;
  const tree = useMemo(() => source && flameTree(source), [source]);
  return {
    tree,
    asked: first,
    isRefining: isCoarse && !isFine && !second.error,
    isStale: now === null,
  };
}
