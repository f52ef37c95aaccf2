/* Overview: what a person needs in ten seconds. Every figure is a link to the view that explains it. */
import type { ComponentChildren } from 'preact';
import type { Buckets, GroupRow, GroupRows, Health, Samples, Summary } from '../api/types';
import { isExported } from '../api/client';
import { COSTS, costKind, costOf, type CostId, type CostValues } from '../model/costs';
import { allAllocations } from '../model/culled';
import {
  bytes,
  change,
  clockDigits,
  count,
  figure,
  join,
  share,
  type Figure,
} from '../model/format';
import {
  askedSpanNs,
  chartSpan,
  chartWindow,
  hasFilter,
  rangeOf,
  untimedFilter,
} from '../model/filters';
import { codeName } from '../model/names';
import { stateOf } from '../model/recording';
import type { PageId } from '../model/address';
import { useBaseBuckets } from '../state/base_line';
import { useClock } from '../state/clock';
import { usePageRequest } from '../state/page_request';
import { useApiUrl, useQuery, type Asked } from '../state/query';
import { useRecording } from '../state/recordings';
import { isDetailsOpen } from '../state/details';
import { hasPage, hrefPage, set, useAddress } from '../state/router';
import { CostCell, Num } from '../widgets/figures';
import { ErrorNote, Waiting } from '../widgets/notes';
import { Sym } from '../widgets/names';
import { Segments } from '../widgets/controls';
import { crosshairNs } from '../widgets/strip';
import { TimeChart } from '../widgets/time_chart';
import { HealthList } from '../widgets/health';
import { NoMatch } from '../widgets/no_match';
import { FindingCards, GrewLink, useWhat } from './overview_findings';

export function Overview() {
  const recording = useRecording();
  const isKilled = !!recording && stateOf(recording).word === 'Killed';
  const { params } = useAddress();
  /* what matches are the totals of the lists: the summary need not count it once more */
  const isCounted = !!params['base'] || !hasFilter(params);
  const summary = useQuery<Summary>('summary', {}, { isFiltered: isCounted });
  const lists = useFunctions();
  const main = isCounted ? summary : lists;
  usePageRequest(useApiUrl().urlOf('summary'));
  if (main.error)
    return (
      <div class="pad-note">
        <ErrorNote error={main.error} again={main.again} />
      </div>
    );
  const matched = isCounted ? summary.data?.after : lists.data?.total;
  if (matched?.allocations === 0 && !summary.data?.before?.allocations && !main.isStale)
    return <NoMatch />;
  return (
    <div class={'ov page-bg' + (main.isStale ? ' stale' : '')}>
      <Waiting asked={main} what="Counting allocations" />
      <FindingCards />
      <Tiles
        summary={isCounted || lists.data ? summary.data : null}
        matched={isCounted ? null : (lists.data?.total ?? null)}
      />
      <section class="ov-mid">
        <MemoryCard summary={summary.data} />
        <HealthCard />
      </section>
      <section class="ov-top">
        <TopList
          title={isKilled ? 'Alive when it was killed' : 'Leaked'}
          cost="leaked"
          summary={summary.data}
        />
        <TopList title="Peak" cost="peak" summary={summary.data} />
        <Busiest summary={summary.data} />
      </section>
    </div>
  );
}

/* ---- key figures ---- */

interface TileProps {
  page: PageId;
  cost: CostId | 'rss';
  label: string;
  value: Figure;
  sub: string;
  hint: string;
  isOff?: boolean; // not of what was asked for
}

function Tile(p: TileProps) {
  const a = useAddress();
  const page = hasPage(p.page) ? p.page : 'flame';
  const href = hrefPage(a, page, p.cost === 'rss' ? {} : { cost: p.cost });
  return (
    <a class={`tile c-${p.cost}${p.isOff ? ' off' : ''}`} href={href}>
      <span class="lab">
        <span class="tick" />
        {p.label}
      </span>
      <span class="big">
        <Num value={p.value} flow />
      </span>
      <span class="sub">{p.sub}</span>
      <span class="dim">{p.hint}</span>
    </a>
  );
}

