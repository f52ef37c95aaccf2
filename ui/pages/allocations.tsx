/* Allocations: every single one, in a table of any length.
 *
 * Of the address: sort and order, sel (alloc:number, in the panel), row (index of the row with the
 * cursor). A click on the strip pins a moment and leads there, while rows are sorted by time.
 */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { AllocationRows, Summary } from '../api/types';
import {
  allocationColumns,
  allocationDigits,
  allocationSort,
  allocationSortParams,
} from '../model/allocation_columns';
import { columnClass, columnWidths, shownColumns } from '../model/columns';
import { momentOf, rangeOf } from '../model/filters';
import { parseAddressText } from '../model/find';
import { group } from '../model/format';
import { frameFull } from '../model/names';
import { useClock, useClockTitle } from '../state/clock';
import { isDetailsOpen, selectionOf } from '../state/details';
import { useGoTo } from '../state/go_to';
import { useKeys } from '../state/keys';
import { copyText } from '../state/overlay';
import { usePages } from '../state/pages';
import { useQuery } from '../state/query';
import { useRecording } from '../state/recordings';
import { address, hrefPage, set, setQuietly, useAddress } from '../state/router';
import { Signal, useSignal } from '../state/signal';
import { useThreads } from '../state/threads';
import { ColumnMenu, useChosenColumns } from '../widgets/column_menu';
import { FindField, Foot, Segments } from '../widgets/controls';
import { CulledNote } from '../widgets/culled_note';
import { openMenu, pointerBox } from '../widgets/floating';
import { Grid } from '../widgets/grid';
import { NoMatch } from '../widgets/no_match';
import { ErrorNote, RowsError, Waiting } from '../widgets/notes';
import { allocationItems, onlyStack, SHAPE, withFilter, type BlamedRow } from './allocation_parts';
import { allocationCells, type AllocationContext } from './allocations_row';
import { notSite } from './site_parts';

const TABLE = 'allocations';

function useAllocations() {
  const { params } = useAddress();
  const runNs = useRecording()?.duration_ns ?? 1;
  const sort = allocationSort(params);
  const summary = useQuery<Summary>('summary', {}, { isFiltered: false }).data;
  const hasAllocators = (summary?.allocators.length ?? 0) > 0;
  const all = allocationColumns(allocationDigits(runNs), hasAllocators);
  const columns = shownColumns(all, useChosenColumns(TABLE), sort.by);
  const firstRow = useRef(Number(params['row'] ?? 0) || 0).current;
  const rows = usePages<BlamedRow, AllocationRows>(
    'allocations',
    { sort_by: sort.by, order: sort.isAscending ? 'asc' : 'dsc', base: null },
    SHAPE,
    { firstRow },
  );
  return { sort, all, columns, rows, runNs };
}

type Allocations = ReturnType<typeof useAllocations>;

export function AllocationsPage() {
  const s = useAllocations();
  const view = useRef(new Signal<readonly [number, number]>([0, 0])).current;
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
      <Waiting asked={s.rows} what="Reading allocations" />
      <RowsError error={s.rows.error} again={s.rows.again} />
      {s.rows.count === 0 && !s.rows.isStale ? <NoMatch /> : <Table s={s} view={view} />}
      <AllocationsFoot s={s} view={view} />
    </>
  );
}

/* ---- above and below the table ---- */

const FATES = [
  { id: 'all', name: 'All' },
  { id: 'leaked', name: 'Never freed', hint: 'Not freed when the recording ended' },
  { id: 'temp', name: 'Temporary', hint: 'Freed before the same thread allocated again' },
] as const;
type Fate = (typeof FATES)[number]['id'];

