/* In the panel of the trees: the stacks behind the selected row, one after the other. */
import { useEffect, useState } from 'preact/hooks';
import type { GroupRows, Stack, Tree } from '../api/types';
import type { Params } from '../model/address';
import { costKind, costOf } from '../model/costs';
import { count, join, plural, share } from '../model/format';
import { codeName, frameFull, frameTitle } from '../model/names';
import { MORE_KEY, lastKey, underOf } from '../model/tree_open';
import type { Direction } from '../model/tree_rows';
import { selectionOf } from '../state/details';
import { useQuery } from '../state/query';
import { hrefPage, set, useAddress, useCost } from '../state/router';
import { Block } from '../widgets/details';
import { CostBars, Value } from '../widgets/figures';
import { Icon } from '../widgets/icons';
import { StackList } from '../widgets/names';
import { ErrorNote } from '../widgets/notes';
import { treeQuery } from './tree_data';

export function RowStacks() {
  const { page, params } = useAddress();
  const path = params['row'] ?? '';
  if (!path || lastKey(path) === MORE_KEY) return null;
  const direction = page === 'bottomup' ? 'bottom_up' : 'top_down';
  return (
    <StacksOf key={`${direction} ${path}`} direction={direction} path={path} params={params} />
  );
}

interface StacksProps {
  direction: Direction;
  path: string;
  params: Params;
}

function StacksOf({ direction, path, params }: StacksProps) {
  const cost = useCost();
  const [skip, setSkip] = useState(0);
  /* stacks are those of this recording, also while another one is compared with it */
  const tree = { ...treeQuery(direction, params), under: underOf(path), base: null };
  const selection = selectionOf(params);
  const name = selection?.kind === 'fn' ? selection.key : null;
  const row = useQuery<Tree>('tree', { ...tree, depth: 0 }, { isReady: name === null });
  const asked = useQuery<GroupRows>('groups', {
    ...tree,
    by: 'stack',
    sort_by: costKind(cost).field,
    skip,
    count: 1,
  });
  const n = asked.data?.total_count ?? 0;
  useEffect(() => setSkip(0), [cost, n]); // other stacks, or in another order
  const group = asked.data?.groups[0];
  const stack = useQuery<Stack>(
    `stack/${group?.key ?? 0}`,
    {},
    { isReady: !!group, isFiltered: false },
  );
  if (asked.error?.status === 404 && params['base'])
    return (
      <Block title="Stacks behind this row">
        <p class="dim">Only the base has this row: open the base to see its stacks.</p>
      </Block>
    );
  if (asked.error) return <ErrorNote error={asked.error} again={asked.again} />;
  return (
    <>
      {name === null && <NamelessRow tree={row.data} />}
      <Block title="Stacks behind this row" right={n > 0 && <Pager at={skip} n={n} go={setSkip} />}>
        {group && (
          <p class="dim stack-cost">
            <Value value={costOf(group.cost, cost)} unit={costKind(cost).unit} flow />{' '}
            {costKind(cost).name.toLowerCase()},{' '}
            {share(costOf(group.cost, cost), costOf(asked.data?.total ?? group.cost, cost)) ||
              '0 %'}{' '}
            of the row
          </p>
        )}
        <div class={asked.isStale || stack.isStale ? 'stale' : ''}>
          {stack.data && (
            <StackList
              frames={stack.data.frames}
              blame={stack.data.frames.find((f) => name !== null && codeName(f) === name)}
              cost={cost}
              hasPath={false}
            />
          )}
          {stack.data?.truncated && <p class="dim">The stack ends early: {stack.data.truncated}</p>}
        </div>
        {group && <StackActions stack={group.key} />}
      </Block>
    </>
  );
}

function Pager({ at, n, go }: { at: number; n: number; go: (to: number) => void }) {
  return (
    <>
      {join(count(at + 1))} of {join(count(n))}
      <button
        type="button"
        class="btn quiet icon tiny"
        aria-label="Stack before"
        disabled={at === 0}
        onClick={() => go(at - 1)}
      >
        <Icon name="back" />
      </button>
      <button
        type="button"
        class="btn quiet icon tiny"
        aria-label="Next stack"
        disabled={at + 1 >= n}
        onClick={() => go(at + 1)}
      >
        <Icon name="right" />
      </button>
    </>
  );
}

function StackActions({ stack }: { stack: number }) {
  const a = useAddress();
  return (
    <div class="actions stack-actions">
      <button type="button" class="btn" onClick={() => set({ backtraces: String(stack) })}>
        Only this stack
      </button>
      <a class="btn" href={hrefPage(a, 'sites', { sel: `site:${stack}` })}>
        Call site
      </a>
      <a class="btn" href={hrefPage(a, 'allocations', { backtraces: String(stack) })}>
        Allocations
      </a>
    </div>
  );
}

/* A frame without a name, and a run of frames, have no panel of their own: what it is, and the costs of
 * the row. */
function NamelessRow({ tree }: { tree: Tree | null }) {
  const frame = tree?.names[tree.name[0] ?? 0];
  if (!tree || !frame) return null;
  const folded = tree.folded[0] ?? 0;
  const cost = {
    peak_bytes: tree.peak_bytes[0] ?? 0,
    leaked_bytes: tree.leaked_bytes[0] ?? 0,
    allocations: tree.allocations[0] ?? 0,
    temporary_count: tree.temporary_count[0] ?? 0,
    bytes: tree.bytes[0] ?? 0,
  };
  return (
    <>
      <Block>
        <div class="block-title" title={frameFull(frame)}>
          {frameTitle(frame)}
        </div>
        <div class="dim where">
          {folded > 0 ? `${plural(folded, 'frame')} at most, ` : ''}
          {frame.module ?? ''}
        </div>
      </Block>
      <Block title="Cost of this row">
        <CostBars cost={cost} total={tree.total} />
      </Block>
    </>
  );
}