interface TilesProps {
  summary: Summary | null;
  matched: CostValues | null; // of what the filters let through; null: there are none
}

function Tiles({ summary: s, matched }: TilesProps) {
  if (!s) return <section class="tiles empty" aria-label="Key figures" aria-busy="true" />;
  return s.before && s.after ? <ChangeTiles s={s} /> : <OwnTiles s={s} matched={matched} />;
}

/* What changed since the base: "12.0 MiB before, 16.9 MiB now". */
function ChangeTiles({ s }: { s: Summary }) {
  const rss = [s.base_rss_peak_bytes ?? 0, s.rss_peak_bytes] as const;
  const of = (id: CostId) => [costOf(s.before!, id), costOf(s.after!, id)] as const;
  const tile = (page: PageId, id: CostId | 'rss', label: string, hint: string) => {
    const [was, is] = id === 'rss' ? rss : of(id);
    const unit = id === 'rss' ? 'bytes' : costKind(id).unit;
    return (
      <Tile
        page={page}
        cost={id}
        label={label}
        value={change(is - was, unit)}
        sub={`${join(figure(was, unit))} before, ${join(figure(is, unit))} now`}
        hint={hint}
      />
    );
  };
  return (
    <section class="tiles" aria-label="Changes of key figures">
      {tile('flame', 'peak', 'Peak heap', 'Most alive at one moment')}
      {tile('flame', 'leaked', 'Leaked', 'Never freed')}
      {tile('map', 'rss', 'Peak RSS', 'Of whole recordings')}
      {tile('callers', 'allocs', 'Allocations', 'Calls that asked for memory')}
      {tile('bottomup', 'temp', 'Temporary', 'Freed before the next one')}
      {tile('topdown', 'bytes', 'Bytes allocated', 'Sum of all requests')}
    </section>
  );
}

function OwnTiles({ s, matched }: { s: Summary; matched: CostValues | null }) {
  const a = useAddress();
  const clock = useClock();
  const isFiltered = matched !== null;
  const cost = matched ?? summaryCost(s);
  const what = useWhat();
  const seconds = askedSpanNs(a.params, s.duration_ns) / 1e9 || 1;
  const digits = clockDigits(s.duration_ns);
  const suppressedBytes = isFiltered
    ? 0
    : s.suppressions.reduce((sum, rule) => sum + rule.leaked_bytes, 0);
  const temporary = cost.allocations ? (100 * cost.temporary_count) / cost.allocations : 0;
  return (
    <section class="tiles" aria-label="Key figures">
      <Tile
        page="flame"
        cost="peak"
        label="Peak heap"
        value={bytes(cost.peak_bytes)}
        sub={isFiltered ? what : 'at ' + clock(s.peak_ns, digits)}
        hint="Most alive at one moment"
      />
      <Tile
        page="flame"
        cost="leaked"
        label="Leaked"
        value={bytes(cost.leaked_bytes)}
        sub={(share(cost.leaked_bytes, cost.peak_bytes) || 'nothing') + ' of the peak'}
        hint={suppressedBytes ? `${join(bytes(suppressedBytes))} suppressed` : 'Never freed'}
      />
      <Tile
        page="map"
        cost="rss"
        label="Peak RSS"
        value={bytes(s.rss_peak_bytes)}
        sub={isFiltered ? 'of the whole recording' : rssText(s)}
        hint="As the kernel counts it"
        isOff={isFiltered}
      />
      <Tile
        page="sites"
        cost="allocs"
        label="Allocations"
        value={count(cost.allocations)}
        sub={join(count(cost.allocations / seconds)) + ' per second'}
        hint="Calls that asked for memory"
      />
      <Tile
        page="bottomup"
        cost="temp"
        label="Temporary"
        value={[temporary ? temporary.toFixed(1) : '0', '%']}
        sub={join(count(cost.temporary_count)) + ' allocations'}
        hint="Freed before the next one"
      />
      <Tile
        page="sizes"
        cost="bytes"
        label="Bytes allocated"
        value={bytes(cost.bytes)}
        sub={join(bytes(cost.bytes / seconds)) + ' per second'}
        hint="Sum of all requests"
      />
    </section>
  );
}