function Toolbar({ s }: { s: Allocations }) {
  const a = useAddress();
  const { params } = a;
  const fate: Fate =
    params['lifetime'] === 'only_leaked'
      ? 'leaked'
      : params['temporary'] === 'yes'
        ? 'temp'
        : 'all';
  const chooseFate = (id: Fate) =>
    set({
      lifetime: id === 'leaked' ? 'only_leaked' : null,
      temporary: id === 'temp' ? 'yes' : null,
      row: null,
    });
  return (
    <div class="toolbar">
      <Segments label="Which allocations" options={FATES} value={fate} onChange={chooseFate} />
      <AddressField />
      <CulledNote />
      <span class="push dim wide hint">Group by</span>
      <div class="seg wide" role="group" aria-label="Group by">
        <button type="button" aria-pressed="true">
          Nothing
        </button>
        <a class="segl" href={hrefPage(a, 'sites')}>
          Call site
        </a>
      </div>
      <ColumnMenu table={TABLE} columns={s.all} fixed={['allocated', 'site']} />
    </div>
  );
}

/* Finds blocks that begin at an address; the address becomes a filter. The field shows what somebody
 * typed as long as it means the filter, so that nothing changes under the fingers. */
function AddressField() {
  const { params } = useAddress();
  const [typed, setTyped] = useState('');
  const [low, high] = [params['address_min'] ?? '', params['address_max'] ?? ''];
  const active = low === high ? low : '';
  const meant = typed.trim() ? parseAddressText(typed) : '';
  const find = (text: string) => {
    const at = text.trim() ? parseAddressText(text) : '';
    setTyped(text);
    if (at !== null) setQuietly({ address_min: at || null, address_max: at || null, row: null });
  };
  return (
    <FindField
      label="Address, e.g. 7f1a08c4e2a0"
      class="wide"
      value={meant === null || meant === active ? typed : active}
      isBad={meant === null}
      hit={meant === null ? 'not an address' : ''}
      onChange={find}
    />
  );
}

/* Rows on screen, first and last: the foot shows them, and nothing else is drawn for them. */
type View = Signal<readonly [number, number]>;

function AllocationsFoot({ s, view }: { s: Allocations; view: View }) {
  const [first, last] = useSignal(view);
  const n = s.rows.count;
  const left =
    n === null
      ? ''
      : n === 0
        ? 'No allocation'
        : `Row ${group(first + 1)} to ${group(Math.min(n, last + 1))} of ${group(n)}`;
  return (
    <Foot
      left={left}
      right={
        <>
          <kbd>J</kbd> <kbd>K</kbd> next, previous
          {s.sort.by === 'timestamp' && '; a click on the timeline goes to that time'}
        </>
      }
    />
  );
}

/* ---- the table ---- */

/* Index of the first row allocated after the pinned moment; null: not known, or not by time. */
function usePinnedRow(s: Allocations): number | null {
  const { params } = useAddress();
  const at = momentOf(params);
  const range = rangeOf(params);
  const to = at === null ? 0 : Math.min(at, range?.toNs ?? at);
  const asked = useQuery<AllocationRows>(
    'allocations',
    { to: `+${Math.round(to)}ns`, count: 0, base: null },
    { isReady: at !== null && s.sort.by === 'timestamp' },
  );
  if (at === null || !asked.data || asked.isStale || s.rows.count === null) return null;
  if (range && at < range.fromNs) return s.sort.isAscending ? 0 : s.rows.count - 1;
  const before = asked.data.total_count;
  return s.sort.isAscending ? before : s.rows.count - before;
}

/* The table follows the pinned moment when somebody pins one. */
function usePinnedGoTo(s: Allocations) {
  const { goTo, jump } = useGoTo(`${s.sort.by} ${s.sort.isAscending}`);
  const pin = useAddress().params['at'] ?? '';
  const pinned = usePinnedRow(s);
  const seen = useRef(pin);
  useEffect(() => {
    if (!pin) seen.current = '';
    if (pinned === null || seen.current === pin) return;
    seen.current = pin;
    jump(pinned);
  }, [pin, pinned]);
  return goTo;
}

/* The row with the cursor: that of the selection where it is loaded, else that of the address. A
 * cursor on a row that is still on its way selects it when it is there. */
