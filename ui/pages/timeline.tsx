/* Timeline: four charts under one crosshair, in total or by function, package or thread, and what grew
 * between the two ends of the chosen range. */
import { useMemo } from 'preact/hooks';
import type { Buckets, Growth, GrowthRow, Samples, Summary } from '../api/types';
import { standsAbove } from '../model/chart';
import { chartSpan, chartWindow, rangeOf, untimedFilter } from '../model/filters';
import {
  bytes,
  change,
  clockDigits,
  count,
  duration,
  group,
  join,
  plural,
  type Unit,
} from '../model/format';
import { codeName, frameTitle } from '../model/names';
import { valueAt } from '../model/strip';
import { useBaseBuckets } from '../state/base_line';
import { useClock } from '../state/clock';
import { select } from '../state/details';
import { useQuery } from '../state/query';
import { hrefPage, set, useAddress } from '../state/router';
import { useSignal } from '../state/signal';
import { useThreads } from '../state/threads';
import { Foot, Segments } from '../widgets/controls';
import { Num, Value } from '../widgets/figures';
import { Grid, type Column } from '../widgets/grid';
import { ErrorNote, Note, Waiting } from '../widgets/notes';
import { Sparkline } from '../widgets/sparkline';
import { Sym } from '../widgets/names';
import { crosshairNs } from '../widgets/strip';
import { SaveChart } from '../widgets/save_chart';
import { TimeChart, type ChartLine, type ChartSeries } from '../widgets/time_chart';
import { openFunctionMenu } from './function_menu';

type By = 'none' | 'function' | 'package' | 'thread';

const BY_WORDS: readonly { id: By; name: string }[] = [
  { id: 'none', name: 'Total' },
  { id: 'function', name: 'By function' },
  { id: 'package', name: 'By package' },
  { id: 'thread', name: 'By thread' },
];

interface ChartKind {
  id: 'bytes' | 'count' | 'allocations' | 'temporary';
  title: string;
  unit: Unit;
  isRate: boolean;
  fill: string;
  line: string;
  total: (b: Buckets) => number[];
}

const CHARTS: readonly ChartKind[] = [
  {
    id: 'bytes',
    title: 'Heap',
    unit: 'bytes',
    isRate: false,
    fill: '--f-peak',
    line: '--c-peak',
    total: (b) => b.max_bytes,
  },
  {
    id: 'count',
    title: 'Live blocks',
    unit: 'count',
    isRate: false,
    fill: '--f-peak',
    line: '--c-peak',
    total: (b) => b.max_count,
  },
  {
    id: 'allocations',
    title: 'Allocations per second',
    unit: 'count',
    isRate: true,
    fill: '--f-allocs',
    line: '--c-allocs',
    total: (b) => b.allocations,
  },
  {
    id: 'temporary',
    title: 'Temporary per second',
    unit: 'count',
    isRate: true,
    fill: '--f-temp',
    line: '--c-temp',
    total: (b) => b.temporary,
  },
];

const POINTS = 400;
const RATE_POINTS = 100; // a rate over too short a time is a needle
/* How many series are stacked below "other". More than seven repeat the colours: multiples of seven, so that
 * two neighbours differ. */
const STACKED = ['3', '7', '14', '28'] as const;
type Stacked = (typeof STACKED)[number];
const STACKED_WORDS = STACKED.map((id) => ({ id, name: id }));

const stackedOf = (text: string | undefined): Stacked => STACKED.find((n) => n === text) ?? '7';

export function Timeline() {
  const { params } = useAddress();
  const by = BY_WORDS.find((b) => b.id === params['by'])?.id ?? 'none';
  const summary = useQuery<Summary>('summary', {}, { isFiltered: false });
  const s = summary.data;
  const range = rangeOf(params);
  if (!s) return <div class="pad-note" aria-busy="true" />;
  return (
    <>
      <div class="toolbar">
        <Segments
          label="Charts"
          options={BY_WORDS}
          value={by}
          onChange={(id) => set({ by: id === 'none' ? null : id })}
        />
        {by !== 'none' && (
          <>
            <span class="dim">Stacked</span>
            <Segments
              label={`${by[0]?.toUpperCase()}${by.slice(1)}s stacked in each chart`}
              options={STACKED_WORDS}
              value={stackedOf(params['top'])}
              onChange={(n) => set({ top: n === '7' ? null : n })}
            />
          </>
        )}
        <Moment runNs={s.duration_ns} />
        <span class="push dim hint wide">Drag over a chart to choose a range for all pages</span>
      </div>
      <div class={'tl' + (range ? ' has-table' : '')}>
        <div class="tl-charts">
          {CHARTS.map((kind) => (
            <Chart key={kind.id} kind={kind} by={by} summary={s} />
          ))}
        </div>
        {range && <GrowthTable runNs={s.duration_ns} by={by === 'none' ? 'function' : by} />}
      </div>
    </>
  );
}