function rssText(s: Summary): string {
  const above = s.rss_peak_bytes - s.peak_bytes;
  return above >= 0 ? `${join(bytes(above))} above the heap` : 'sampled, below the heap';
}

const summaryCost = (s: Summary) => ({
  peak_bytes: s.peak_bytes,
  leaked_bytes: s.leaked_bytes,
  allocations: allAllocations(s),
  temporary_count: s.temporary_count,
  bytes: s.bytes,
});

/* ---- memory over time ---- */

const CHART_POINTS = 240;
const N_PACKAGES = 7;

function MemoryCard({ summary: s }: { summary: Summary | null }) {
  const a = useAddress();
  const asked = useQuery<Buckets>(
    'timeline',
    {
      ...untimedFilter(a.params),
      ...chartWindow(a.params, s?.duration_ns ?? 0),
      by: 'package',
      series: 'bytes',
      top: N_PACKAGES,
      buckets: CHART_POINTS,
      round: a.params['base'] ? null : true, // a base is drawn with the same points
    },
    { isFiltered: false, isReady: s !== null },
  );
  const samples = useQuery<Samples>('samples', {}, { isFiltered: false });
  const { data } = asked;
  const base = useBaseBuckets(
    {
      ...untimedFilter(a.params),
      ...chartWindow(a.params, s?.duration_ns ?? 0),
      buckets: CHART_POINTS,
    },
    s !== null,
  );
  const rss = samples.data && {
    name: 'RSS',
    at: samples.data.at_ns,
    values: samples.data.rss_bytes,
  };
  const layers = (data?.series ?? []).map((g, i, all) => ({
    name: g.name,
    values: g.values,
    fill: g.name === 'other' && i === all.length - 1 ? '--a8' : `--a${Math.min(7, i + 1)}`,
  }));
  const isFiltered = hasFilter(a.params);
  return (
    <section class="card">
      <header>
        <h2>
          Memory over time, by package
          {rangeOf(a.params) && (
            <span class="dim">all that is alive, also from before the range</span>
          )}
        </h2>
        {hasPage('timeline') && (
          <span class="links">
            <GrewLink text="What grew between two moments" />
            <a class="link" href={hrefPage(a, 'timeline')}>
              Timeline
            </a>
          </span>
        )}
      </header>
      <div class={'chartbox' + (asked.isStale ? ' stale' : '')}>
        {data && s && (
          <TimeChart
            label={`Heap over time by package, ${base ? 'heap of the base' : 'RSS'} as a dashed line, the peak marked`}
            fromNs={data.from_ns}
            span={chartSpan(a.params, s.duration_ns)}
            bucketNs={data.bucket_ns}
            runNs={s.duration_ns}
            series={layers}
            unit="bytes"
            top={data.max_bytes}
            line={base ? { name: 'Base', at: base.at, values: base.buckets.max_bytes } : rss}
            peak={isFiltered ? null : { ns: s.peak_ns, value: s.peak_bytes }}
            hasLabels
            crosshair={crosshairNs}
          />
        )}
        {asked.error && <ErrorNote error={asked.error} again={asked.again} />}
      </div>
    </section>
  );
}

/* ---- health ---- */

function HealthCard() {
  const { data, error, again } = useQuery<Health>('health', {}, { isFiltered: false });
  return (
    <section class="card">
      <header>
        <h2>Health of the recording</h2>
      </header>
      {error && <ErrorNote error={error} again={again} />}
      <HealthList lines={data?.lines ?? []} />
      {data && (
        <dl class="kv facts">
          {data.facts.map((fact) => [
            <dt key={fact.name}>{fact.name}</dt>,
            <dd class={fact.name === 'Command' ? 'code' : undefined} title={fact.value}>
              {fact.value}
            </dd>,
          ])}
        </dl>
      )}
    </section>
  );
}

/* ---- lists ---- */

const N_ROWS = 7;
const N_FUNCTIONS = 200;

