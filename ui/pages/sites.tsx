/* Call sites: every stack that allocated, with its costs, its graph over time and its stack.
 *
 * Of the address: cost or sort and order (how rows are sorted), q (what is found), open (number of
 * the stack whose row is open; absent: the first row unless the panel is open, "none": no row), row
 * (index of the row that has the cursor). Rows come at once; graphs and some columns cost the server a
 * pass over all allocations: they are asked for separately, come late and fill in.
 */
import { useCallback, useRef } from 'preact/hooks';
import type { GroupRow, GroupRows, Peak } from '../api/types';
import { columnWidths, columnClass, shownColumns } from '../model/columns';
import { findRegex } from '../model/find';
import { hasFilter, rangeOf } from '../model/filters';
import { callSites, clockDigits, count, join, share } from '../model/format';
import { frameFull } from '../model/names';
import { costKind, costOf } from '../model/costs';
import {
  FACT_COLUMNS,
  SITE_COLUMNS,
  siteColumns,
  siteSort,
  sortParams,
} from '../model/site_columns';
import { useClock, useClockTitle } from '../state/clock';
import { isDetailsOpen, select, selectionOf } from '../state/details';
import { useGoTo } from '../state/go_to';
import { useKeys } from '../state/keys';
import { copyText } from '../state/overlay';
import { usePages } from '../state/pages';
import { useQuery } from '../state/query';
import { useRecording } from '../state/recordings';
import { address, set, setQuietly, useAddress, useCost } from '../state/router';
import { useSignal } from '../state/signal';
import { useThreads } from '../state/threads';
import { ColumnMenu, toggleColumn, useChosenColumns } from '../widgets/column_menu';
import { CostSwitch, FindField, Foot } from '../widgets/controls';
import { openMenu, pointerBox } from '../widgets/floating';
import { Grid, type Column } from '../widgets/grid';
import { NoMatch } from '../widgets/no_match';
import { ErrorNote, Note, RowsError, Waiting } from '../widgets/notes';
import {
  copyStack,
  notSite,
  onlySite,
  SiteActions,
  SiteFacts,
  siteItems,
  SiteStack,
} from './site_parts';
import { groupingOf, GroupingSwitch, SiteGroups } from './site_groups';
import { siteCells, type SiteContext } from './sites_row';

const TABLE = 'sites';
const GRAPH_POINTS = 120;
const SHAPE = {
  rows: (a: GroupRows): GroupRow[] => a.groups,
  count: (a: GroupRows): number => a.total_count,
};

/* Everything that the page asks the server. */
function useSites() {
  const { params } = useAddress();
  const cost = useCost();
  const chosen = useChosenColumns(TABLE);
  const sort = siteSort(params, cost);
  const digits = clockDigits(useRecording()?.duration_ns ?? 1);
  const columns = shownColumns(siteColumns(digits), chosen, sort.by);
  const hasGraphs = columns.some((c) => c.id === 'graph');
  const hasFacts = columns.some((c) => FACT_COLUMNS.includes(c.id));
  const find = findRegex(params['q'] ?? '');
  const range = rangeOf(params);
  const query = {
    by: 'stack',
    sort_by: sort.by,
    order: sort.isAscending ? 'asc' : 'dsc',
    find_regex: find,
    base: null, // stacks of two recordings are not compared
  };
  const firstRow = useRef(Number(params['row'] ?? 0) || 0).current;
  const rows = usePages<GroupRow, GroupRows>('groups', query, SHAPE, { firstRow });
  const late = usePages<GroupRow, GroupRows>(
    'groups',
    {
      ...query,
      graph: hasGraphs ? GRAPH_POINTS : null,
      graph_from: hasGraphs && range ? `+${range.fromNs}ns` : null,
      graph_to: hasGraphs && range ? `+${range.toNs}ns` : null,
      facts: hasFacts || null,
    },
    SHAPE,
    {
      firstRow,
      isReady: hasGraphs || hasFacts,
      isMain: false,
    },
  );
  /* the same question as that of the chips: answered once */
  const total = useQuery<GroupRows>('groups', { by: 'stack', count: 0, base: null });
  const peak = useQuery<Peak>('peak', { base: null }, { isReady: rows.count !== null }).data;
  return {
    sort,
    columns,
    digits,
    hasGraphs,
    find,
    rows,
    late,
    total: total.data?.total ?? null,
    peakNs: peak?.at_ns ?? null,
  };
}

type Sites = ReturnType<typeof useSites>;

/* The row that is open, by index; -1: none. A row that scrolled far away keeps its index. */
function useOpenRow(s: Sites, isPanelOpen: boolean): number {
  const { params } = useAddress();
  const known = useRef({ open: '', index: -1 });
  const open = params['open'] ?? '';
  if (open === 'none' || !s.rows.count) return -1;
  if (!open) return isPanelOpen ? -1 : 0;
  const found = s.rows.find((r) => r.key === Number(open));
  if (found >= 0) known.current = { open, index: found };
  return known.current.open === open ? known.current.index : -1;
}

