/* The cells of a row of Call sites. */
import type { ComponentChildren } from 'preact';
import type { GroupRow, SiteFacts } from '../api/types';
import type { Address } from '../model/address';
import { columnClass } from '../model/columns';
import { costKind, costOf, type CostId, type CostValues } from '../model/costs';
import {
  bytes,
  duration,
  exact,
  figure,
  group,
  join,
  share,
  SPACE,
  type ClockText,
} from '../model/format';
import { baseName, frameFull } from '../model/names';
import { viaText } from '../model/site_facts';
import type { SiteColumn } from '../model/site_columns';
import { hrefPage } from '../state/router';
import { Num } from '../widgets/figures';
import { Icon } from '../widgets/icons';
import { Sym } from '../widgets/names';
import { Sparkline } from '../widgets/sparkline';

export interface SiteContext {
  address: Address;
  columns: readonly SiteColumn[];
  sortedBy: string;
  total: CostValues | null; // of what the filters let through
  peakNs: number | null; // when that was largest
  isFiltered: boolean; // the second line is the whole call site, else the share
  clock: ClockText;
  clockTitle: (ns: number) => string;
  digits: number; // decimals of moments
  late: (row: GroupRow, index: number) => GroupRow | undefined; // the row with graph and facts
  threadName: (index: number) => string;
  onToggle: (index: number) => void;
  onMenu: (index: number, button: HTMLElement) => void;
}

export function siteCells(c: SiteContext, row: GroupRow, index: number, isOpen: boolean) {
  return c.columns.map((column) => (
    <Cell key={column.id} c={c} column={column} row={row} index={index} isOpen={isOpen} />
  ));
}

interface CellProps {
  c: SiteContext;
  column: SiteColumn;
  row: GroupRow;
  index: number;
  isOpen: boolean;
}

function Cell({ c, column, row, index, isOpen }: CellProps) {
  const cls = columnClass(column, c.sortedBy);
  const moment = (ns: number | undefined) => (
    <span class={cls} role="gridcell" title={ns === undefined ? undefined : c.clockTitle(ns)}>
      {ns === undefined ? '' : c.clock(ns, c.digits)}
    </span>
  );
  const plain = (content: ComponentChildren, title?: string) => (
    <span class={cls} role="gridcell" title={title}>
      {content}
    </span>
  );
  const { cost } = row;
  if (column.cost) return <CostLines c={c} id={column.cost} row={row} class={cls} />;
  switch (column.id) {
    case 'site':
      return <SiteName row={row} isOpen={isOpen} onToggle={() => c.onToggle(index)} />;
    case 'graph':
      return <Graph class={cls} row={c.late(row, index)} />;
    case 'mean':
      return plain(
        <Num value={bytes(cost.bytes / cost.allocations)} />,
        `${exact(cost.bytes, 'bytes')} in ${exact(cost.allocations, 'count')} allocations`,
      );
    case 'freed':
      return <FreedLines row={row} class={cls} />;
    case 'lifetime':
      return plain(row.mean_lifetime_ns === null ? '' : duration(row.mean_lifetime_ns));
    case 'median':
    case 'threads':
    case 'marker':
      return <Fact c={c} id={column.id} facts={c.late(row, index)?.facts} class={cls} />;
    case 'interval':
      return plain(cost.allocations > 1 ? duration(row.last_ns - row.first_ns) : '');
    case 'first':
      return moment(row.first_ns);
    case 'last':
      return moment(row.last_ns);
    case 'largest':
      return c.isFiltered ? (
        <span class={`two-l ${cls}`} role="gridcell" title={c.clockTitle(row.max_at_ns ?? 0)}>
          <span>{c.clock(row.max_at_ns ?? 0, c.digits)}</span>
          <span class="dim">whole run</span>
        </span>
      ) : (
        moment(row.max_at_ns)
      );
    default:
      return <MenuButton class={cls} onMenu={(button) => c.onMenu(index, button)} />;
  }
}

function SiteName(p: { row: GroupRow; isOpen: boolean; onToggle: () => void }) {
  const { blame, callers, called, key } = p.row;
  const via = viaText(called, callers ?? []) || (blame?.module ? baseName(blame.module) : '');
  return (
    <span class="treecell" role="gridcell">
      <button
        type="button"
        class={'twist' + (p.isOpen ? ' open' : '')}
        aria-label="Stack and facts"
        aria-expanded={p.isOpen}
        tabIndex={-1}
        onClick={(e) => {
          e.stopPropagation();
          p.onToggle();
        }}
      >
        <Icon name="right" />
      </button>
      <span class="two-l">
        {blame ? <Sym frame={blame} /> : <span class="dim">no stack ({key})</span>}
        <span class="dim via" title={called ? frameFull(called) : undefined}>
          {via}
        </span>
      </span>
    </span>
  );
}

