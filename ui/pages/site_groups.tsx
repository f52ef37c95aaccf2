/* Call sites added up: by the function to blame, or by package (the crate of Rust code). The server adds up.
 *
 * Of the address: group (function or package), cost and order (how rows are sorted), pkg (only functions
 * of this package: it chooses rows and changes no figure), row (the row with the cursor).
 */
import type { GroupRow, GroupRows } from '../api/types';
import { COSTS, costKind, costOf } from '../model/costs';
import { exactRegex } from '../model/names';
import { plural } from '../model/format';
import { useKeys } from '../state/keys';
import { useQuery } from '../state/query';
import { goPage, set, setQuietly, useAddress, useCost } from '../state/router';
import { select } from '../state/details';
import { CostSwitch, Foot, Segments } from '../widgets/controls';
import { CostCell } from '../widgets/figures';
import { Grid, type Column } from '../widgets/grid';
import { Sym } from '../widgets/names';
import { NoMatch } from '../widgets/no_match';
import { ErrorNote, Waiting } from '../widgets/notes';
import { Sparkline } from '../widgets/sparkline';

export type Grouping = 'function' | 'package';

export const groupingOf = (text: string | undefined): Grouping | null =>
  text === 'function' || text === 'package' ? text : null;

const MOST = 500; // rows; the server gives graphs for no more at once
const GRAPH_POINTS = 60;
const ROW_PX = 26;

const columns = (by: Grouping): Column[] => [
  { id: 'name', title: by === 'function' ? 'Function' : 'Package' },
  { id: 'graph', title: 'Alive over time', class: 'pad m2' },
  ...COSTS.map((c) => ({ id: c.id, title: c.name, class: 'r', hint: c.hint, sort: c.id })),
];

/* What a row of Call sites stands for. */
export function GroupingSwitch({ value }: { value: Grouping | null }) {
  return (
    <Segments
      label="Rows"
      options={[
        { id: 'site', name: 'Call sites', hint: 'A row for each stack that allocated' },
        { id: 'function', name: 'Functions', hint: 'Added up by the function to blame' },
        { id: 'package', name: 'Packages', hint: 'Added up by crate or binary of that function' },
      ]}
      value={value ?? 'site'}
      onChange={(id) =>
        set({ group: id === 'site' ? null : id, pkg: null, row: null, sort: null, q: null })
      }
    />
  );
}

export function SiteGroups({ by }: { by: Grouping }) {
  const { params } = useAddress();
  const cost = useCost();
  const isAscending = params['order'] === 'asc';
  const asked = useQuery<GroupRows>(
    'groups',
    {
      by: by === 'function' ? 'blame' : 'package',
      sort_by: costKind(cost).field,
      order: isAscending ? 'asc' : 'dsc',
      count: MOST,
      ...(params['base'] ? {} : { graph: GRAPH_POINTS }),
    },
    { isMain: true },
  );
  const pkg = by === 'function' ? params['pkg'] : undefined;
  const all = asked.data?.groups ?? [];
  const rows = pkg ? all.filter((r) => r.blame?.package === pkg) : all;
  return (
    <>
      <div class="toolbar">
        <GroupingSwitch value={by} />
        <CostSwitch clears={['order', 'row']} />
        {pkg && (
          <button
            type="button"
            class="btn"
            title="All functions"
            onClick={() => set({ pkg: null, row: null })}
          >
            of {pkg} ×
          </button>
        )}
      </div>
      <Waiting asked={asked} what={`Adding up ${by}s`} />
      {asked.error ? (
        <div class="pad-note">
          <ErrorNote error={asked.error} again={asked.again} />
        </div>
      ) : asked.data && all.length === 0 && !asked.isStale ? (
        <NoMatch />
      ) : (
        <GroupTable by={by} rows={rows} asked={asked.data} isStale={asked.isStale} />
      )}
      <Foot
        left={asked.data ? foot(by, rows.length, all.length, asked.data.total_count) : ''}
        right={by === 'package' ? 'Enter shows its functions' : 'Enter shows its call sites'}
      />
    </>
  );
}

const foot = (by: Grouping, shown: number, known: number, total: number): string =>
  (shown < known || known < total ? `${shown} of ` : '') + plural(total, by);

interface TableProps {
  by: Grouping;
  rows: readonly GroupRow[];
  asked: GroupRows | null;
  isStale: boolean;
}

function GroupTable({ by, rows, asked, isStale }: TableProps) {
  const { params } = useAddress();
  const cost = useCost();
  const sortBy = (id: string, isAscending: boolean) =>
    set({ cost: id, order: isAscending ? 'asc' : null, row: null });
  useKeys(
    Object.fromEntries(COSTS.map((c, i) => [String(i + 1), () => sortBy(c.id, false)] as const)),
  );
  const open = (i: number) => {
    const name = rows[i]?.name;
    if (!name) return;
    if (by === 'package') set({ group: 'function', pkg: name, row: null });
    else goPage('sites', { blame_regex: exactRegex(name) });
  };
  return (
    <Grid
      label={by === 'package' ? 'Packages' : 'Functions to blame'}
      class="trees site-groups"
      isMain
      cost={cost}
      columns={columns(by)}
      rows={asked ? rows.length : 16}
      rowHeight={ROW_PX}
      rowKey={(i) => rows[i]?.key ?? i}
      rowProps={(i) => ({ onDblClick: () => open(i) })}
      cells={(i) => {
        const row = rows[i];
        return row && asked ? cells(row, asked) : null;
      }}
      sort={{ by: cost, isAscending: params['order'] === 'asc' }}
      onSort={(s) => sortBy(s.by, s.isAscending)}
      selected={Number(params['row'] ?? -1)}
      onSelect={(i) => {
        setQuietly({ row: String(i) });
        const name = by === 'function' ? rows[i]?.name : null;
        if (name) select({ kind: 'fn', key: name });
      }}
      onOpen={open}
      isStale={isStale && asked !== null}
    />
  );
}

function cells(r: GroupRow, asked: GroupRows) {
  return (
    <>
      <span role="gridcell" class="sym" title={r.name ?? undefined}>
        {r.blame ? <Sym frame={r.blame} /> : <span class="fn">{r.name ?? 'no stack'}</span>}
      </span>
      <span role="gridcell" class="pad m2 graph">
        {r.timeline && <Sparkline alive={r.timeline} leaked={r.leaked_timeline} />}
      </span>
      {COSTS.map((k) => (
        <CostCell
          key={k.id}
          cost={k.id}
          value={costOf(r.cost, k.id)}
          total={costOf(asked.total, k.id)}
        />
      ))}
    </>
  );
}
