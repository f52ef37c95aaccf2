/* What pages and panels say about one call site: actions, menu, facts, its stack. */
import { useState } from 'preact/hooks';
import type { FrameText, GroupRow, GroupRows, Lifetimes } from '../api/types';
import type { Address } from '../model/address';
import type { CostId } from '../model/costs';
import { culledShare } from '../model/culled';
import { hasFilter, rangeOf } from '../model/filters';
import { clockDigits, duration, join, plural, share, bytes } from '../model/format';
import { codeName, frameTitle } from '../model/names';
import {
  freedText,
  growthText,
  intervalText,
  sizesText,
  stackText,
  threadsText,
} from '../model/site_facts';
import { select } from '../state/details';
import { useClock, useClockTitle } from '../state/clock';
import { copyText, say } from '../state/overlay';
import { useQuery } from '../state/query';
import { useRecording } from '../state/recordings';
import { address, goPage, hrefPage, hrefWith, set, useAddress } from '../state/router';
import { askStack, useStack } from '../state/stacks';
import { useThreads } from '../state/threads';
import { ErrorNote } from '../widgets/notes';
import type { MenuItem } from '../widgets/floating';
import { StackList } from '../widgets/names';

/* ---- filters that a call site leads to ---- */

export const onlySite = (stack: number) => ({
  backtraces: String(stack),
  open: null,
  row: null,
});

/* Adds the call site to those that are left out. */
export function notSite(a: Address, stack: number): Record<string, string | null> {
  const before = (a.params['negative_backtraces'] ?? '').split(',').filter(Boolean);
  const ids = before.includes(String(stack)) ? before : [...before, String(stack)];
  return { negative_backtraces: ids.join(','), open: null, row: null };
}

export async function copyStack(recording: string, stack: number): Promise<void> {
  try {
    const { frames } = await askStack(recording, stack);
    await copyText(stackText(frames), 'Stack');
  } catch {
    say('The stack could not be read.');
  }
}

/* The menu of a call site's row, and of its stack in a panel. */
export function siteItems(recording: string, stack: number): MenuItem[] {
  const a = address.value;
  return [
    { label: 'Only this', hint: 'O', act: () => set(onlySite(stack)) },
    { label: 'Not this', hint: 'X', act: () => set(notSite(a, stack)) },
    {
      label: 'Only what it frees',
      act: () => set({ deallocation_backtraces: String(stack), open: null, row: null }),
    },
    { label: 'Flame graph', href: hrefPage(a, 'flame', onlySite(stack)) },
    { label: 'Allocations', href: hrefPage(a, 'allocations', onlySite(stack)) },
    { label: 'Details', act: () => select({ kind: 'site', key: String(stack) }) },
    { label: 'Copy stack', hint: 'Y', act: () => void copyStack(recording, stack) },
  ];
}

export function SiteActions({ stack }: { stack: number }) {
  const a = useAddress();
  return (
    <div class="actions">
      <button type="button" class="btn" onClick={() => set(onlySite(stack))}>
        Only this
      </button>
      <button type="button" class="btn" onClick={() => set(notSite(a, stack))}>
        Not this
      </button>
      <a class="btn" href={hrefPage(a, 'flame', onlySite(stack))}>
        Flame graph
      </a>
      <a class="btn" href={hrefPage(a, 'allocations', onlySite(stack))}>
        Allocations
      </a>
    </div>
  );
}

/* ---- the stack ---- */

/* Selecting a frame shows its function in the panel. */
export const showFunction = (f: FrameText): void => {
  select({ kind: 'fn', key: codeName(f) });
};

interface SiteStackProps {
  stack: number;
  blame?: FrameText | null;
  cost?: CostId;
  hasPath?: boolean;
  most?: number; // frames that are shown at once; the rest on request
}

const BEHIND_BLAME = 4; // frames that are always shown outside of the one to blame

export function SiteStack(p: SiteStackProps) {
  const { stack, blame, cost = 'peak', hasPath = true, most = Infinity } = p;
  const asked = useStack(stack);
  const [isWhole, setWhole] = useState(false);
  if (stack === 0) return <p class="dim hint">The recorder took no stack here.</p>;
  if (asked.error) return <ErrorNote error={asked.error} again={asked.again} />;
  if (!asked.data || asked.isStale) return <StackSkeleton />;
  const { frames } = asked.data;
  const shown = isWhole ? frames.length : Math.max(most, (asked.data.blame ?? 0) + BEHIND_BLAME);
  const left = frames.length - shown;
  if (left > 1)
    return (
      <>
        <StackList
          frames={frames.slice(0, shown)}
          blame={blame}
          cost={cost}
          hasPath={hasPath}
          onFrame={showFunction}
        />
        <button type="button" class="link more-frames" onClick={() => setWhole(true)}>
          {left} more frames
        </button>
      </>
    );
  return (
    <>
      <StackList
        frames={frames}
        blame={blame}
        cost={cost}
        hasPath={hasPath}
        onFrame={showFunction}
      />
      {asked.data.truncated && <p class="dim hint">The stack ends here: {asked.data.truncated}.</p>}
      {asked.data.is_guessed && (
        <p class="dim hint">Some outer frames were found by the frame pointer alone.</p>
      )}
    </>
  );
}

/* As high as a usual stack, so that little moves when the frames are there. */
const StackSkeleton = () => (
  <div class="stack-skel" aria-busy="true">
    {[62, 48, 70, 56, 40].map((width, i) => (
      <span key={i} class="skel" style={{ width: `${width}%` }} />
    ))}
  </div>
);

/* ---- facts ---- */

export const GRAPH_POINTS = 120;

