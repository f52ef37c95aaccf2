/* Calls of mmap and its kin, mallopt and malloc_trim. A row opens in place and shows the stack. */
import type { FrameText, MapCall, MapCalls } from '../api/types';
import { clockDigits, group } from '../model/format';
import { useClock } from '../state/clock';
import { usePages, type Paged } from '../state/pages';
import { useRecording } from '../state/recordings';
import { set, setQuietly, useAddress } from '../state/router';
import { useStack } from '../state/stacks';
import { useThreads } from '../state/threads';
import { Foot, Segments } from '../widgets/controls';
import { Value } from '../widgets/figures';
import { Grid, type Column } from '../widgets/grid';
import { StackList, Sym } from '../widgets/names';
import { Banner, ErrorNote, Note } from '../widgets/notes';
import type { MapTableProps } from './map';

const ROW_PX = 26;
const KINDS = ['all', 'mmap', 'munmap', 'mremap', 'brk', 'mallopt', 'malloc_trim'] as const;

const COLUMNS: readonly Column[] = [
  { id: 'at', title: 'At', sort: 'time' },
  { id: 'call', title: 'Call' },
  { id: 'address', title: 'Address', class: 'm2' },
  { id: 'size', title: 'Size', class: 'r', sort: 'size' },
  { id: 'thread', title: 'Thread', class: 'gap m3' },
  { id: 'site', title: 'Called at' },
  { id: 'detail', title: 'Asked for', class: 'm1' },
];
const SHAPE = {
  rows: (a: MapCalls): MapCall[] => a.calls,
  count: (a: MapCalls): number => a.total_count,
};

function useCalls() {
  const { params } = useAddress();
  const kind = KINDS.find((k) => k === params['kind']) ?? 'all';
  const by = params['sort'] === 'size' ? 'size' : 'time';
  const isAscending = params['order'] ? params['order'] === 'asc' : by === 'time';
  const rows = usePages<MapCall, MapCalls>(
    'map_calls',
    { kind, sort_by: by, order: isAscending ? 'asc' : 'dsc' },
    SHAPE,
  );
  return { rows, kind, sort: { by, isAscending } };
}

export function MapCallsTable({ part }: MapTableProps) {
  const { rows, kind, sort } = useCalls();
  const answer = rows.first as MapCalls | null;
  if (part === 'head')
    return (
      <Segments
        label="Kind of call"
        class="push"
        options={KINDS.map((id) => ({ id, name: id === 'all' ? 'All' : id }))}
        value={kind}
        onChange={(id) => set({ kind: id === 'all' ? null : id, row: null, open: null })}
      />
    );
  if (rows.error)
    return (
      <div class="pad-note">
        <ErrorNote error={rows.error} again={rows.again} />
      </div>
    );
  const isMissing = answer?.gathered === false;
  if (rows.count === 0) return <NoCalls isMissing={isMissing} />;
  return (
    <>
      {isMissing && (
        <Banner kind="warn" mark="warn" title="Calls of mmap were not recorded.">
          Set <span class="code">MEMORY_PROFILER_GATHER_MMAP_CALLS=1</span> when you record.
        </Banner>
      )}
      <Table rows={rows} sort={sort} />
    </>
  );
}

function NoCalls({ isMissing }: { isMissing: boolean }) {
  return (
    <div class="pad-note">
      {isMissing ? (
        <Note title="Calls of mmap, munmap, mremap and brk were not recorded.">
          Record again with <span class="code">MEMORY_PROFILER_GATHER_MMAP_CALLS=1</span>. Calls of
          mallopt and malloc_trim are always recorded: none matches.
        </Note>
      ) : (
        <Note title="No such call matches.">
          Of the filters, time, thread, size, address and conditions on stacks count here.
        </Note>
      )}
    </div>
  );
}

function Table({
  rows,
  sort,
}: {
  rows: Paged<MapCall>;
  sort: { by: string; isAscending: boolean };
}) {
  const { params } = useAddress();
  const threads = useThreads();
  const clock = useClock();
  const digits = clockDigits(useRecording()?.duration_ns ?? 1);
  const at = (ns: number) => clock(ns, digits);
  const open = Number(params['open'] ?? -1);
  const chosen = Number(params['row'] ?? -1);
  const opened = open >= 0 ? rows.row(open) : undefined;
  const toggle = (i: number, to?: boolean) => {
    const isOpen = open === i;
    if (to === undefined || to !== isOpen) set({ open: isOpen ? null : String(i), row: String(i) });
  };
  return (
    <>
      <Grid
        label="Calls of mmap and the like"
        isMain
        class="mapcalls"
        isTree
        columns={COLUMNS}
        rows={rows.count ?? 12}
        rowHeight={ROW_PX}
        isStale={rows.isStale}
        sort={sort}
        onSort={(s) =>
          set({ sort: s.by, order: s.isAscending ? 'asc' : 'dsc', row: null, open: null })
        }
        onShow={rows.show}
        selected={chosen}
        onSelect={(i) => setQuietly({ row: String(i) })}
        onOpen={(i) => toggle(i)}
        onKey={(i, e) => {
          if (e.key !== 'ArrowRight' && e.key !== 'ArrowLeft') return false;
          toggle(i, e.key === 'ArrowRight');
          return true;
        }}
        rowProps={(i) => ({ 'aria-expanded': i === open })}
        openRow={opened ? open : -1}
        openContent={opened && <CallOpen call={opened} />}
        cells={(i) => {
          const c = rows.row(i);
          return c ? callCells(c, at, threads.name(c.thread)) : null;
        }}
      />
      <Foot
        left={rows.count === null ? '' : `${group(rows.count)} calls`}
        right="Enter shows the stack"
      />
    </>
  );
}

function CallOpen({ call }: { call: MapCall }) {
  const stack = useStack(call.stack);
  const known: FrameText[] = call.blame ? [call.blame] : [];
  return (
    <div class="site-open one">
      <div>
        {call.detail && <p class="dim">{call.detail}</p>}
        {call.stack === 0 ? (
          <p class="dim">The recorder took no stack here.</p>
        ) : (
          <StackList frames={stack.data?.frames ?? known} blame={call.blame} />
        )}
      </div>
    </div>
  );
}

function callCells(c: MapCall, at: (ns: number) => string, thread: string) {
  return (
    <>
      <span role="gridcell">{at(c.at_ns)}</span>
      <span role="gridcell" class="code">
        {c.kind}
      </span>
      <span role="gridcell" class="code m2">
        {c.address}
      </span>
      <span role="gridcell" class="r">
        {c.bytes !== null && <Value value={c.bytes} unit="bytes" />}
      </span>
      <span role="gridcell" class="gap m3">
        {thread}
      </span>
      <span role="gridcell">
        {c.blame ? <Sym frame={c.blame} /> : <span class="dim">no stack</span>}
      </span>
      <span role="gridcell" class="dim m1" title={c.detail}>
        {c.detail}
      </span>
    </>
  );
}