function Moment({ runNs }: { runNs: number }) {
  const at = useSignal(crosshairNs);
  const clock = useClock();
  if (at === null) return <span class="dim hint" />;
  return <span class="hint">{clock(at, clockDigits(runNs))}</span>;
}

function Chart({ kind, by, summary }: { kind: ChartKind; by: By; summary: Summary }) {
  const { params } = useAddress();
  const asked = useQuery<Buckets>(
    'timeline',
    {
      ...untimedFilter(params),
      ...chartWindow(params, summary.duration_ns),
      buckets: kind.isRate ? RATE_POINTS : POINTS,
      round: params['base'] ? null : true, // a base is drawn with the same points
      ...(by === 'none' ? {} : { by, series: kind.id, top: stackedOf(params['top']) }),
    },
    { isFiltered: false, isMain: kind.id === 'bytes' },
  );
  const samples = useQuery<Samples>(
    'samples',
    {},
    { isFiltered: false, isReady: kind.id === 'bytes' },
  );
  const { data } = asked;
  const { name: nameOf } = useThreads(by === 'thread');
  const series = useMemo(
    () => (data ? seriesOf(kind, data, by, nameOf) : []),
    [data, kind, by, nameOf],
  );
  const base = useBaseBuckets({
    ...untimedFilter(params),
    ...chartWindow(params, summary.duration_ns),
    buckets: kind.isRate ? RATE_POINTS : POINTS,
  });
  const baseLine = useMemo(
    () =>
      base && {
        name: 'Base',
        at: base.at,
        values: seriesOf(kind, base.buckets, 'none', nameOf)[0]?.values ?? [],
      },
    [base, kind, nameOf],
  );
  const rss = kind.id === 'bytes' &&
    samples.data && { name: 'RSS', at: samples.data.at_ns, values: samples.data.rss_bytes };
  const frees = useMemo(
    () => (data && kind.id === 'allocations' && by === 'none' ? freesOf(data) : null),
    [data, kind, by],
  );
  const hasPeak = kind.id === 'bytes' && by === 'none';
  return (
    <section class="card tl-card">
      <header>
        <h2>{kind.title}</h2>
        {data && (
          <Legend
            kind={kind}
            data={data}
            series={series}
            by={by}
            base={baseLine}
            hasRss={!!rss}
            frees={frees}
          />
        )}
        {data && <SaveChart title={kind.title} />}
      </header>
      <Waiting asked={asked} what={`Counting ${kind.title.toLowerCase()}`} />
      <div class={'chartbox' + (asked.isStale ? ' stale' : '')}>
        {asked.error && <ErrorNote error={asked.error} again={asked.again} />}
        {data && (
          <TimeChart
            label={`${kind.title} over time${by === 'none' ? '' : `, by ${by}`}`}
            fromNs={data.from_ns}
            span={chartSpan(params, summary.duration_ns)}
            bucketNs={data.bucket_ns}
            runNs={summary.duration_ns}
            series={series}
            unit={kind.unit}
            line={baseLine ?? frees ?? (rss || null)}
            top={by !== 'none' && !kind.isRate ? kind.total(data) : null}
            peak={hasPeak ? peakOf(data) : null}
            hasLabels={by !== 'none'}
            crosshair={crosshairNs}
          />
        )}
      </div>
    </section>
  );
}

/* Frees per second, beside the allocations: where the gap is, memory grows. */
function freesOf(b: Buckets): ChartLine {
  return {
    name: 'Frees',
    at: b.releases.map((_, i) => b.from_ns + (i + 0.5) * b.bucket_ns),
    values: b.releases.map((v) => (v * 1e9) / b.bucket_ns),
  };
}

