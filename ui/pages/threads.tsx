/* Threads: what each one allocates, and who frees whose blocks.
 *
 * Of the address: sort and order of the table, m (what the matrix shows: count or bytes). A thread's
 * name, and a cell of the matrix, set the filter "thread" (its id).
 */
import { useMemo } from 'preact/hooks';
import type { GroupRows, ThreadMatrix, Threads as ThreadsAnswer } from '../api/types';
import { costKind, costOf, type CostId } from '../model/costs';
import { hasFilter } from '../model/filters';
import { group, plural, share } from '../model/format';
import { sortRows, threadRows, type ThreadRow, type ThreadSort } from '../model/thread_rows';
import { useRowHeight } from '../state/density';
import { overlay } from '../state/overlay';
import { useQuery } from '../state/query';
import { hrefPage, set, setQuietly, useAddress } from '../state/router';
import { useThreads, type ThreadNames } from '../state/threads';
import { Foot, Segments } from '../widgets/controls';
import { CostCell, Value } from '../widgets/figures';
import { Menu } from '../widgets/floating';
import { Grid, type Column } from '../widgets/grid';
import { Icon } from '../widgets/icons';
import { NoMatch } from '../widgets/no_match';
import { ErrorNote, Waiting } from '../widgets/notes';
import { Matrix } from './threads_matrix';
import type { Measure } from '../model/thread_matrix';
import type { Address, Params } from '../model/address';

const ROW_PX = 26;
const HEAD_PX = 30;
const MATRIX_LINES = 12;
const MAX_THREADS = 5000; // that the table loads; the foot says so when there are more

export const COLUMN_COSTS = ['allocs', 'bytes', 'peak', 'leaked', 'temp'] as const;

const COLUMNS: readonly Column[] = [
  { id: 'thread', title: 'Thread', sort: 'name' },
  ...COLUMN_COSTS.map((id) => ({
    id,
    title: costKind(id).name,
    class: `r ${{ allocs: 'm3', bytes: 'm2', peak: 'm3', leaked: 'm3', temp: 'm2' }[id]}`,
    sort: id as ThreadSort,
    hint: costKind(id).hint,
  })),
  {
    id: 'others',
    title: 'Freed by others',
    class: 'r',
    sort: 'others',
    hint: 'Allocations of this thread that another thread freed; the share is of all it allocated',
  },
];

const SORTS: readonly string[] = ['name', 'others', ...COLUMN_COSTS];
const sortOf = (params: Params): ThreadSort =>
  (SORTS.includes(params['sort'] ?? '') ? params['sort'] : 'others') as ThreadSort;

/* The class of a column: narrow tables keep the one that they are sorted by, and "Freed by others" goes
 * where that one would. */
function classOf(c: Column, by: ThreadSort): string {
  if (c.id === by) return 'r';
  const sorted = c.id === 'others' ? COLUMNS.find((x) => x.id === by)?.class : undefined;
  return sorted ?? c.class ?? '';
}

/* Where the heads of the other columns are out of sight. */
const NarrowSort = ({ by }: { by: ThreadSort }) => (
  <span class="only-narrow push">
    <Menu
      label="Sort by"
      class="btn"
      button={
        <>
          Sort by <Icon name="caret" />
        </>
      }
      items={() =>
        COLUMNS.map((c) => ({
          label: c.title,
          isChecked: c.sort === by,
          act: () => set({ sort: c.sort === 'others' ? null : (c.sort ?? null), order: null }),
        }))
      }
    />
  </span>
);

export function Threads() {
  const a = useAddress();
  const names = useThreads();
  const groups = useQuery<GroupRows>(
    'groups',
    { by: 'thread', count: MAX_THREADS },
    { isMain: true },
  );
  const measure: Measure = a.params['m'] === 'bytes' ? 'bytes' : 'count';
  const matrix = useQuery<ThreadMatrix>('thread_matrix', { top: MATRIX_LINES });
  const lines = matrix.data?.[measure === 'bytes' ? 'by_bytes' : 'by_count'];
  const all = useQuery<ThreadsAnswer>('threads', {}, { isFiltered: false });
  const freed = matrix.data?.freed ?? null;
  const rows = useMemo(
    () =>
      groups.data && freed && all.data
        ? threadRows(
            groups.data.groups,
            freed,
            hasFilter(a.params) ? [] : all.data.threads.map((t) => t.index),
          )
        : null,
    [groups.data, freed, all.data, a.params],
  );
  const error = groups.error ?? matrix.error ?? all.error;
  return (
    <>
      <div class="toolbar">
        <h1>Threads</h1>
        {rows && <span class="dim hint">{plural(rows.length, 'thread')}</span>}
        <span class="push dim hint wide">A click on a name shows that thread alone</span>
        <NarrowSort by={sortOf(a.params)} />
      </div>
      <Waiting asked={groups.since ? groups : matrix} what="Counting threads" />
      {error && (
        <div class="pad-note">
          <ErrorNote
            error={error}
            again={groups.error ? groups.again : matrix.again}
            edit={() => overlay.set({ kind: 'filter' })}
          />
        </div>
      )}
      {!rows && !error && <div class="pad-note" aria-busy="true" />}
      {rows && !error && rows.length === 0 && <NoMatch />}
      {rows && groups.data && lines && !error && rows.length > 0 && (
        <div class="threads-page">
          <ThreadTable rows={rows} data={groups.data} names={names} isStale={groups.isStale} />
          <section class="matrix-part" aria-label="Who frees whose">
            <div class="toolbar">
              <h2>Who frees whose</h2>
              <Segments
                label="Figures of the matrix"
                options={[
                  { id: 'count', name: 'Blocks' },
                  { id: 'bytes', name: 'Bytes' },
                ]}
                value={measure}
                onChange={(id) => set({ m: id === 'bytes' ? id : null })}
              />
            </div>
            <Matrix data={lines} measure={measure} names={names} isStale={matrix.isStale} />
          </section>
          <ThreadsFoot rows={rows} data={groups.data} />
        </div>
      )}
    </>
  );
}

