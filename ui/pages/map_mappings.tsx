/* The table of mappings. */
import type { Mapping, Mappings } from '../api/types';
import { clockDigits, exact, group } from '../model/format';
import { baseName } from '../model/names';
import { useClock } from '../state/clock';
import { select, selectionOf } from '../state/details';
import { usePages, type Paged } from '../state/pages';
import { useRecording } from '../state/recordings';
import { set, useAddress } from '../state/router';
import { Foot } from '../widgets/controls';
import { Value } from '../widgets/figures';
import { Grid, type Column } from '../widgets/grid';
import { ErrorNote, Note } from '../widgets/notes';
import { mappingKey } from './details_map';
import type { MapTableProps } from './map';

const ROW_PX = 26;
const RSS_HINT = 'Resident memory, at the last look of the recorder that says it';
const PEAK_HINT =
  'The most that was resident at any look of the recorder that says it: at least so much';
const NO_RSS_HINT = 'Not known: no look of the recorder says it of this mapping alone';
const CALLS_HINT = 'Known where the call was recorded: MEMORY_PROFILER_GATHER_MMAP_CALLS=1';

const COLUMNS: readonly Column[] = [
  { id: 'address', title: 'Mapping', sort: 'address' },
  {
    id: 'perms',
    title: 'Perms',
    class: 'm3',
    sort: 'perms',
    hint: 'Read, write, execute; private or shared',
  },
  { id: 'size', title: 'Size', sort: 'size' },
  { id: 'rss', title: 'RSS', sort: 'rss', hint: RSS_HINT },
  { id: 'peak', title: 'Peak RSS', sort: 'peak_rss', hint: PEAK_HINT },
  { id: 'made', title: 'Made at', class: 'r m2', sort: 'made', hint: CALLS_HINT },
  { id: 'removed', title: 'Removed at', class: 'r m2', sort: 'removed', hint: CALLS_HINT },
  { id: 'name', title: 'Name', class: 'gap', sort: 'name' },
];
/* Of the three sizes, the one that the table is sorted by stays where it is narrow. */
const sizeClass = (id: string, by: string): string => {
  if (by === 'peak_rss') return { size: 'r m3', rss: 'r m1', peak: 'r' }[id] ?? '';
  if (by === 'rss') return { size: 'r m3', rss: 'r', peak: 'r m1' }[id] ?? '';
  return { size: 'r', rss: 'r m3', peak: 'r m1' }[id] ?? '';
};

/* Which columns the recording can fill; the head says why others are missing. */
interface Known {
  hasRss: boolean;
  hasTimes: boolean; // when mappings were made and removed
}

const knownOf = (m: Mappings | null): Known => ({
  hasRss: typeof m?.resident_ns === 'number',
  hasTimes: hasCalls(m) || !!m?.maps.some((x) => x.removed),
});

const isShown = (id: string, known: Known): boolean =>
  id === 'rss' || id === 'peak'
    ? known.hasRss
    : id === 'made' || id === 'removed'
      ? known.hasTimes
      : true;

const hasCalls = (m: Mappings | null): boolean => !!m?.source.includes('calls');

const SORTS: readonly string[] = COLUMNS.flatMap((c) => (c.sort ? [c.sort] : []));
const SHAPE = {
  rows: (a: Mappings): Mapping[] => a.maps,
  count: (a: Mappings): number => a.total_count,
};

function useMappings() {
  const { params } = useAddress();
  const by = SORTS.includes(params['sort'] ?? '') ? (params['sort'] ?? '') : 'address';
  /* addresses and names begin with the lowest, sizes and times with the greatest */
  const isUp = by === 'address' || by === 'name' || by === 'perms';
  const isAscending = params['order'] ? params['order'] === 'asc' : isUp;
  const rows = usePages<Mapping, Mappings>(
    'maps',
    { sort_by: by, order: isAscending ? 'asc' : 'dsc' },
    SHAPE,
  );
  return { rows, sort: { by, isAscending } };
}

export function MappingsTable({ part }: MapTableProps) {
  const { rows, sort } = useMappings();
  const answer = rows.first as Mappings | null;
  if (part === 'head') return <span class="dim hint wide">{answer && sourceWords(answer)}</span>;
  if (rows.error)
    return (
      <div class="pad-note">
        <ErrorNote error={rows.error} again={rows.again} />
      </div>
    );
  if (rows.count === 0)
    return (
      <div class="pad-note">
        <Note title="No mapping matches.">
          Of the filters, size and address count for mappings. A recording of another tool may hold
          none at all.
        </Note>
      </div>
    );
  return <Table rows={rows} sort={sort} known={knownOf(answer)} />;
}

