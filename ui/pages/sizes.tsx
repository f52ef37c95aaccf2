/* Sizes: how large requests are, and which call sites make those of one range.
 *
 * Of the address: cost, log (the scale), sel=size:MIN-MAX (the range; without one the table shows the
 * bucket with most of the cost), sort and order of the table, row (the row that has the cursor).
 */
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { GroupRow, GroupRows, Sizes as SizesAnswer } from '../api/types';
import { costKind, costOf, type CostId, type CostKind } from '../model/costs';
import { figure, join, plural, share } from '../model/format';
import {
  bucketsIn,
  cutToFilter,
  greatest,
  parseRange,
  rangeKey,
  rangeWords,
  sizeLabel,
  type SizeRange,
} from '../model/histogram';
import { frameKey, frameTitle } from '../model/names';
import { select, selectionOf } from '../state/details';
import { overlay } from '../state/overlay';
import { PAGE_ROWS, usePages } from '../state/pages';
import { useQuery } from '../state/query';
import { goPage, hrefPage, set, setQuietly, useAddress, useCost } from '../state/router';
import { CostSwitch, Foot, Segments } from '../widgets/controls';
import { CulledNote } from '../widgets/culled_note';
import { Value } from '../widgets/figures';
import { Grid, type Column } from '../widgets/grid';
import { Histogram, type HistogramBar } from '../widgets/histogram';
import { NoMatch } from '../widgets/no_match';
import { ErrorNote, Waiting } from '../widgets/notes';
import { secondCost, sizeCells } from './sizes_row';

const ROW_PX = 26;
const TOP = 6;
const FILLS = ['--a1', '--a2', '--a3', '--a4', '--a5', '--a6', '--a8'];
const WIDE_PX = 1100; // below, the panel would cover the table that it belongs to

export function Sizes() {
  const { params } = useAddress();
  const cost = useCost();
  const asked = useQuery<SizesAnswer>('sizes', { cost, top: TOP }, { isMain: true });
  const { data } = asked;
  const kind = costKind(cost);
  const range = chosenRange(params, data, cost);
  useFirstSelection(range, !!params['sel']);
  const isLog = params['log'] === '1';
  return (
    <>
      <div class="toolbar">
        <CostSwitch />
        <span class="sep" />
        <Segments
          label="Scale"
          class="wide"
          options={[
            { id: 'linear', name: 'Linear' },
            { id: 'log', name: 'Logarithmic' },
          ]}
          value={isLog ? 'log' : 'linear'}
          onChange={(id) => set({ log: id === 'log' ? '1' : null })}
        />
        <span class="push dim m3 hint">Requested bytes, powers of two</span>
        <CulledNote />
      </div>
      <Waiting asked={asked} what="Counting sizes" />
      {asked.error && (
        <div class="pad-note">
          <ErrorNote
            error={asked.error}
            again={asked.again}
            edit={() => overlay.set({ kind: 'filter' })}
          />
        </div>
      )}
      {!data && !asked.error && <div class="pad-note" aria-busy="true" />}
      {data && !asked.error && data.buckets.length === 0 && <NoMatch />}
      {data && !asked.error && data.buckets.length > 0 && (
        <>
          <Chart data={data} kind={kind} isLog={isLog} range={range} isStale={asked.isStale} />
          {range && <RangeTable data={data} kind={kind} range={range} />}
        </>
      )}
    </>
  );
}

/* What the address chose, or the bucket with most of the cost; whole buckets. */
function chosenRange(
  params: Readonly<Record<string, string>>,
  data: SizesAnswer | null,
  cost: CostId,
): SizeRange | null {
  const s = selectionOf(params);
  const chosen = s?.kind === 'size' ? parseRange(s.key) : null;
  if (chosen || !data) return chosen;
  const values = data.buckets.map((b) => costOf(b.cost, cost));
  const best = data.buckets[Math.max(0, greatest(values))];
  return best ? { min: best.min, max: best.max } : null;
}

/* In a wide window the panel opens with the page; once, so that closing it is respected. */
function useFirstSelection(range: SizeRange | null, hasSelection: boolean): void {
  const isDone = useRef(false);
  useEffect(() => {
    if (!range || isDone.current) return;
    isDone.current = true;
    if (!hasSelection && innerWidth >= WIDE_PX) setQuietly({ sel: `size:${rangeKey(range)}` });
  }, [range, hasSelection]);
}