/* The highest bucket; its value is exact, its moment is that of the bucket. */
function peakOf(b: Buckets): { ns: number; value: number } {
  let best = 0;
  b.max_bytes.forEach((v, i) => {
    if (v > (b.max_bytes[best] ?? 0)) best = i;
  });
  return { ns: b.from_ns + (best + 0.5) * b.bucket_ns, value: b.max_bytes[best] ?? 0 };
}

/* Series that stand for no group. */
const OTHERS: Readonly<Record<string, string>> = { culled: 'left out (culled)' };

/* What a row or an area without a function is called; of threads several may have the name it comes with. */
const labelOf = (
  of: { key: number | null; name: string | null },
  by: By,
  nameOf: (index: number) => string,
): string => {
  if (of.key === null) return OTHERS[of.name ?? ''] ?? of.name ?? 'not known';
  return (by === 'thread' && nameOf(of.key)) || (of.name ?? 'not known');
};

function seriesOf(
  kind: ChartKind,
  b: Buckets,
  by: By,
  nameOf: (index: number) => string,
): ChartSeries[] {
  const perSecond = kind.isRate ? 1e9 / b.bucket_ns : 1;
  const rate = (values: readonly number[]) => values.map((v) => v * perSecond);
  if (by === 'none' || !b.series)
    return [{ name: kind.title, values: rate(kind.total(b)), fill: kind.fill, line: kind.line }];
  return b.series.map((s, i) => ({
    name: s.blame ? frameTitle(s.blame) : labelOf(s, by, nameOf),
    values: rate(s.values),
    fill: s.key === null ? (s.name === 'culled' ? '--f-temp' : '--a8') : `--a${(i % 7) + 1}`,
  }));
}

/* Values under the crosshair. */
interface LegendProps {
  kind: ChartKind;
  data: Buckets;
  series: ChartSeries[];
  by: By;
  base: ChartLine | null;
  hasRss: boolean;
  frees: ChartLine | null;
}

/* What the points are. Without groups they are the largest value at any moment; the sum of the largest
 * values of groups would be no value at any moment. */
function pointWords(p: LegendProps): string {
  const span = duration(p.data.bucket_ns);
  const what = p.kind.isRate
    ? `mean of each ${span}`
    : p.by === 'none'
      ? `largest in each ${span}`
      : `at the end of each ${span}`;
  const hasTop = p.by !== 'none' && !p.kind.isRate && standsAbove(p.kind.total(p.data), p.series);
  return [
    what,
    hasTop ? 'line: the largest' : '',
    p.base
      ? 'dashed: the base'
      : p.frees
        ? 'dashed: frees per second'
        : p.hasRss
          ? 'dashed: RSS'
          : '',
  ]
    .filter(Boolean)
    .join('; ');
}

function Legend(p: LegendProps) {
  const at = useSignal(crosshairNs);
  const n = p.data.max_bytes.length;
  const i = at === null ? -1 : Math.floor((at - p.data.from_ns) / p.data.bucket_ns);
  if (i < 0 || i >= n) return <span class="tl-legend dim">{pointWords(p)}</span>;
  const write = (v: number) => join(p.kind.unit === 'bytes' ? bytes(v) : count(v));
  return (
    <span class="tl-legend">
      {/* of groups: the names at the right edge carry the values */}
      <span>
        {p.by !== 'none' && <span class="dim">all </span>}
        {write(p.series.reduce((sum, s) => sum + (s.values[i] ?? 0), 0))}
      </span>
      {p.base && i < p.base.at.length && (
        <span class="dim">base {write(p.base.values[i] ?? 0)}</span>
      )}
      {p.frees && !p.base && <span class="dim">frees {write(p.frees.values[i] ?? 0)}</span>}
      {p.kind.id === 'bytes' && p.by === 'none' && !p.base && <RssAt at={at ?? 0} />}
    </span>
  );
}

function RssAt({ at }: { at: number }) {
  const { data } = useQuery<Samples>('samples', {}, { isFiltered: false });
  const rss = data ? valueAt(data.at_ns, data.rss_bytes, at) : null;
  if (rss === null) return null;
  return <span class="dim">RSS {join(bytes(rss))}</span>;
}

const functionOf = (r: GrowthRow | undefined): string | null =>
  r?.blame ? codeName(r.blame) : null;

/* ---- what grew ---- */