function Graph({ row, class: cls }: { row: GroupRow | undefined; class: string }) {
  return (
    <span class={`graph-cell ${cls}`} role="gridcell">
      {row?.timeline ? (
        <Sparkline alive={row.timeline} leaked={row.leaked_timeline} />
      ) : (
        <span class="skel" />
      )}
    </span>
  );
}

/* What a cost's figure leads to: the allocations that make it. */
function filterOf(id: CostId, peakNs: number | null): Record<string, string> {
  if (id === 'leaked') return { lifetime: 'only_leaked' };
  if (id === 'temp') return { temporary: 'yes' };
  return id === 'peak' && peakNs !== null ? { alive_at: `+${peakNs}ns` } : {};
}

/* Value; below it the whole call site's when there is a filter, else the share of the total. */
function CostLines(p: { c: SiteContext; id: CostId; row: GroupRow; class: string }) {
  const { c, id, row } = p;
  const { unit } = costKind(id);
  const value = costOf(row.cost, id);
  const all = wholeSite(row, id) ?? value;
  const total = c.total ? costOf(c.total, id) : 0;
  const [text, allUnit] = figure(all, unit);
  const percent = share(value, total).split(SPACE);
  const second = c.isFiltered ? (
    <Num value={[`of ${text}`, allUnit]} />
  ) : (
    <Num value={[percent[0] ?? '', percent[1] ?? '']} />
  );
  const title =
    `${exact(value, unit)}` +
    (c.isFiltered
      ? `\nwhole call site: ${exact(all, unit)}${id === 'peak' ? ' at most' : ''}`
      : '') +
    `\n${share(value, total) || '0' + SPACE + '%'} of ${join(figure(total, unit))}`;
  const href = hrefPage(c.address, 'allocations', {
    backtraces: String(row.key),
    ...filterOf(id, c.peakNs),
  });
  return (
    <span class={`two-l ${p.class}`} role="gridcell" title={title}>
      <a href={href} tabIndex={-1} onClick={(e) => e.stopPropagation()}>
        <Num value={figure(value, unit)} />
      </a>
      <span class="dim">{second}</span>
    </span>
  );
}

/* Of the whole call site. At the peak of what matches, a part of the site is compared with the most
 * that the site ever was: the recording's own peak may be another moment. */
const wholeSite = (row: GroupRow, id: CostId): number | undefined =>
  id === 'peak' ? row.max_bytes : row.all && costOf(row.all, id);

function FreedLines({ row, class: cls }: { row: GroupRow; class: string }) {
  const freed = row.cost.allocations - row.cost.leaked_count;
  const percent = share(freed, row.cost.allocations).split(SPACE);
  return (
    <span class={`two-l ${cls}`} role="gridcell" title={exact(freed, 'count')}>
      <Num value={figure(freed, 'count')} />
      <span class="dim">
        <Num value={[percent[0] ?? '', percent[1] ?? '']} />
      </span>
    </span>
  );
}

interface FactProps {
  c: SiteContext;
  id: 'median' | 'threads' | 'marker';
  facts: SiteFacts | undefined; // not here yet
  class: string;
}

/* A figure that comes late: threads and the busiest one, markers, the median lifetime. */
function Fact({ c, id, facts, class: cls }: FactProps) {
  if (!facts)
    return (
      <span class={cls} role="gridcell">
        <span class="skel" />
      </span>
    );
  if (id === 'threads')
    return (
      <span class={`two-l ${cls}`} role="gridcell" title={c.threadName(facts.busiest_thread)}>
        <span>{group(facts.threads)}</span>
        <span class="dim">{c.threadName(facts.busiest_thread)}</span>
      </span>
    );
  const text = id === 'marker' ? markerText(facts) : medianText(facts);
  return (
    <span class={cls} role="gridcell" title={text.title}>
      {text.text}
    </span>
  );
}

const markerText = (f: SiteFacts) => ({
  text: f.min_marker === f.max_marker ? f.max_marker : `${f.min_marker} to ${f.max_marker}`,
  title: 'Set by memory_profiler_set_marker(); 0: none',
});

function medianText(f: SiteFacts) {
  const [min, max] = [f.median_lifetime_min_ns, f.median_lifetime_max_ns];
  if (min === null || max === null)
    return { text: '', title: 'Nothing of it was freed, or some was culled' };
  if (min === max) return { text: duration(min), title: '' };
  return {
    text: '≈' + SPACE + duration((min + max) / 2),
    title: `Between ${duration(min)} and ${duration(max)}`,
  };
}

function MenuButton({ class: cls, onMenu }: { class: string; onMenu: (b: HTMLElement) => void }) {
  return (
    <span class={cls} role="gridcell">
      <button
        type="button"
        class="btn quiet small icon"
        aria-label="Menu of this call site"
        aria-haspopup="menu"
        tabIndex={-1}
        onClick={(e) => {
          e.stopPropagation();
          onMenu(e.currentTarget);
        }}
      >
        <Icon name="dots" />
      </button>
    </span>
  );
}
