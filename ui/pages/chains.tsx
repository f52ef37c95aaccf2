/* Realloc chains: call sites whose blocks grow by realloc, what that copies, and what to do.
 *
 * Of the address: sort and order, open (number of the stack whose row is open), row (the row that has
 * the cursor).
 */
import { useMemo } from 'preact/hooks';
import type { Chains as ChainsAnswer, ChainSite } from '../api/types';
import { advice, chainFilter } from '../model/chains';
import { hasFilter } from '../model/filters';
import { bytes, join, plural } from '../model/format';
import { frameTitle } from '../model/names';
import { overlay } from '../state/overlay';
import { usePages } from '../state/pages';
import { goPage, set, setQuietly, useAddress } from '../state/router';
import { Foot } from '../widgets/controls';
import { CostCell, Value } from '../widgets/figures';
import { Grid, type Column } from '../widgets/grid';
import { Icon } from '../widgets/icons';
import { Sym } from '../widgets/names';
import { ErrorNote, Note } from '../widgets/notes';
import { ChainOpen } from './chains_open';

const ROW_PX = 44;
const COLUMNS: readonly Column[] = [
  { id: 'site', title: 'Call site', hint: 'Where the first block of the chain is allocated' },
  { id: 'chains', title: 'Chains', class: 'r m3', sort: 'chains' },
  {
    id: 'longest',
    title: 'Longest',
    class: 'r m2',
    sort: 'longest',
    hint: 'Allocations of the longest chain',
  },
  {
    id: 'sizes',
    title: 'First → last size',
    class: 'r m3',
    sort: 'max_last_bytes',
    hint: 'Means; sorts by the largest last size',
  },
  {
    id: 'copied',
    title: 'Bytes copied',
    class: 'r',
    sort: 'copied_bytes',
    hint: 'By reallocs that moved the block; what the kernel moved by remapping is not copied',
  },
  { id: 'advice', title: 'Advice', class: 'gap m1', hint: 'Had the first block been so large' },
];
const SORTS: readonly string[] = COLUMNS.flatMap((c) => (c.sort ? [c.sort] : []));
const SHAPE = {
  rows: (a: ChainsAnswer): ChainSite[] => a.rows,
  count: (a: ChainsAnswer): number => a.total_count,
};

export function Chains() {
  const { params } = useAddress();
  const by = SORTS.includes(params['sort'] ?? '') ? (params['sort'] ?? '') : 'copied_bytes';
  const isAscending = params['order'] === 'asc';
  const rows = usePages<ChainSite, ChainsAnswer>(
    'chains',
    { sort_by: by, order: isAscending ? 'asc' : 'dsc' },
    SHAPE,
  );
  const total = rows.first as ChainsAnswer | null;
  return (
    <>
      <div class="toolbar">
        <h1>Realloc chains</h1>
        {total && (
          <span class="dim hint">
            {plural(total.total_chains, 'chain')}, {plural(total.total_reallocations, 'realloc')},{' '}
            {join(bytes(total.total_copied_bytes))} copied
          </span>
        )}
        <span class="push dim hint wide">Filters look at the first allocation of a chain</span>
      </div>
      {rows.error && (
        <div class="pad-note">
          <ErrorNote
            error={rows.error}
            again={rows.again}
            edit={() => overlay.set({ kind: 'filter' })}
          />
        </div>
      )}
      {rows.count === null && !rows.error && <div class="pad-note" aria-busy="true" />}
      {rows.count === 0 && !rows.error && <NoChains />}
      {!!rows.count && !rows.error && (
        <ChainTable rows={rows} total={total} sort={{ by, isAscending }} />
      )}
    </>
  );
}

function NoChains() {
  const { params } = useAddress();
  const isFiltered = hasFilter(params);
  return (
    <div class="pad-note">
      <Note
        title={
          isFiltered
            ? 'No realloc chain begins with an allocation that matches.'
            : 'No realloc chains.'
        }
      >
        {isFiltered
          ? 'Remove a filter above to see more.'
          : 'No block was ever resized, so nothing was copied for that.'}
      </Note>
    </div>
  );
}