const GROWTH_COLUMNS: readonly Column[] = [
  { id: 'function', title: 'Function' },
  { id: 'from', title: 'At start', class: 'r m3' },
  { id: 'to', title: 'At end', class: 'r m3' },
  {
    id: 'change',
    title: 'Change',
    class: 'r',
    sort: 'change',
    hint: 'Alive at the end minus alive at the start',
  },
  { id: 'blocks', title: 'Blocks', class: 'r m2', hint: 'Change of the number of live blocks' },
  { id: 'graph', title: 'Alive in the range', class: 'pad m2' },
];
const GROUP_TITLES: Record<GrowthBy, string> = {
  function: 'Function',
  package: 'Package',
  thread: 'Thread',
};
const GROWTH_ROWS = 100;
const ROW_PX = 26;

type GrowthBy = Exclude<By, 'none'>;

function GrowthTable({ runNs, by }: { runNs: number; by: GrowthBy }) {
  const a = useAddress();
  const range = rangeOf(a.params);
  const threads = useThreads(by === 'thread');
  const isAscending = a.params['order'] === 'asc';
  const asked = useQuery<Growth>(
    'growth',
    {
      ...untimedFilter(a.params),
      ...chartWindow(a.params, runNs),
      by,
      count: GROWTH_ROWS,
      order: isAscending ? 'asc' : 'dsc',
    },
    { isFiltered: false, isReady: range !== null },
  );
  const { data } = asked;
  if (asked.error) return <ErrorNote error={asked.error} again={asked.again} />;
  if (!data) return <div class="tl-table" aria-busy="true" />;
  const row = (i: number): GrowthRow | undefined => data.rows[i];
  return (
    <section class="tl-table" aria-label="What grew">
      <div class="toolbar">
        <h2>What grew</h2>
        <span class="dim hint">
          {join(bytes(data.from_bytes))} to {join(bytes(data.to_bytes))},{' '}
          {join(change(data.to_bytes - data.from_bytes, 'bytes'))} in {plural(data.total_count, by)}
        </span>
      </div>
      {data.rows.length === 0 ? (
        <div class="pad-note">
          <Note title="Nothing was alive at either end of the range." />
        </div>
      ) : (
        <Grid
          label="What grew between the ends of the range"
          class="growth"
          columns={GROWTH_COLUMNS.map((c, i) => (i ? c : { ...c, title: GROUP_TITLES[by] }))}
          rows={data.rows.length}
          rowHeight={ROW_PX}
          isStale={asked.isStale}
          sort={{ by: 'change', isAscending }}
          onSort={(s) => set({ order: s.isAscending ? 'asc' : null })}
          onOpen={(i) => {
            const name = functionOf(row(i));
            if (name) location.hash = hrefPage(a, 'flame', { sel: `fn:${name}` });
          }}
          onSelect={(i) => {
            const name = functionOf(row(i));
            if (name) select({ kind: 'fn', key: name });
          }}
          selected={data.rows.findIndex((r) => a.params['sel'] === `fn:${functionOf(r)}`)}
          rowProps={(i) => ({ onContextMenu: (e) => openFunctionMenu(e, row(i)?.blame ?? null) })}
          cells={(i) => growthCells(row(i), (r) => labelOf(r, by, threads.name))}
        />
      )}
      <Foot
        left={`${group(Math.min(GROWTH_ROWS, data.total_count))} of ${plural(data.total_count, by)}`}
        right="Alive at the end of the range minus alive at its start"
      />
    </section>
  );
}

function growthCells(r: GrowthRow | undefined, label: (r: GrowthRow) => string) {
  if (!r) return null;
  return (
    <>
      <span role="gridcell">
        {r.blame ? <Sym frame={r.blame} /> : <span class="dim">{label(r)}</span>}
      </span>
      <span role="gridcell" class="r m3">
        <Value value={r.from_bytes} unit="bytes" />
      </span>
      <span role="gridcell" class="r m3">
        <Value value={r.to_bytes} unit="bytes" />
      </span>
      <span role="gridcell" class={'r' + (r.change_bytes > 0 ? ' grew' : '')}>
        <Num value={change(r.change_bytes, 'bytes')} />
      </span>
      <span role="gridcell" class="r m2">
        <Num value={change(r.to_count - r.from_count, 'count')} />
      </span>
      <span role="gridcell" class="pad m2 graph">
        <Sparkline alive={r.timeline} />
      </span>
    </>
  );
}