interface ChartProps {
  data: SizesAnswer;
  kind: CostKind;
  isLog: boolean;
  range: SizeRange | null;
  isStale: boolean;
}

function Chart({ data, kind, isLog, range, isStale }: ChartProps) {
  const { buckets, sites } = data;
  const bars = useMemo(
    (): HistogramBar[] =>
      buckets.map((b) => ({
        label: sizeLabel(b.max),
        words: rangeWords(b),
        total: costOf(b.cost, kind.id),
        parts: b.parts,
      })),
    [buckets, kind],
  );
  const selected = range ? bucketsIn(range, buckets) : null;
  const onSelect = (bar: number, isWider: boolean) => {
    const [from, to] = isWider && selected ? selected : [bar, bar];
    const [first, last] = [buckets[Math.min(from, bar)], buckets[Math.max(to, bar)]];
    if (!first || !last) return;
    select({ kind: 'size', key: rangeKey({ min: first.min, max: last.max }) });
  };
  const names = sites.map((s) => (s.blame ? frameTitle(s.blame) : 'no stack'));
  return (
    <div class={'hist' + (isStale ? ' stale' : '')}>
      <div class={'keys' + (isLog ? ' unseen' : '')}>
        {[...names, 'other'].map((name, i) => (
          <span key={i}>
            <span class="cat" style={{ background: `var(${fillOf(i, sites.length)})` }} />
            {name}
          </span>
        ))}
      </div>
      <Histogram
        label={`${kind.name} by size of the request. Arrows choose a range, Shift widens it.`}
        bars={bars}
        fills={FILLS.slice(0, sites.length).concat('--a8')}
        unit={kind.unit}
        cost={kind.id}
        isLog={isLog}
        selected={selected}
        onSelect={onSelect}
        tip={(i) => barTip(bars[i], names, kind)}
      />
    </div>
  );
}

const fillOf = (i: number, sites: number): string => (i < sites ? (FILLS[i] ?? '--a8') : '--a8');

function barTip(bar: HistogramBar | undefined, names: readonly string[], kind: CostKind) {
  if (!bar) return null;
  const rest = bar.total - bar.parts.reduce((sum, v) => sum + v, 0);
  return (
    <>
      <b>{bar.words}</b>
      <div class="exact">
        <span>all</span>
        <span />
        <Value value={bar.total} unit={kind.unit} />
        <span />
        {[...bar.parts, rest].map((v, i) =>
          v > 0 ? (
            <>
              <span class="sym">
                <span class="cat" style={{ background: `var(${fillOf(i, bar.parts.length)})` }} />
                {names[i] ?? 'other'}
              </span>
              <span />
              <Value value={v} unit={kind.unit} />
              <span class="pc dim">{share(v, bar.total)}</span>
            </>
          ) : null,
        )}
      </div>
    </>
  );
}

/* ---- the call sites of the range ---- */

const SHAPE = {
  rows: (a: GroupRows): GroupRow[] => a.groups,
  count: (a: GroupRows): number => a.total_count,
};
const GRAPH_POINTS = 60;

function columnsOf(kind: CostKind): Column[] {
  const second = costKind(secondCost(kind.id));
  const ofRange = (k: CostKind) =>
    k.id === 'peak' ? 'Alive when blocks of these sizes took most' : k.hint;
  return [
    { id: 'site', title: 'Call site' },
    { id: 'cost', title: kind.name, class: 'r', sort: kind.field, hint: ofRange(kind) },
    { id: 'mean', title: 'Mean size', class: 'r', hint: 'Bytes requested per allocation' },
    { id: 'second', title: second.name, class: 'r', sort: second.field, hint: ofRange(second) },
    {
      id: 'life',
      title: 'Mean lifetime',
      class: 'r',
      hint: 'Of what was freed; the panel has the median of the range',
    },
    { id: 'graph', title: 'Alive over time', class: 'm2 gap' },
  ];
}