interface TableProps {
  rows: ReturnType<typeof usePages<ChainSite, ChainsAnswer>>;
  total: ChainsAnswer | null;
  sort: { by: string; isAscending: boolean };
}

function ChainTable({ rows, total, sort }: TableProps) {
  const { params } = useAddress();
  const open = Number(params['open'] ?? -1);
  const chosen = Number(params['row'] ?? -1);
  const n = rows.count ?? 0;
  const openRow = useMemo(() => {
    for (let i = 0; i < n; i++) if (rows.row(i)?.stack === open) return i;
    return -1;
  }, [rows.row, n, open]);
  const opened = openRow >= 0 ? rows.row(openRow) : undefined;
  const toggle = (i: number, to?: boolean) => {
    const r = rows.row(i);
    if (!r) return;
    const isOpen = r.stack === open;
    if (to === undefined || to !== isOpen)
      set({ open: isOpen ? null : String(r.stack), row: String(i) });
  };
  return (
    <>
      <Grid
        isMain
        label="Realloc chains by call site"
        class="chains"
        isTree
        rowClass="two site"
        columns={COLUMNS}
        rows={n}
        rowHeight={ROW_PX}
        isStale={rows.isStale}
        sort={sort}
        onSort={(s) =>
          set({
            sort: s.by === 'copied_bytes' ? null : s.by,
            order: s.isAscending ? 'asc' : null,
            row: null,
          })
        }
        onShow={rows.show}
        selected={chosen}
        onSelect={(i) => setQuietly({ row: String(i) })}
        onOpen={(i) => toggle(i)}
        onKey={(i, e) => {
          if (e.key === 'ArrowRight') toggle(i, true);
          else if (e.key === 'ArrowLeft') toggle(i, false);
          else if (e.key === 'o') openAllocations(rows.row(i));
          else return false;
          return true;
        }}
        rowProps={(i) => ({
          'aria-expanded': rows.row(i)?.stack === open,
          onClick: () => toggle(i),
          onDblClick: () => {}, // the clicks did it
        })}
        openRow={openRow}
        openContent={opened && <ChainOpen site={opened} />}
        cells={(i) => chainCells(rows.row(i), total, open, () => toggle(i))}
      />
      <Foot left={plural(n, 'call site')} right="→ opens a row, O shows its allocations" />
    </>
  );
}

const openAllocations = (r: ChainSite | undefined) =>
  r && goPage('allocations', chainFilter(r.stack));

function chainCells(
  r: ChainSite | undefined,
  total: ChainsAnswer | null,
  open: number,
  toggle: () => void,
) {
  if (!r) return null;
  const via = r.callers.slice(0, 2).map(frameTitle).join(' ← ');
  const words = advice(r);
  return (
    <>
      <span role="gridcell" class="treecell">
        <button
          type="button"
          class={'twist' + (r.stack === open ? ' open' : '')}
          aria-label={r.stack === open ? 'Close this row' : 'Open this row'}
          tabIndex={-1}
          onClick={(e) => {
            e.stopPropagation();
            toggle();
          }}
        >
          <Icon name="right" />
        </button>
        <span class="two-l">
          {r.blame ? <Sym frame={r.blame} /> : <span class="dim">no stack</span>}
          <span class="dim via">
            {words ? <b>{words}</b> : null} {via}
          </span>
        </span>
      </span>
      <span role="gridcell" class="r m3">
        <Value value={r.chains} unit="count" />
      </span>
      <span role="gridcell" class="r m2">
        <Value value={r.longest} unit="count" />
      </span>
      <span role="gridcell" class="r m3">
        <Value value={r.first_bytes} unit="bytes" flow /> →{' '}
        <Value value={r.last_bytes} unit="bytes" flow />
      </span>
      <CostCell value={r.copied_bytes} total={total?.total_copied_bytes ?? 0} cost="bytes" />
      <span role="gridcell" class="gap m1" title={words}>
        {words || (
          <span class="dim">{r.moved ? 'reserving saves nothing' : 'nothing was copied'}</span>
        )}
      </span>
    </>
  );
}
