/* Bottom-up and Top-down: one tree table, read from the allocating function or from the thread's start.
 *
 * Parameters of the page: row (path of the selected row), open (open rows), order=asc, mine=0 (all
 * frames), moment=1 (what is alive at the pinned moment). The boxes write the filters function_regex,
 * module_regex and source_regex: the same filter, and the same total, on every page.
 */
import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { FrameText } from '../api/types';
import { COSTS, costOf, type CostId, type CostValues } from '../model/costs';
import { costLines } from '../model/copy_text';
import { momentOf } from '../model/filters';
import { clockDigits, count, join, plural, type ClockText } from '../model/format';
import { notFunction, onlyFunction } from '../model/only_this';
import { formatOpen, pathAndParents, withoutBranch, withPath } from '../model/tree_open';
import {
  findNode,
  hasChildren,
  heaviestPath,
  isUnknown,
  largestChange,
  treeRows,
  type Direction,
  type NodeRow,
  type TreeRow,
} from '../model/tree_rows';
import type { Params } from '../model/address';
import { codeName } from '../model/names';
import { useClock } from '../state/clock';
import { isDetailsOpen, selectionOf, selectionText } from '../state/details';
import { useKeys } from '../state/keys';
import { copyText, overlay, say } from '../state/overlay';
import { address, goPage, set, setQuietly, useAddress, useCost } from '../state/router';
import { Foot, NarrowCostSwitch } from '../widgets/controls';
import { CostCell } from '../widgets/figures';
import { FilterBoxes } from '../widgets/filter_boxes';
import { Grid, type Column } from '../widgets/grid';
import { Icon } from '../widgets/icons';
import { Sym } from '../widgets/names';
import { NoMatch } from '../widgets/no_match';
import { ErrorNote, Waiting } from '../widgets/notes';
import { openFunctionMenu } from './function_menu';
import { isMine, momentShown, useTreeData, type Node, type TreeData } from './tree_data';

export const BottomUpPage = () => <TreePage direction="bottom_up" />;
export const TopDownPage = () => <TreePage direction="top_down" />;

type Row = TreeRow<FrameText>;

function TreePage({ direction }: { direction: Direction }) {
  const { params } = useAddress();
  const cost = useCost();
  const data = useTreeData(direction, params, cost);
  const { asked, root } = data;
  const isAscending = params['order'] === 'asc';
  const awaited = [...data.open].filter(data.isAwaited).join();
  const rows = useMemo(
    () => (root ? treeRows(root, { cost, isAscending }, data.open, data.isAwaited) : []),
    [root, cost, isAscending, data.open, awaited],
  );
  const at = selectedRow(rows, params);
  useTreeKeys(direction, params, rows[at] ?? null, data, cost);
  return (
    <>
      <TreeBar direction={direction} params={params} badKey={asked.error?.answer.parameter} />
      <Waiting asked={asked} what="Adding up functions" />
      {asked.error ? (
        <div class="pad-note">
          <ErrorNote
            error={asked.error}
            again={asked.again}
            edit={() => overlay.set({ kind: 'filter', field: asked.error?.answer.parameter ?? '' })}
          />
        </div>
      ) : root && rows.length === 0 && !asked.isStale ? (
        <NoMatch />
      ) : (
        <>
          <TreeTable {...{ direction, params, rows, at, data, cost, isAscending }} />
          <TreeFoot direction={direction} root={root} />
        </>
      )}
    </>
  );
}

/* The row that the address names, or the first one of the function that the panel is about. */
function selectedRow(rows: readonly Row[], params: Params): number {
  const path = params['row'];
  if (path) return rows.findIndex((r) => r.path === path);
  const selection = selectionOf(params);
  if (selection?.kind !== 'fn') return -1;
  return rows.findIndex((r) => r.kind === 'node' && functionOf(r.node) === selection.key);
}

/* ---- the toolbar ---- */

function TreeBar(p: { direction: Direction; params: Params; badKey: string | undefined }) {
  const mine = isMine(p.params);
  const pin = momentOf(p.params);
  const clock = useClock();
  const hint =
    p.direction === 'bottom_up'
      ? `${mine ? 'Function that asked' : 'Allocating function'} first, callers below`
      : 'Thread start first, callees below';
  return (
    <div class="toolbar">
      <NarrowCostSwitch />
      <FilterBoxes badKey={p.badKey} />
      <span class="sep" />
      <button
        type="button"
        class="btn"
        aria-pressed={mine}
        title="Frames of run-times and executors become one row, those of the allocator go (M)"
        onClick={() => toggleMine(p.params)}
      >
        Just my code
      </button>
      {pin !== null && (
        <button
          type="button"
          class="btn"
          aria-pressed={momentShown(p.params) !== null}
          title="Only what is alive at the pinned moment (6)"
          onClick={() => toggleMoment(p.params)}
        >
          Alive at {clock(pin, clockDigits(pin))}
        </button>
      )}
      <span class="push dim m2 hint">{hint}</span>
    </div>
  );
}

/* Paths of rows belong to the tree with or without folding. */
const toggleMine = (params: Params): void =>
  set({ mine: isMine(params) ? '0' : null, open: null, row: null });