export function SitesPage() {
  const grouping = groupingOf(useAddress().params['group']);
  return grouping ? <SiteGroups key={grouping} by={grouping} /> : <EachSite />;
}

function EachSite() {
  const s = useSites();
  const { params } = useAddress();
  const isPanelOpen = useSignal(isDetailsOpen) && selectionOf(params) !== null;
  const openRow = useOpenRow(s, isPanelOpen);
  if (s.rows.error && s.rows.count === null)
    return (
      <>
        <Toolbar s={s} />
        <div class="pad-note">
          <ErrorNote error={s.rows.error} again={s.rows.again} />
        </div>
      </>
    );
  return (
    <>
      <Toolbar s={s} />
      <Waiting asked={s.rows} what="Counting call sites" />
      <RowsError error={s.rows.error} again={s.rows.again} />
      {s.rows.count === 0 && !s.rows.isStale ? (
        <Nothing />
      ) : (
        <Table s={s} openRow={openRow} isPanelOpen={isPanelOpen} />
      )}
      <SitesFoot s={s} />
    </>
  );
}

function Toolbar({ s }: { s: Sites }) {
  const { params } = useAddress();
  const cost = useCost();
  const found = s.find ? ((s.rows.first as GroupRows | null)?.total ?? null) : null;
  const kind = costKind(cost);
  const hit =
    found && s.total && !s.rows.isStale
      ? `${join(count(s.rows.count ?? 0))}, ${share(costOf(found, kind.id), costOf(s.total, kind.id)) || '0 %'}`
      : '';
  return (
    <div class="toolbar">
      <GroupingSwitch value={null} />
      <CostSwitch clears={['sort', 'order', 'row']} />
      <button
        type="button"
        class="btn wide"
        aria-pressed={s.hasGraphs}
        title="A graph in each row: alive over time"
        onClick={() => toggleColumn(TABLE, SITE_COLUMNS, 'graph')}
      >
        Graphs
      </button>
      <ColumnMenu table={TABLE} columns={SITE_COLUMNS} fixed={['site', 'graph', 'menu']} />
      <FindField
        label="Function, file or /regex/"
        class="push"
        value={params['q'] ?? ''}
        hit={hit}
        isBad={s.rows.error?.answer.parameter === 'find_regex'}
        onChange={(q) => setQuietly({ q: q || null, row: null })}
      />
    </div>
  );
}

function Nothing() {
  const q = useAddress().params['q'];
  if (!q) return <NoMatch />;
  return (
    <div class="pad-note">
      <Note
        title={`No call site has “${q}”.`}
        actions={
          <button type="button" class="btn" onClick={() => setQuietly({ q: null })}>
            Clear the field
          </button>
        }
      >
        Neither a function nor a file of a stack contains it.
      </Note>
    </div>
  );
}

function SitesFoot({ s }: { s: Sites }) {
  const { params } = useAddress();
  const hint = hasFilter(params)
    ? 'Upper line: what matches the filter. Lower line: the whole recording.'
    : 'Lower line: share of the total.';
  const alone = params['base'] ? 'Figures of this recording alone: stacks are not compared.' : hint;
  return <Foot left={s.rows.count === null ? '' : callSites(s.rows.count)} right={alone} />;
}

/* ---- the table ---- */

function useSiteContext(s: Sites, toggle: (i: number) => void): SiteContext {
  const a = useAddress();
  const recording = useRecording();
  const threads = useThreads();
  return {
    address: a,
    columns: s.columns,
    sortedBy: s.sort.by,
    total: s.total,
    peakNs: s.peakNs,
    isFiltered: hasFilter(a.params),
    clock: useClock(),
    clockTitle: useClockTitle(),
    digits: s.digits,
    late: (row, index) => {
      const late = s.late.row(index);
      return late?.key === row.key ? late : undefined;
    },
    threadName: threads.name,
    onToggle: toggle,
    onMenu: (index, button) => {
      const row = s.rows.row(index);
      if (row && recording)
        openMenu(siteItems(recording.id, row.key), button.getBoundingClientRect(), button);
    },
  };
}

interface TableProps {
  s: Sites;
  openRow: number;
  isPanelOpen: boolean; // a click shows a row there instead of opening it in place
}

