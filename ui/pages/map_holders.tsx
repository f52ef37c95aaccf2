/* Nearly empty pages, and the call sites whose blocks hold them. */
import type { Fragmentation, Holder } from '../api/types';
import { momentOf } from '../model/filters';
import { bytes, clockDigits, group, join, plural, share } from '../model/format';
import { useClock } from '../state/clock';
import { select, selectionOf } from '../state/details';
import { useQuery } from '../state/query';
import { useRecording } from '../state/recordings';
import { goPage, useAddress } from '../state/router';
import { Foot } from '../widgets/controls';
import { CostCell, Value } from '../widgets/figures';
import { Grid, type Column } from '../widgets/grid';
import { Sym } from '../widgets/names';
import { ErrorNote, Note, Waiting } from '../widgets/notes';
import type { MapTableProps } from './map';

const ROW_PX = 26;
const COUNT = 500;

const COLUMNS: readonly Column[] = [
  { id: 'site', title: 'Held by' },
  {
    id: 'held',
    title: 'Held',
    class: 'r',
    sort: 'held',
    hint: 'Unused bytes of nearly empty pages, in proportion to the blocks that lie there',
  },
  { id: 'pages', title: 'Pages', class: 'r m3', hint: 'Nearly empty pages with a block of it' },
  { id: 'blocks', title: 'Blocks', class: 'r m2', hint: 'Alive at the moment, in all pages' },
  { id: 'bytes', title: 'In use', class: 'r m2', hint: 'Usable bytes of these blocks' },
  {
    id: 'oldest',
    title: 'Oldest',
    class: 'r m3',
    hint: 'When the oldest block there was allocated',
  },
];

function useFragmentation() {
  const at = momentOf(useAddress().params);
  return useQuery<Fragmentation>('fragmentation', {
    at: at === null ? null : `+${Math.round(at)}ns`,
    count: COUNT,
  });
}

export function HoldersTable({ part }: MapTableProps) {
  const asked = useFragmentation();
  const { data } = asked;
  if (part === 'head') return data && <Totals f={data} />;
  if (asked.error)
    return (
      <div class="pad-note">
        <ErrorNote error={asked.error} again={asked.again} />
      </div>
    );
  if (!data) return <div class="pad-note" aria-busy="true" />;
  return (
    <>
      <Waiting asked={asked} what="Looking at pages" />
      {holdersOf(data).length === 0 ? (
        <div class="pad-note">
          <Note title="No page is nearly empty.">
            {data.pages
              ? `All ${plural(data.pages, 'page')} with blocks are at least a quarter full.`
              : 'No block that matches is alive at this moment.'}
          </Note>
        </div>
      ) : (
        <Table f={data} isStale={asked.isStale} />
      )}
    </>
  );
}

/* The server lists call sites without a block in a nearly empty page, too, after the others. */
const holdersOf = (f: Fragmentation): Holder[] => f.held_by.filter((h) => h.sparse_pages > 0);

function Totals({ f }: { f: Fragmentation }) {
  return (
    <span class="dim hint wide">
      {plural(f.sparse_pages, 'nearly empty page')} of {group(f.pages)}
      {f.sparse_pages > 0 && (
        <>
          , {join(bytes(f.sparse_held_bytes))} held for {join(bytes(f.sparse_used_bytes))} in use
        </>
      )}
    </span>
  );
}

function Table({ f, isStale }: { f: Fragmentation; isStale: boolean }) {
  const { params } = useAddress();
  const clock = useClock();
  const digits = clockDigits(useRecording()?.duration_ns ?? 1);
  const at = (ns: number) => clock(ns, digits);
  const rows = holdersOf(f);
  const chosen = selectionOf(params);
  const key = chosen?.kind === 'site' ? Number(chosen.key) : -1;
  const only = (h: Holder | undefined) =>
    h && goPage('allocations', { backtraces: String(h.backtrace_id), alive_at: `+${f.at_ns}ns` });
  return (
    <>
      <Grid
        label="Call sites that hold nearly empty pages"
        isMain
        class="holders"
        columns={COLUMNS}
        rows={rows.length}
        rowHeight={ROW_PX}
        isStale={isStale}
        sort={{ by: 'held', isAscending: false }}
        selected={rows.findIndex((h) => h.backtrace_id === key)}
        onSelect={(i) => {
          const h = rows[i];
          if (h) select({ kind: 'site', key: String(h.backtrace_id) });
        }}
        onOpen={(i) => only(rows[i])}
        cells={(i) => {
          const h = rows[i];
          return h ? holderCells(h, f, at) : null;
        }}
      />
      <Foot
        left={
          (rows.length === COUNT && f.total_count > COUNT ? 'the first ' : '') +
          `${plural(rows.length, 'call site')}, ` +
          `${share(f.sparse_held_bytes, f.pages * f.page_bytes) || '0 %'} of all pages is held`
        }
        right="Enter shows the blocks"
      />
    </>
  );
}

function holderCells(h: Holder, f: Fragmentation, at: (ns: number) => string) {
  return (
    <>
      <span role="gridcell">
        {h.blame ? <Sym frame={h.blame} /> : <span class="dim">no stack</span>}
      </span>
      <CostCell value={h.held_bytes} total={f.sparse_held_bytes} cost="peak" />
      <span role="gridcell" class="r m3">
        <Value value={h.sparse_pages} unit="count" />
      </span>
      <span role="gridcell" class="r m2">
        <Value value={h.blocks} unit="count" />
      </span>
      <span role="gridcell" class="r m2">
        <Value value={h.usable_bytes} unit="bytes" />
      </span>
      <span role="gridcell" class="r m3">
        {h.oldest_alloc_ns !== null && at(h.oldest_alloc_ns)}
      </span>
    </>
  );
}