const toggleMoment = (params: Params): void =>
  set(momentShown(params) === null ? { moment: '1', cost: 'bytes' } : { moment: null });

function TreeFoot({ direction, root }: { direction: Direction; root: Node | null }) {
  const n = root ? root.children.length + root.leftOut : 0;
  const what = direction === 'bottom_up' ? 'function' : 'outermost function';
  return (
    <Foot
      left={root ? plural(n, what) : ''}
      right={
        <>
          Right arrow opens a row, <kbd>E</kbd> opens the heaviest path
        </>
      }
    />
  );
}

/* ---- keys ---- */

function useTreeKeys(
  direction: Direction,
  params: Params,
  row: Row | null,
  data: TreeData,
  cost: CostId,
): void {
  const follow = useHeaviestPath(data, cost);
  const frame = row?.kind === 'node' ? row.node.frame : null;
  const withName = (act: (name: string) => void) => () => {
    const name = row?.kind === 'node' ? functionOf(row.node) : null;
    if (name !== null) act(name);
    else if (row?.node.folded) say('This row stands for several functions.');
    else say(frame ? 'This frame has no name.' : 'No row is selected.');
  };
  const copy = () => {
    if (!frame || row?.kind !== 'node' || !data.asked.data) return say('No row is selected.');
    const text = costLines(frame, row.node.cost, data.asked.data.total, !!params['base']);
    return void copyText(text, 'Name, location and costs');
  };
  useKeys({
    ...Object.fromEntries(COSTS.map((c, i) => [String(i + 1), () => sortBy(c.id, false)] as const)),
    ...(momentOf(params) === null ? {} : { '6': () => toggleMoment(address.value.params) }),
    m: () => toggleMine(address.value.params),
    b: () =>
      goPage(direction === 'bottom_up' ? 'topdown' : 'bottomup', { mine: params['mine'] ?? null }),
    e: () => follow(row?.node.path),
    o: withName((name) => set(onlyFunction(name))),
    x: withName((name) => set(notFunction(address.value.params, name))),
    y: copy,
  });
}

const sortBy = (cost: string, isAscending: boolean): void =>
  set({ cost, order: isAscending ? 'asc' : null });

/* Opens the heaviest path below a row (none: below the heaviest one), also where parts of it have to be
 * asked for: then it goes on when they are here. */
function useHeaviestPath(data: TreeData, cost: CostId): (path: string | undefined) => void {
  const [followed, setFollowed] = useState<string | null>(null);
  const { root, open } = data;
  useEffect(() => {
    const start = root && followed !== null ? findNode(root, followed) : null;
    if (!start) return;
    const path = heaviestPath(start, cost).filter((n) => n.path);
    const last = path[path.length - 1];
    const next = new Set([...open, ...pathAndParents(last?.path ?? '')]);
    if (next.size !== open.size) setQuietly({ open: formatOpen(next) });
    setFollowed(last && isUnknown(last) ? last.path : null);
  }, [root, followed]);
  return (path) => setFollowed(path ?? '');
}

/* ---- the table ---- */

const COLUMNS: readonly Column[] = [
  { id: 'function', title: 'Function' },
  ...COSTS.map((c) => ({ id: c.id, title: c.name, class: 'r', hint: c.hint, sort: c.id })),
];

function columnsFor(params: Params, clock: ClockText): readonly Column[] {
  const moment = momentShown(params);
  if (moment === null) return COLUMNS;
  const hint = `Bytes that are alive at ${clock(moment, clockDigits(moment))}`;
  return COLUMNS.map((c) => (c.id === 'bytes' ? { ...c, title: 'Alive then', hint } : c));
}

interface TableProps {
  direction: Direction;
  params: Params;
  rows: readonly Row[];
  at: number;
  data: TreeData;
  cost: CostId;
  isAscending: boolean;
}

function TreeTable(p: TableProps) {
  const { rows, data } = p;
  const isChange = !!p.params['base'];
  const whole = wholeOf(data, isChange);
  const openWith = (next: ReadonlySet<string>) => setQuietly({ open: formatOpen(next) });
  const toggle = (row: Row) => {
    if (row.kind === 'wait') return;
    if (row.kind === 'more' && data.errorAt(row.node.path)) data.again(row.node.path);
    else if (row.kind === 'more') openWith(withPath(data.open, row.path));
    else if (!hasChildren(row.node)) return;
    else openWith(row.isOpen ? withoutBranch(data.open, row.path) : withPath(data.open, row.path));
  };
  const choose = (row: Row | undefined, opensPanel: boolean) => {
    if (!row) return;
    if (opensPanel && row.kind === 'node') isDetailsOpen.set(true);
    setQuietly({ row: row.path, sel: row.kind === 'node' ? selectionOfNode(row.node) : null });
  };
  const onKey = (i: number, e: KeyboardEvent): boolean => {
    const row = rows[i];
    if (!row || !['ArrowRight', 'ArrowLeft'].includes(e.key)) return false;
    const isOpen = row.kind === 'node' && row.isOpen;
    const opens = e.key === 'ArrowRight';
    if (opens && isOpen) choose(rows[i + 1], false);
    else if (opens || isOpen) toggle(row);
    else choose(rows[row.parent], false);
    return true;
  };
  return (
    <Grid
      label={p.direction === 'bottom_up' ? 'Bottom-up' : 'Top-down'}
      class="trees"
      isTree
      isMain
      cost={p.cost}
      columns={columnsFor(p.params, useClock())}
      rows={data.root ? rows.length : SKELETON_ROWS}
      rowHeight={ROW_PX}
      rowKey={(i) => rows[i]?.path ?? i}
      rowProps={(i) => rowProps(rows[i], (row) => rowClick(row, toggle, choose))}
      cells={(i) => rowCells(rows[i], { data, whole, isChange, toggle })}
      sort={{ by: p.cost, isAscending: p.isAscending }}
      onSort={(s) => sortBy(s.by, s.isAscending)}
      selected={p.at}
      goTo={{ row: p.at, turn: p.params['row'] ?? p.params['sel'] }}
      onSelect={(i) => choose(rows[i], false)}
      onOpen={(i) => rows[i] && toggle(rows[i])}
      onKey={onKey}
      isStale={data.asked.isStale && data.root !== null}
    />
  );
}