function useRows(range: SizeRange, kind: CostKind) {
  const { params } = useAddress();
  const bounds = cutToFilter(range, params);
  const second = costKind(secondCost(kind.id)).field;
  const by = params['sort'] === 'second' ? second : kind.field;
  const isAscending = params['order'] === 'asc';
  const query = {
    by: 'stack',
    sort_by: by,
    order: isAscending ? 'asc' : 'dsc',
    size_min: bounds.min,
    size_max: bounds.max,
  };
  const rows = usePages<GroupRow, GroupRows>('groups', query, SHAPE, { isMain: false });
  const [page, setPage] = useState(0);
  const { show } = rows;
  const onShow = useCallback(
    (first: number, last: number) => {
      show(first, last);
      setPage(Math.floor((first + last) / 2 / PAGE_ROWS));
    },
    [show],
  );
  /* Graphs cost the server a pass over all allocations, so rows are asked for without them, too. A part of the
   * allocations tells nothing about the graph of a single call site. */
  const graphs = useQuery<GroupRows>(
    'groups',
    { ...query, skip: page * PAGE_ROWS, count: PAGE_ROWS, graph: GRAPH_POINTS },
    { isExact: true },
  );
  const byStack = useMemo(() => new Map(graphs.data?.groups.map((g) => [g.key, g])), [graphs.data]);
  return { rows, onShow, byStack, bounds, sort: { by, isAscending } };
}

function RangeTable(p: { data: SizesAnswer; kind: CostKind; range: SizeRange }) {
  const { data, kind, range } = p;
  const a = useAddress();
  const { rows, onShow, byStack, bounds, sort } = useRows(range, kind);
  const fills = useMemo(
    () => new Map(data.sites.map((s, i) => [s.blame ? frameKey(s.blame) : '', FILLS[i] ?? '--a8'])),
    [data],
  );
  const total = (rows.first as GroupRows | null)?.total ?? null;
  const filter = { size_min: String(bounds.min), size_max: String(bounds.max) };
  const row = Number(a.params['row'] ?? -1);
  const open = (i: number) => {
    const r = rows.row(i);
    if (r) goPage('allocations', { ...filter, backtraces: String(r.key) });
  };
  return (
    <>
      <div class="toolbar range-head">
        <h1>{rangeWords(range)}</h1>
        <RangeFigure {...p} />
        <a class="btn push wide" href={hrefPage(a, 'allocations', filter)}>
          Show these allocations
        </a>
      </div>
      {rows.error && <ErrorNote error={rows.error} again={rows.again} />}
      {rows.count === 0 && !rows.error && (
        <p class="pad-note dim">No allocation has a size in this range.</p>
      )}
      {rows.count !== 0 && !rows.error && (
        <Grid
          isMain
          label="Call sites in this size range"
          class="sizes"
          columns={columnsOf(kind)}
          rows={rows.count ?? 12}
          rowHeight={ROW_PX}
          isStale={rows.isStale}
          sort={sort}
          onSort={(s) =>
            set({
              sort: s.by === kind.field ? null : 'second',
              order: s.isAscending ? 'asc' : null,
              row: null,
            })
          }
          onShow={onShow}
          selected={row}
          onSelect={(i) => setQuietly({ row: String(i) })}
          onOpen={open}
          cells={(i) => {
            const r = rows.row(i);
            if (!r || !total) return null;
            const fill = fills.get(r.blame ? frameKey(r.blame) : '') ?? '--a8';
            return sizeCells(r, byStack.get(r.key), { kind, total, fill });
          }}
        />
      )}
      <Foot
        left={rows.count === null ? '' : plural(rows.count, 'call site')}
        right={
          kind.id === 'peak'
            ? 'Peak in the table: alive when blocks of these sizes took most'
            : 'Enter shows the allocations of a call site'
        }
      />
    </>
  );
}

/* "36.9 M, 29.8 % of all allocations" */
function RangeFigure({
  data,
  kind,
  range,
}: {
  data: SizesAnswer;
  kind: CostKind;
  range: SizeRange;
}) {
  const at = bucketsIn(range, data.buckets);
  const values = data.buckets.map((b) => costOf(b.cost, kind.id));
  const sum = (list: number[]) => list.reduce((s, v) => s + v, 0);
  const mine = at ? sum(values.slice(at[0], at[1] + 1)) : 0;
  const of = share(mine, sum(values));
  const what = kind.id === 'peak' ? 'the peak' : `all ${kind.name.toLowerCase()}`;
  return (
    <span class="dim hint">
      {join(figure(mine, kind.unit))}
      {of && `, ${of} of ${what}`}
    </span>
  );
}