function sourceWords(m: Mappings): string {
  const rss = m.resident_ns === null ? 'The RSS of single mappings is not recorded. ' : '';
  return hasCalls(m)
    ? rss
    : `${rss}When they were made and removed is not recorded: set MEMORY_PROFILER_GATHER_MMAP_CALLS=1`;
}

interface TableProps {
  rows: Paged<Mapping>;
  sort: { by: string; isAscending: boolean };
  known: Known;
}

function Table({ rows, sort, known }: TableProps) {
  const recording = useRecording();
  const { params } = useAddress();
  const clock = useClock();
  const digits = clockDigits(recording?.duration_ns ?? 1);
  const at = (ns: number) => clock(ns, digits);
  const chosen = selectionOf(params);
  const n = rows.count ?? 12;
  const columns = COLUMNS.filter((c) => isShown(c.id, known)).map((c) => ({
    ...c,
    class: c.class ?? sizeClass(c.id, sort.by),
  }));
  let selected = -1;
  for (let i = 0; chosen?.kind === 'map' && selected < 0 && i < n; i++) {
    const m = rows.row(i);
    if (m && mappingKey(m) === chosen.key) selected = i;
  }
  return (
    <>
      <Grid
        label="Mappings"
        isMain
        class={`maps${known.hasRss ? '' : ' no-rss'}${known.hasTimes ? '' : ' no-times'}`}
        columns={columns}
        rows={n}
        rowHeight={ROW_PX}
        isStale={rows.isStale}
        sort={sort}
        onSort={(s) => set({ sort: s.by, order: s.isAscending ? 'asc' : 'dsc' })}
        onShow={rows.show}
        selected={selected}
        onSelect={(i) => {
          const m = rows.row(i);
          if (m) select({ kind: 'map', key: mappingKey(m) });
        }}
        cells={(i) => {
          const m = rows.row(i);
          return m ? mappingCells(m, at, known, sort.by, recording?.file ?? '') : null;
        }}
      />
      <Foot
        left={rows.count === null ? '' : `${group(rows.count)} mappings`}
        right="As the recorder saw them last; with recorded calls also those that were removed"
      />
    </>
  );
}

/* The recorder's library and the file it writes are no memory of the program. */
const isRecorders = (m: Mapping, file: string): boolean =>
  (file !== '' && baseName(m.name) === file) || baseName(m.name).startsWith('libmemory_profiler');

function mappingCells(
  m: Mapping,
  at: (ns: number) => string,
  known: Known,
  by: string,
  file: string,
) {
  const moment = (ns: number | null, other: string, hint: string) => (
    <span role="gridcell" class="r m2" title={ns === null ? hint : undefined}>
      {ns === null ? <span class="dim">{other}</span> : at(ns)}
    </span>
  );
  const rss = (value: number | null, id: string) => (
    <span
      role="gridcell"
      class={sizeClass(id, by)}
      title={value === null ? NO_RSS_HINT : exact(value, 'bytes')}
    >
      {value !== null && <Value value={value} unit="bytes" />}
    </span>
  );
  return (
    <>
      <span role="gridcell" class="code">
        {m.address}
      </span>
      <span role="gridcell" class="code m3">
        {m.perms}
      </span>
      <span role="gridcell" class={sizeClass('size', by)}>
        <Value value={m.size} unit="bytes" />
      </span>
      {known.hasRss && rss(m.rss_bytes, 'rss')}
      {known.hasRss && rss(m.peak_rss_bytes, 'peak')}
      {known.hasTimes && moment(m.made_ns, '', CALLS_HINT)}
      {known.hasTimes &&
        moment(
          m.removed_ns,
          m.removed ? 'before the end' : '',
          m.removed ? 'Gone at the last look' : CALLS_HINT,
        )}
      <span role="gridcell" class="gap" title={m.name}>
        {m.name ? baseName(m.name) : <span class="dim">anonymous</span>}
        {isRecorders(m, file) && <span class="dim"> the recorder’s own</span>}
        {m.name.includes('/') && <span class="dim path"> {m.name}</span>}
      </span>
    </>
  );
}