/* The row of a call site with its graph; with the filters of the address, over their time range. */
export function useSite(stack: number, isReady = true) {
  const range = rangeOf(useAddress().params);
  const asked = useQuery<GroupRows>(
    'groups',
    {
      by: 'stack',
      backtraces: stack,
      base: null,
      graph: GRAPH_POINTS,
      graph_from: range ? `+${range.fromNs}ns` : null,
      graph_to: range ? `+${range.toNs}ns` : null,
      count: 1,
    },
    { isReady },
  );
  return { ...asked, row: asked.data?.groups.find((g) => g.key === stack) ?? null };
}

interface SiteFactsProps {
  stack: number;
  row: GroupRow;
  graphRow?: GroupRow | null; // the row with its graph, which the table has or waits for; null: waits
}

/* Freed, interval, sizes, lifetimes, threads, who frees, growth. `row` is what the table has of the
 * site already; the rest is asked for. */
export function SiteFacts({ stack, row, graphRow }: SiteFactsProps) {
  const a = useAddress();
  const clock = useClock();
  const title = useClockTitle();
  const run = useRecording()?.duration_ns ?? 1;
  const { cost } = row;
  const site = useSite(stack, graphRow === undefined && cost.leaked_bytes > 0);
  const grown = graphRow ?? site.row;
  const span = row.last_ns - row.first_ns;
  const freed = cost.allocations - cost.leaked_count;
  const recorded = freed - row.culled_count;
  const digits = clockDigits(run);
  return (
    <dl class="kv">
      <dt>Freed</dt>
      <dd>{freedText(cost.allocations, cost.leaked_count)}</dd>
      <dt>Interval</dt>
      <dd title={`${title(row.first_ns)}\nto ${title(row.last_ns)}`}>
        {intervalText(cost.allocations, row.first_ns, row.last_ns)}
      </dd>
      <dt>Sizes</dt>
      <dd>{sizesText(row.min_size, row.max_size, cost.bytes, cost.allocations)}</dd>
      {freed > 0 && <LifetimeFact stack={stack} row={row} />}
      <ThreadsFact stack={stack} />
      {recorded > 0 && <FreedAtFact stack={stack} freed={recorded} />}
      {row.max_at_ns !== undefined && !!row.max_bytes && (
        <>
          <dt>Largest</dt>
          <dd>
            {join(bytes(row.max_bytes))} at{' '}
            <a
              class="link"
              title="Pins this moment on the timeline"
              href={hrefWith(a, { at: String(row.max_at_ns) })}
            >
              {clock(row.max_at_ns, digits)}
            </a>
            {hasFilter(a.params) && ', of the whole recording'}
          </dd>
        </>
      )}
      <dt>Growth</dt>
      <dd>
        {!cost.leaked_bytes || grown
          ? growthText(cost.leaked_bytes, span, grown?.leaked_timeline ?? [])
          : '…'}
      </dd>
    </dl>
  );
}

/* One call site has few of the rows: the exact answer takes no longer than an estimate. */
const OF_ONE = { isExact: true };

function LifetimeFact({ stack, row }: { stack: number; row: GroupRow }) {
  const median = useQuery<Lifetimes>('lifetimes', { backtraces: stack, base: null }, OF_ONE).data
    ?.median_ns;
  const { temporary_count: temporary, allocations } = row.cost;
  const parts = [
    culledShare(row.culled_count, allocations),
    typeof median === 'number'
      ? `${duration(median)} median${row.culled_count ? ' of the others' : ''}`
      : '',
    row.mean_lifetime_ns === null ? '' : `${duration(row.mean_lifetime_ns)} mean`,
    temporary ? `${share(temporary, allocations)} temporary` : '',
  ];
  return (
    <>
      <dt>Lifetime</dt>
      <dd>{parts.filter(Boolean).join(', ')}</dd>
    </>
  );
}

function ThreadsFact({ stack }: { stack: number }) {
  const threads = useThreads();
  const asked = useQuery<GroupRows>(
    'groups',
    { by: 'thread', backtraces: stack, base: null, sort_by: 'allocations' },
    OF_ONE,
  );
  const names = asked.data?.groups.map((g) => threads.name(g.key)) ?? [];
  return (
    <>
      <dt>Threads</dt>
      <dd title={names.join('\n')}>
        {asked.data ? threadsText(names, threads.count) || 'not known' : '…'}
      </dd>
    </>
  );
}

/* The stack that frees most of the site's blocks; leads to what that stack frees. */
function FreedAtFact({ stack, freed }: { stack: number; freed: number }) {
  const asked = useQuery<GroupRows>(
    'groups',
    { by: 'free_stack', backtraces: stack, base: null, sort_by: 'allocations', count: 3 },
    OF_ONE,
  );
  const rows = asked.data?.groups.filter((g) => g.key !== 0) ?? [];
  const [most] = rows;
  const others = (asked.data?.total_count ?? 0) - (asked.data?.groups.some((g) => !g.key) ? 1 : 0);
  return (
    <>
      <dt>Freed at</dt>
      <dd>
        {!asked.data && '…'}
        {asked.data && !most && 'not known'}
        {most && (
          <>
            <button
              type="button"
              class="link"
              title="Only what is freed there"
              onClick={() =>
                goPage('sites', { deallocation_backtraces: String(most.key), open: null })
              }
            >
              {most.blame ? frameTitle(most.blame) : `stack ${most.key}`}
            </button>
            {`, ${share(most.cost.allocations, freed)} of what is freed`}
            {others > 1 && `, and ${plural(others - 1, 'other stack')}`}
          </>
        )}
      </dd>
    </>
  );
}
