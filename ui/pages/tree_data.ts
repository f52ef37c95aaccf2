/* The tree of a page: a cut tree first, more of it as rows are opened. */
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { Query } from '../api/client';
import type { FrameText, Tree } from '../api/types';
import type { CostId } from '../model/costs';
import { momentOf } from '../model/filters';
import { parseOpen, underOf } from '../model/tree_open';
import {
  assemble,
  openAtFirst,
  treeOf,
  type Direction,
  type TreeNode,
  type Wanted,
} from '../model/tree_rows';
import type { Params } from '../model/address';
import { useMany } from '../state/many';
import { usePageRequest } from '../state/page_request';
import { useApiUrl, useUrl, type Asked } from '../state/query';

/* In percent. Of the whole: rows that the first answer leaves out are not to be seen in a bar. Of the
 * opened row: what opens is a few hundred rows at most, and the heaviest path below it is there. */
const FIRST_SHARE = 0.05;
const BRANCH_SHARE = 0.5;

export type Node = TreeNode<FrameText>;

export interface TreeData {
  asked: Asked<Tree>;
  root: Node | null; // null: nothing is here yet
  open: ReadonlySet<string>;
  isAwaited: (path: string) => boolean; // children of this node are on their way
  errorAt: (path: string) => string | null; // why they did not come
  again: (path: string) => void;
}

export const isMine = (params: Params): boolean => params['mine'] !== '0';

/* The table is about what is alive at the pinned moment. */
export const momentShown = (params: Params): number | null =>
  params['moment'] === '1' ? momentOf(params) : null;

/* Which tree the address means: the same for the tree and for the stacks behind one of its rows. */
export function treeQuery(direction: Direction, params: Params): Query {
  const moment = momentShown(params);
  const at = moment === null ? {} : { [aliveKey(params)]: `+${moment}ns` };
  return { direction, fold: isMine(params) ? 'runtime' : 'none', ...at };
}

/* A filter may ask for a moment of its own. */
const aliveKey = (params: Params): string => (params['alive_at'] ? 'alive_at_2' : 'alive_at');

export function useTreeData(direction: Direction, params: Params, cost: CostId): TreeData {
  const { urlOf, dataKey } = useApiUrl();
  const query = treeQuery(direction, params);
  const baseUrl = urlOf('tree', { ...query, min_share: FIRST_SHARE });
  usePageRequest(baseUrl);
  const asked = useUrl<Tree>(baseUrl, dataKey);

  /* What opens later belongs to the tree that is shown, which may be that of the filter before. */
  const branchUrl = (w: Wanted): string =>
    urlOf('tree', {
      ...query,
      under: underOf(w.path),
      ...(w.isAll ? { min_share: 0, depth: 1 } : { min_share: BRANCH_SHARE }),
    }) ?? '';
  const shown = useRef({ group: '', branchUrl });
  if (!asked.isStale) shown.current = { group: `${dataKey} ${baseUrl}`, branchUrl };
  const { group, branchUrl: shownUrl } = shown.current;

  const base = useMemo(() => (asked.data ? treeOf<FrameText>(asked.data) : null), [asked.data]);
  const openText = params['open'];
  const open = useMemo(
    () =>
      openText
        ? parseOpen(openText)
        : base
          ? openAtFirst(base, direction, cost)
          : new Set<string>(),
    [openText, base, direction, cost],
  );
  const many = useMany<Tree>(group);
  const { root, used, missing } = useMemo(
    () =>
      base
        ? assemble(base, open, (w) => many.answers.get(shownUrl(w)))
        : { root: null, used: [], missing: [] },
    [base, open, many.answers, group],
  );
  const urls = [...used, ...missing].map(shownUrl);
  useLayoutEffect(() => many.want(urls), [group, urls.join(' '), many.errors]);

  const waiting = new Map(missing.map((w) => [w.path, shownUrl(w)]));
  return {
    asked,
    root,
    open,
    isAwaited: (path) => waiting.has(path) && !many.errors.has(waiting.get(path) ?? ''),
    errorAt: (path) => many.errors.get(waiting.get(path) ?? '')?.message ?? null,
    again: (path) => many.again(waiting.get(path) ?? ''),
  };
}
