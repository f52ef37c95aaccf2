/* Details of a size range: exact sizes, rounding by the allocator, lifetimes. */
import type { GroupRows, Lifetimes, Sizes } from '../api/types';
import { costKind, costOf } from '../model/costs';
import { bytes, duration, group, join, plural, share } from '../model/format';
import {
  cutToFilter,
  lifetimeClasses,
  parseRange,
  rangeWords,
  withoutRange,
  type SizeRange,
} from '../model/histogram';
import { useQuery } from '../state/query';
import { set, useAddress, useCost } from '../state/router';
import { Block } from '../widgets/details';
import { Value } from '../widgets/figures';
import { ErrorNote, Note } from '../widgets/notes';

const EXACT = 8;

export function SizeDetails({ value }: { value: string }) {
  const range = parseRange(value);
  if (!range)
    return (
      <Note title="Not a size range.">A range of sizes reads 129-256: bytes, both included.</Note>
    );
  return <RangeDetails range={range} />;
}

function RangeDetails({ range }: { range: SizeRange }) {
  const { params } = useAddress();
  const cost = useCost();
  const kind = costKind(cost);
  const cut = cutToFilter(range, params);
  const bounds = { size_min: cut.min, size_max: cut.max };
  const exact = useQuery<GroupRows>('groups', {
    ...bounds,
    by: 'size',
    sort_by: kind.field,
    count: EXACT,
  });
  const sites = useQuery<GroupRows>('groups', { ...bounds, by: 'stack', count: 1 });
  const total = exact.data?.total;
  if (exact.error) return <ErrorNote error={exact.error} again={exact.again} />;
  return (
    <div class={exact.isStale ? 'stale' : undefined}>
      <Block>
        <div class="block-title">
          {rangeWords(range)}
          <small>{sites.data ? plural(sites.data.total_count, 'call site') : '\u00a0'}</small>
        </div>
      </Block>
      {exact.data && <ExactSizes data={exact.data} />}
      {total && <Rounding total={total} />}
      <LifetimeBars bounds={bounds} />
      <Actions range={range} />
    </div>
  );
}

function ExactSizes({ data }: { data: GroupRows }) {
  const cost = useCost();
  const kind = costKind(cost);
  const rows = data.groups.filter((g) => costOf(g.cost, cost) > 0);
  const most = Math.max(1, ...rows.map((g) => costOf(g.cost, cost)));
  const total = costOf(data.total, cost);
  const order = cost === 'allocs' ? 'most frequent first' : `most ${kind.name.toLowerCase()} first`;
  return (
    <Block
      title={`Exact sizes, ${order}`}
      right={data.total_count > EXACT ? `${EXACT} of ${group(data.total_count)}` : null}
    >
      {rows.length === 0 && <p class="dim hint">None has any of this cost.</p>}
      <div class="exact">
        {rows.map((g) => {
          const v = costOf(g.cost, cost);
          return (
            <>
              <button
                type="button"
                class="r link"
                title={`Only allocations of ${group(g.key)} bytes`}
                onClick={() => set({ size_min: String(g.key), size_max: String(g.key) })}
              >
                {join(bytes(g.key))}
              </button>
              <span class={`bar c-${cost}`}>
                <i style={{ width: `${((100 * v) / most).toFixed(1)}%` }} />
              </span>
              <Value value={v} unit={kind.unit} />
              <span class="pc dim">{share(v, total)}</span>
            </>
          );
        })}
      </div>
    </Block>
  );
}

function Rounding({ total }: { total: GroupRows['total'] }) {
  const n = total.allocations;
  if (!n) return null;
  const usable = total.bytes + total.extra_bytes;
  return (
    <Block title="Rounding by the allocator">
      <dl class="kv">
        <dt>Requested</dt>
        <dd>{join(bytes(total.bytes / n))} in the mean</dd>
        <dt>Usable</dt>
        <dd>{join(bytes(usable / n))} in the mean</dd>
        <dt>Lost</dt>
        <dd>{share(total.extra_bytes, usable) || 'nothing'} of what is handed out</dd>
      </dl>
    </Block>
  );
}

function LifetimeBars({ bounds }: { bounds: { size_min: number; size_max: number } }) {
  const asked = useQuery<Lifetimes>('lifetimes', bounds);
  const { data } = asked;
  if (asked.error) return <ErrorNote error={asked.error} again={asked.again} />;
  if (!data) return null;
  const all = data.freed_count + data.never_count;
  const rows = [
    ...lifetimeClasses(data.buckets).map((c) => ({ ...c, tint: 'peak' })),
    { words: 'never freed', count: data.never_count, tint: 'leaked' },
  ];
  const most = Math.max(1, ...rows.map((r) => r.count));
  return (
    <Block
      title="Lifetimes"
      right={data.median_ns === null ? null : `median of the freed ${duration(data.median_ns)}`}
    >
      <div class="exact life">
        {rows.map((r) => (
          <>
            <span>{r.words}</span>
            <span class={`bar c-${r.tint}`}>
              <i style={{ width: `${((100 * r.count) / most).toFixed(1)}%` }} />
            </span>
            <span class="r" title={`${group(r.count)} allocations`}>
              {share(r.count, all) || '0 %'}
            </span>
          </>
        ))}
      </div>
    </Block>
  );
}

function Actions({ range }: { range: SizeRange }) {
  const cost = useCost();
  const { data } = useQuery<Sizes>('sizes', { cost, top: 6 });
  const without = withoutRange(range, data?.buckets ?? []);
  return (
    <section class="block actions">
      <button
        type="button"
        class="btn"
        onClick={() => set({ size_min: String(range.min), size_max: String(range.max) })}
      >
        Only this range
      </button>
      <button
        type="button"
        class="btn"
        disabled={!without}
        title={without ? undefined : 'A filter holds one range of sizes: here two would remain'}
        onClick={() => without && set({ ...without, sel: null })}
      >
        Not this range
      </button>
    </section>
  );
}