const ROW_PX = 26;
const SKELETON_ROWS = 24; // while nothing is here

function rowClick(
  row: Row,
  toggle: (row: Row) => void,
  choose: (row: Row, opensPanel: boolean) => void,
): void {
  choose(row, true);
  if (row.kind === 'more') toggle(row);
}

/* A run of frames has a title, not the name of one function. */
const functionOf = (node: Node): string | null =>
  node.folded > 0 || !node.frame ? null : codeName(node.frame);

function selectionOfNode(node: Node): string | null {
  const name = functionOf(node);
  return name === null ? null : selectionText({ kind: 'fn', key: name });
}

/* What shares and bars are of: the filtered total, or in a comparison the largest change. */
function wholeOf(data: TreeData, isChange: boolean): CostValues {
  const { root } = data;
  const total = data.asked.data?.total ?? ZERO;
  if (!isChange || !root) return total;
  return Object.fromEntries(
    COSTS.map((c) => [c.field, largestChange(root, c.id)]),
  ) as unknown as CostValues;
}

const ZERO: CostValues = {
  peak_bytes: 0,
  leaked_bytes: 0,
  allocations: 0,
  temporary_count: 0,
  bytes: 0,
};

function rowProps(
  row: Row | undefined,
  onClick: (row: Row) => void,
): JSX.HTMLAttributes<HTMLDivElement> {
  if (!row) return {};
  const isParent = row.kind === 'node' && hasChildren(row.node);
  return {
    'aria-level': row.depth + 1,
    'aria-posinset': row.position,
    'aria-setsize': row.siblings,
    ...(isParent ? { 'aria-expanded': row.isOpen } : {}),
    onClick: () => onClick(row),
    onContextMenu: (e) =>
      openFunctionMenu(e, row.kind === 'node' && !row.node.folded ? row.node.frame : null),
  };
}

interface CellContext {
  data: TreeData;
  whole: CostValues;
  isChange: boolean;
  toggle: (row: Row) => void;
}

function rowCells(row: Row | undefined, c: CellContext) {
  if (!row || row.kind === 'wait') return null;
  const indent = { '--depth': row.depth };
  if (row.kind === 'more') {
    const error = c.data.errorAt(row.node.path);
    return (
      <span class="treecell more" role="gridcell" aria-colspan={COSTS.length + 1} style={indent}>
        <button type="button" class="link" tabIndex={-1}>
          {moreText(row.node, error)}
        </button>
      </span>
    );
  }
  return (
    <>
      <span class="treecell" role="gridcell" style={indent}>
        <Twist row={row} toggle={c.toggle} />
        {row.node.frame && <Sym frame={row.node.frame} />}
        {row.node.folded > 1 && (
          <span class="runs dim">· {join(count(row.node.folded))} frames</span>
        )}
      </span>
      {COSTS.map((k) => (
        <CostCell
          key={k.id}
          cost={k.id}
          value={costOf(row.node.cost, k.id)}
          total={costOf(c.whole, k.id)}
          isChange={c.isChange}
          hasShare={!c.isChange}
        />
      ))}
    </>
  );
}

function moreText(node: Node, error: string | null): string {
  if (error) return `${error} Try again`;
  const n = join(count(node.leftOut));
  return node.children.length ? `${n} more, each smaller than these` : `Show ${n}`;
}

function Twist({ row, toggle }: { row: NodeRow<FrameText>; toggle: (row: Row) => void }) {
  return (
    <button
      type="button"
      class={'twist' + (row.isOpen ? ' open' : '')}
      tabIndex={-1}
      aria-label={row.isOpen ? 'Close' : 'Open'}
      style={hasChildren(row.node) ? undefined : { visibility: 'hidden' }}
      onClick={(e) => {
        e.stopPropagation();
        toggle(row);
      }}
      onDblClick={(e) => e.stopPropagation()}
    >
      <Icon name="right" />
    </button>
  );
}