interface TableProps {
  rows: readonly ThreadRow[];
  data: GroupRows;
  names: ThreadNames;
  isStale: boolean;
}

function ThreadTable({ rows, data, names, isStale }: TableProps) {
  const a = useAddress();
  const by = sortOf(a.params);
  const isAscending = a.params['order'] === 'asc';
  const sorted = useMemo(
    () => sortRows(rows, by, isAscending, names.name),
    [rows, by, isAscending, names.name],
  );
  const rowPx = useRowHeight(ROW_PX);
  const chosen = Number(a.params['row'] ?? -1);
  const only = (r: ThreadRow | undefined) => {
    const tid = r && names.tid(r.index);
    if (tid) set({ thread: String(tid), row: null });
  };
  return (
    <Grid
      isMain
      label="Threads"
      class="threads"
      style={{ 'max-height': `${HEAD_PX + sorted.length * rowPx + 12}px` }}
      columns={COLUMNS.map((c) => ({ ...c, class: classOf(c, by) }))}
      rows={sorted.length}
      rowHeight={ROW_PX}
      isStale={isStale}
      sort={{ by, isAscending }}
      onSort={(s) =>
        set({ sort: s.by === 'others' ? null : s.by, order: s.isAscending ? 'asc' : null })
      }
      selected={chosen}
      onSelect={(i) => setQuietly({ row: String(i) })}
      onOpen={(i) => only(sorted[i])}
      onKey={(i, e) => {
        if (e.key !== 'o') return false;
        only(sorted[i]);
        return true;
      }}
      cells={(i) => {
        const r = sorted[i];
        return r ? threadCells(r, data, names, a, () => only(r), by) : null;
      }}
    />
  );
}

function ThreadsFoot({ rows, data }: { rows: readonly ThreadRow[]; data: GroupRows }) {
  const left = data.total_count - data.groups.length;
  return (
    <Foot
      left={
        plural(rows.length, 'thread') +
        (left > 0 ? `; ${group(left)} more with fewer bytes are not shown` : '')
      }
      right="Enter or O: only this thread"
    />
  );
}

/* Where the figures of a column are explained. */
const PAGE_OF = {
  allocs: 'allocations',
  bytes: 'sites',
  peak: 'flame',
  leaked: 'sites',
  temp: 'sites',
} as const;

function threadCells(
  r: ThreadRow,
  data: GroupRows,
  names: ThreadNames,
  a: Address,
  only: () => void,
  by: ThreadSort,
) {
  const classes = Object.fromEntries(COLUMNS.map((c) => [c.id, classOf(c, by)]));
  const tid = names.tid(r.index);
  const label = names.name(r.index) || String(tid ?? '');
  // threads of one name are called by number and name; here the number has a place of its own
  const name = label.startsWith(`${tid} `) ? label.slice(`${tid} `.length) : label;
  const values: Record<CostId, number> = {
    allocs: r.cost?.allocations ?? 0,
    bytes: r.cost?.bytes ?? 0,
    peak: r.cost?.peak_bytes ?? 0,
    leaked: r.cost?.leaked_bytes ?? 0,
    temp: r.cost?.temporary_count ?? 0,
  };
  return (
    <>
      <span role="gridcell" class="named">
        <button
          type="button"
          class="link"
          title={`Only thread ${tid ?? r.index}`}
          onClick={(e) => {
            e.stopPropagation();
            only();
          }}
        >
          {name}
        </button>
        {tid !== null && name !== String(tid) && <span class="dim tid">{tid}</span>}
      </span>
      {COLUMN_COSTS.map((id) => (
        <FigureLink
          key={id}
          class={classes[id] ?? 'r'}
          href={values[id] && tid ? linkTo(a, id, tid) : null}
        >
          <CostCell value={values[id]} total={costOf(data.total, id)} cost={id} isBare class="in" />
        </FigureLink>
      ))}
      <span role="gridcell" class={classes['others'] ?? 'r'}>
        <span class={`cost c-allocs in${r.others.count ? '' : ' zero'}`} style={{ '--p': r.share }}>
          <Value value={r.others.count} unit="count" />
          <span class="pc">{share(r.share, 100)}</span>
        </span>
      </span>
    </>
  );
}

const linkTo = (a: Address, id: CostId, tid: number): string =>
  hrefPage(a, PAGE_OF[id], { cost: id, thread: String(tid) });

function FigureLink(p: { class: string; href: string | null; children: preact.ComponentChildren }) {
  return (
    <span role="gridcell" class={p.class}>
      {p.href ? (
        <a href={p.href} tabIndex={-1} onClick={(e) => e.stopPropagation()}>
          {p.children}
        </a>
      ) : (
        p.children
      )}
    </span>
  );
}