interface ListProps {
  title: string;
  cost: CostId;
  summary: Summary | null;
  right?: ComponentChildren;
}

/* The functions with most leaked: of most programs all functions. An exported page has the lists alone. */
const useFunctions = () =>
  useQuery<GroupRows>(
    'groups',
    { by: 'blame', sort_by: 'leaked_bytes', order: 'dsc', count: N_FUNCTIONS },
    { isReady: !isExported },
  );

/* The first rows by a cost: of all functions where these are here, else the server's. */
function useTop(cost: CostId): Asked<GroupRows> {
  const all = useFunctions();
  const isEnough = all.data !== null && all.data.total_count <= all.data.groups.length;
  const own = useQuery<GroupRows>(
    'groups',
    { by: 'blame', sort_by: costKind(cost).field, order: 'dsc', count: N_ROWS },
    { isReady: isExported || (all.data !== null && !all.isStale && !isEnough) },
  );
  if (!isEnough || !all.data) return own;
  const groups = [...all.data.groups].sort((g, h) => costOf(h.cost, cost) - costOf(g.cost, cost));
  return { ...all, data: { ...all.data, groups: groups.slice(0, N_ROWS) } };
}

function TopList({ title, cost, right }: ListProps) {
  const a = useAddress();
  const asked = useTop(cost);
  const isChange = !!asked.data?.total_before;
  /* of a comparison: what grew */
  const rows = (asked.data?.groups ?? []).filter((g) => costOf(g.cost, cost) > 0);
  const total = asked.data ? costOf(asked.data.total, cost) : 0;
  return (
    <section class={'card list' + (asked.isStale ? ' stale' : '')}>
      <header>
        <h2>{isChange ? `${title}: what grew` : title}</h2>
        {right ?? (
          <a class="link" href={hrefPage(a, hasPage('sites') ? 'sites' : 'flame', { cost })}>
            All
          </a>
        )}
      </header>
      {rows.map((g) => (
        <ListRow key={g.key} row={g} cost={cost} total={total} isChange={isChange} />
      ))}
      {asked.error && <ErrorNote error={asked.error} again={asked.again} />}
      {asked.data && !rows.length && (
        <p class="nothing dim">{isChange ? 'Nothing grew.' : EMPTY[cost]}</p>
      )}
    </section>
  );
}

const EMPTY: Record<CostId, string> = {
  peak: 'Nothing was alive.',
  leaked: 'Everything was freed.',
  allocs: 'Nothing was allocated.',
  temp: 'No allocation was temporary.',
  bytes: 'Nothing was allocated.',
};

interface RowProps {
  row: GroupRow;
  cost: CostId;
  total: number;
  isChange: boolean;
}

function ListRow({ row, cost, total, isChange }: RowProps) {
  const a = useAddress();
  const name = row.blame ? codeName(row.blame) : row.name;
  const href = hrefPage(a, 'flame', { cost, sel: name ? `fn:${name}` : null });
  return (
    <a class="tr" href={href} onClick={() => isDetailsOpen.set(true)}>
      {row.blame ? (
        <Sym frame={row.blame} hasPath={false} />
      ) : (
        <span>{row.name ?? 'not known'}</span>
      )}
      <CostCell
        value={costOf(row.cost, cost)}
        total={total}
        cost={cost}
        isBare
        isChange={isChange}
        hasShare={!isChange}
      />
    </a>
  );
}

const BUSY: readonly CostId[] = ['allocs', 'temp', 'bytes'];

function Busiest({ summary }: { summary: Summary | null }) {
  const { params } = useAddress();
  const chosen = BUSY.find((id) => id === params['busy']) ?? 'allocs';
  const options = COSTS.filter((c) => BUSY.includes(c.id)).map((c) => ({
    id: c.id,
    name: c.name,
    hint: c.hint,
  }));
  return (
    <TopList
      title="Busiest"
      cost={chosen}
      summary={summary}
      right={
        <Segments
          label="Busiest by"
          class="small"
          options={options}
          value={chosen}
          onChange={(id) => set({ busy: id })}
        />
      }
    />
  );
}
