/* Source without a file: the files that the recording names, with what passes through them. */
import { useState } from 'preact/hooks';
import type { Found, GroupRows } from '../api/types';
import { COSTS, costOf, type CostValues } from '../model/costs';
import { largestFirst } from '../model/calls';
import { count, join, plural } from '../model/format';
import { baseName } from '../model/names';
import { useKeys } from '../state/keys';
import { useQuery } from '../state/query';
import { address, go, hrefWith, set, setQuietly, useAddress, useCost } from '../state/router';
import { parseAddress } from '../model/address';
import { FindField, Foot, NarrowCostSwitch } from '../widgets/controls';
import { CostCell } from '../widgets/figures';
import { Grid, type Column } from '../widgets/grid';
import { NoMatch } from '../widgets/no_match';
import { ErrorNote, Note, Waiting } from '../widgets/notes';
import { MineButton, NoneOfMine, toggleMine } from './mine';
import { isMine } from './tree_data';

const ROW_PX = 26;
const MAX_FILES = 1000; // more are found by their name

const COLUMNS: readonly Column[] = [
  { id: 'file', title: 'File' },
  ...COSTS.map((c) => ({ id: c.id, title: c.name, class: 'r', hint: c.hint, sort: c.id })),
];

export function FileList() {
  const a = useAddress();
  const cost = useCost();
  const [at, setAt] = useState(-1);
  const q = a.params['q'] ?? '';
  const mine = isMine(a.params);
  const asked = useQuery<Found>(
    'search',
    { q, count: MAX_FILES, own: mine || null },
    { isMain: true },
  );
  const all = useQuery<GroupRows>('groups', { by: 'stack', count: 0 });
  const isAscending = a.params['order'] === 'asc';
  const files = largestFirst(asked.data?.files ?? [], cost);
  if (isAscending) files.reverse();
  const total = all.data?.total ?? null;
  const open = (i: number) => {
    const file = files[i];
    if (file) go(parseAddress(hrefWith(a, { file: file.source, q: null })));
  };
  const sortBy = (by: string, ascending: boolean) =>
    set({ cost: by, order: ascending ? 'asc' : null });
  useKeys({
    ...Object.fromEntries(COSTS.map((c, i) => [String(i + 1), () => sortBy(c.id, false)] as const)),
    m: () => toggleMine(address.value.params),
  });
  return (
    <>
      <div class="toolbar">
        <h1>Source</h1>
        <FindField label="Find a file" value={q} onChange={(text) => setQuietly({ q: text })} />
        <MineButton params={a.params} title="Only files of your code (M)" />
        <NarrowCostSwitch />
        <span class="push dim m2 hint">Cost of all stacks with a line of the file</span>
      </div>
      <Waiting asked={asked} what="Adding up files" />
      {asked.error ? (
        <div class="pad-note">
          <ErrorNote error={asked.error} again={asked.again} />
        </div>
      ) : asked.data && files.length === 0 && !asked.isStale ? (
        <NoFile q={q} mine={mine} />
      ) : (
        <>
          <Grid
            label="Files"
            class="trees files"
            isMain
            cost={cost}
            columns={COLUMNS}
            rows={asked.data ? files.length : 16}
            rowHeight={ROW_PX}
            rowKey={(i) => files[i]?.source ?? i}
            rowProps={(i) => ({ onClick: () => open(i) })}
            cells={(i) => {
              const file = files[i];
              return file && total
                ? fileCells(file, total, hrefWith(a, { file: file.source, q: null }))
                : null;
            }}
            sort={{ by: cost, isAscending }}
            onSort={(s) => sortBy(s.by, s.isAscending)}
            selected={at}
            onSelect={setAt}
            onOpen={open}
            isStale={asked.isStale && asked.data !== null}
          />
          <FileFoot shown={files.length} total={asked.data?.total_files ?? 0} />
        </>
      )}
    </>
  );
}

function FileFoot({ shown, total }: { shown: number; total: number }) {
  const text =
    total > shown
      ? `${join(count(shown))} of ${plural(total, 'file')}: find others by their name`
      : plural(shown, 'file');
  return <Foot left={text} right="Enter opens a file" />;
}

function fileCells(file: { source: string; cost: CostValues }, total: CostValues, href: string) {
  const name = baseName(file.source);
  return (
    <>
      <span role="gridcell" class="sym" title={file.source}>
        <a class="fn" href={href} tabIndex={-1}>
          {name}
        </a>
        <span class="rest">{file.source.slice(0, file.source.length - name.length)}</span>
      </span>
      {COSTS.map((k) => (
        <CostCell
          key={k.id}
          cost={k.id}
          value={costOf(file.cost, k.id)}
          total={costOf(total, k.id)}
        />
      ))}
    </>
  );
}

function NoFile({ q, mine }: { q: string; mine: boolean }) {
  const all = useQuery<GroupRows>('groups', { by: 'stack', count: 0 });
  if (all.data?.total.allocations === 0) return <NoMatch />;
  if (mine) return <NoneOfMine what="file" />;
  return (
    <div class="pad-note">
      <Note
        title={q ? `No file has “${q}” in its name.` : 'No source file is known.'}
        actions={
          q && (
            <button type="button" class="btn" onClick={() => set({ q: null })}>
              All files
            </button>
          )
        }
      >
        {q
          ? 'Only files count that matching allocations pass through.'
          : 'The modules of this recording have no debug information that names lines.'}
      </Note>
    </div>
  );
}