function Table({ s, openRow, isPanelOpen }: TableProps) {
  const recording = useRecording();
  const cursor = useCursor(s, openRow);
  const keyOf = (index: number) => s.rows.row(index)?.key;

  const toggle = (index: number) => {
    const key = keyOf(index);
    if (key !== undefined)
      set({ open: index === openRow ? 'none' : String(key), row: String(index) });
  };
  const moveCursor = (index: number) => {
    const key = keyOf(index);
    setQuietly({ row: String(index) });
    if (isPanelOpen && key !== undefined) select({ kind: 'site', key: String(key) });
  };
  const context = useSiteContext(s, toggle);
  useSiteKeys(s, cursor);

  const openKey = openRow >= 0 ? s.rows.row(openRow) : undefined;
  const heads: Column[] = s.columns.map((c) => ({
    ...c,
    class: columnClass(c, s.sort.by),
  }));
  const { show: showRows } = s.rows;
  const { show: showLate } = s.late;
  const onShow = useCallback(
    (first: number, last: number) => {
      showRows(first, last);
      showLate(first, last);
    },
    [showRows, showLate],
  );
  const { goTo } = useGoTo(`${s.sort.by} ${s.sort.isAscending} ${s.find}`);
  return (
    <Grid
      isMain
      label="Call sites"
      class="sites by-width"
      style={columnWidths(s.columns, s.sort.by)}
      columns={heads}
      rows={s.rows.count ?? 0}
      rowHeight={44}
      rowClass="two site"
      rowProps={(i) => ({
        onClick: () => (isPanelOpen ? moveCursor(i) : toggle(i)),
        onDblClick: () => isPanelOpen && toggle(i), // without a panel the click did it
        onContextMenu: (e) => {
          const row = s.rows.row(i);
          if (!row || !recording || isText(e.target)) return;
          e.preventDefault();
          openMenu(siteItems(recording.id, row.key), pointerBox(e), null);
        },
      })}
      cells={(i) => {
        const row = s.rows.row(i);
        return row ? siteCells(context, row, i, i === openRow) : null;
      }}
      sort={s.sort}
      onSort={({ by, isAscending }) => set({ ...sortParams(by, isAscending), row: null })}
      selected={cursor}
      onSelect={moveCursor}
      onOpen={toggle}
      onKey={(i, e) => onRowKey(e, i, openRow, toggle)}
      onShow={onShow}
      goTo={goTo}
      openRow={openRow}
      openContent={
        openKey && (
          <OpenSite
            key={openKey.key}
            row={openKey}
            graphRow={
              s.hasGraphs && !s.late.error ? (context.late(openKey, openRow) ?? null) : undefined
            }
          />
        )
      }
      isStale={s.rows.isStale}
    />
  );
}

/* The row with the cursor: that of the address, else the one in the panel, else the open one. */
function useCursor(s: Sites, openRow: number): number {
  const { params } = useAddress();
  if (params['row'] !== undefined) return Number(params['row']);
  const selection = selectionOf(params);
  if (selection?.kind !== 'site') return openRow;
  return s.rows.find((r) => r.key === Number(selection.key));
}

/* A right click on a link is the browser's. */
const isText = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('a') !== null;

function onRowKey(
  e: KeyboardEvent,
  row: number,
  openRow: number,
  toggle: (row: number) => void,
): boolean {
  const isOpen = row === openRow;
  if ((e.key === 'ArrowRight' && !isOpen) || (e.key === 'ArrowLeft' && isOpen)) toggle(row);
  else if (e.key === 'ContextMenu' || (e.key === 'F10' && e.shiftKey))
    document.querySelector<HTMLElement>('.tr[aria-selected=true] .menu-cell button')?.click();
  else return false;
  return true;
}

/* O, X, Y: only this, not this, copy; of the row with the cursor. */
function useSiteKeys(s: Sites, cursor: number): void {
  const recording = useRecording();
  const row = s.rows.row(cursor);
  useKeys(
    row && recording
      ? {
          o: () => set(onlySite(row.key)),
          x: () => set(notSite(address.value, row.key)),
          y: () =>
            void (row.blame
              ? copyText(siteLine(row), 'Call site')
              : copyStack(recording.id, row.key)),
        }
      : {},
  );
}

/* Name, location and costs on lines of their own, for the clipboard. */
function siteLine(row: GroupRow): string {
  const { cost } = row;
  return [
    row.blame ? frameFull(row.blame) : '',
    `leaked ${cost.leaked_bytes} bytes, at the peak ${cost.peak_bytes} bytes`,
    `${cost.allocations} allocations, ${cost.temporary_count} temporary, ${cost.bytes} bytes in all`,
  ].join('\n');
}

/* The open row: its stack at the left, facts at the right. */
function OpenSite({ row, graphRow }: { row: GroupRow; graphRow: GroupRow | null | undefined }) {
  const cost = useCost();
  return (
    <div class="site-open">
      <div>
        <SiteStack stack={row.key} blame={row.blame} cost={cost} most={12} />
      </div>
      <div class="side">
        <SiteActions stack={row.key} />
        <SiteFacts stack={row.key} row={row} graphRow={graphRow} />
      </div>
    </div>
  );
}