function useCursor(s: Allocations) {
  const { params } = useAddress();
  const selection = selectionOf(params);
  const id = selection?.kind === 'alloc' ? Number(selection.key) : null;
  const [wanted, setWanted] = useState(-1);
  const found = id === null ? -1 : s.rows.find((r) => r.id === id);
  const stored = Number(params['row'] ?? -1);
  const cursor = wanted >= 0 ? wanted : found >= 0 ? found : id === null ? -1 : stored;

  const choose = (index: number) => {
    const row = s.rows.row(index);
    setWanted(row ? -1 : index);
    if (!row) return;
    isDetailsOpen.set(true);
    const changes = { sel: `alloc:${row.id}`, row: String(index) };
    if (id === null) set(changes);
    else setQuietly(changes);
  };
  const isHere = wanted >= 0 && s.rows.row(wanted) !== undefined;
  useEffect(() => {
    if (isHere) choose(wanted);
  }, [isHere, wanted]);
  return { cursor, choose };
}

function Table({ s, view }: { s: Allocations; view: View }) {
  const onView = useCallback((first: number, last: number) => view.set([first, last]), [view]);
  const recording = useRecording();
  const threads = useThreads();
  const { cursor, choose } = useCursor(s);
  const goTo = usePinnedGoTo(s);
  useAllocationKeys(s.rows.row(cursor));
  const context: AllocationContext = {
    columns: s.columns,
    sortedBy: s.sort.by,
    clock: useClock(),
    clockTitle: useClockTitle(),
    runNs: s.runNs,
    threads,
  };
  const menuOf = (row: BlamedRow, at: DOMRect, back: HTMLElement | null) => {
    if (recording) openMenu(allocationItems(recording.id, row, threads.tid(row.thread)), at, back);
  };
  return (
    <Grid
      isMain
      label="Allocations"
      class="allocs by-width"
      style={columnWidths(s.columns, s.sort.by)}
      columns={s.columns.map((c) => ({ ...c, class: columnClass(c, s.sort.by) }))}
      rows={s.rows.count ?? 0}
      rowHeight={26}
      rowProps={(i) => ({
        onContextMenu: (e) => {
          const row = s.rows.row(i);
          if (!row) return;
          e.preventDefault();
          menuOf(row, pointerBox(e), null);
        },
      })}
      cells={(i) => {
        const row = s.rows.row(i);
        return row ? allocationCells(context, row) : null;
      }}
      sort={s.sort}
      onSort={({ by, isAscending }) => set({ ...allocationSortParams(by, isAscending), row: null })}
      selected={cursor}
      onSelect={choose}
      onOpen={() => isDetailsOpen.set(true)}
      onKey={(i, e) => {
        const row = s.rows.row(i);
        if (!row || !(e.key === 'ContextMenu' || (e.key === 'F10' && e.shiftKey))) return false;
        const el = document.querySelector<HTMLElement>('.allocs .tr[aria-selected=true]');
        menuOf(
          row,
          el?.getBoundingClientRect() ?? new DOMRect(),
          el?.closest('.grid-body') ?? null,
        );
        return true;
      }}
      onShow={s.rows.show}
      onView={onView}
      goTo={goTo}
      isStale={s.rows.isStale}
    />
  );
}

/* O, X, Y: only this call site, not this one, copy. */
function useAllocationKeys(row: BlamedRow | undefined): void {
  useKeys(
    row
      ? {
          o: () => set(onlyStack(row.stack)),
          x: () => set(withFilter(notSite(address.value, row.stack))),
          y: () => void copyText(rowText(row), 'Allocation'),
        }
      : {},
  );
}

function rowText(r: BlamedRow): string {
  const fate = r.released_ns === undefined ? 'never freed' : `freed at ${r.released_ns} ns`;
  return [
    `${r.size} bytes at ${r.address}, ${r.usable} usable`,
    `allocated at ${r.at_ns} ns by ${r.kind}, ${fate}`,
    r.site ? frameFull(r.site) : '',
  ].join('\n');
}
