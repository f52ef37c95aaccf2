/* The lower half of Caller / callee: of one function its callers, its callees and its source lines.
 * Shares are of that function. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Calls, FunctionRow, LineCost } from '../api/types';
import { largestFirst } from '../model/calls';
import { costKind, costOf, type CostId, type CostValues } from '../model/costs';
import { count, join } from '../model/format';
import { baseName, type FrameName } from '../model/names';
import type { Params } from '../model/address';
import { selectionText } from '../state/details';
import { useQuery } from '../state/query';
import { goPage, hrefPage, set, setQuietly, useAddress, useCost } from '../state/router';
import { CostSwitch, Segments } from '../widgets/controls';
import { CostCell } from '../widgets/figures';
import { Grid } from '../widgets/grid';
import { Sym } from '../widgets/names';
import { ErrorNote, Note, Waiting } from '../widgets/notes';
import { openFunctionMenu } from './function_menu';

export function FunctionName({ row }: { row: FunctionRow }) {
  return <Sym frame={row.frame} />;
}

const ROW_PX = 26;
const PANES = ['callers', 'callees', 'lines'] as const;
type Pane = (typeof PANES)[number];

export function CallsOf({ name, params }: { name: string; params: Params }) {
  const cost = useCost();
  const asked = useQuery<Calls>('callers', { function: name });
  const calls = asked.data;
  const pane = PANES.find((p) => p === params['pane']) ?? 'callers';
  const isChange = !!params['base'];
  const shared = { cost, whole: calls?.function.cost ?? null, isChange, isStale: asked.isStale };
  return (
    <section class="calls" aria-label="Callers and callees" data-pane={pane}>
      <CallsHead calls={calls} name={name} pane={pane} />
      <Waiting asked={asked} what="Adding up callers and callees" />
      {asked.error ? (
        <div class="pad-note">
          {asked.error.status === 404 ? (
            <Note title="No allocation that matches passes through this function." />
          ) : (
            <ErrorNote error={asked.error} again={asked.again} />
          )}
        </div>
      ) : (
        <div class="calls-panes">
          <FunctionsPane
            {...shared}
            id="callers"
            title="Callers"
            empty="Nobody calls this function: a stack begins with it."
            rows={calls?.callers ?? null}
          />
          <FunctionsPane
            {...shared}
            id="callees"
            title="Callees"
            empty="This function calls nobody that allocates."
            rows={calls?.callees ?? null}
          />
          <LinesPane {...shared} rows={calls?.lines ?? null} />
        </div>
      )}
    </section>
  );
}

function CallsHead(p: { calls: Calls | null; name: string; pane: Pane }) {
  const a = useAddress();
  const frame = p.calls?.function.function === p.name ? p.calls.function.frame : null;
  const n = (rows: readonly unknown[] | undefined) => (rows ? ` ${join(count(rows.length))}` : '');
  const words: Record<Pane, string> = {
    callers: `Callers${n(p.calls?.callers)}`,
    callees: `Callees${n(p.calls?.callees)}`,
    lines: `Lines${n(p.calls?.lines)}`,
  };
  return (
    <div class="toolbar calls-head">
      <h2>{frame ? <Sym frame={frame} /> : p.name}</h2>
      {frame?.source && (
        <a
          class="link"
          href={hrefPage(a, 'source', { file: frame.source, line: String(frame.line ?? 1) })}
        >
          Source
        </a>
      )}
      <Segments
        label="Which table"
        class="calls-choice"
        options={PANES.map((id) => ({ id, name: words[id] }))}
        value={p.pane}
        onChange={(id) => setQuietly({ pane: id === 'callers' ? null : id })}
      />
      <span class="push wide">
        <CostSwitch />
      </span>
    </div>
  );
}

interface PaneProps {
  cost: CostId;
  whole: CostValues | null; // what shares are of
  isChange: boolean;
  isStale: boolean;
}

interface RowsProps<T> extends PaneProps {
  id: Pane;
  title: string;
  empty: string;
  rows: readonly T[] | null; // null: not here yet
  first: (row: T) => ComponentChildren;
  act: (row: T) => void; // click, Enter
  frame?: (row: T) => FrameName | null; // that the menu is about
}

/* One of the three tables: a name and the chosen cost. */
function PaneTable<T extends { cost: CostValues }>(p: RowsProps<T>) {
  const [at, setAt] = useState(-1);
  const rows = p.rows && largestFirst(p.rows, p.cost);
  const kind = costKind(p.cost);
  const title = rows ? `${p.title} ${join(count(rows.length))}` : p.title;
  const open = (i: number) => {
    const row = rows?.[i];
    if (row) p.act(row);
  };
  if (rows?.length === 0)
    return (
      <div class={`pane pane-${p.id}`}>
        <h3>{title}</h3>
        <p class="dim">{p.empty}</p>
      </div>
    );
  return (
    <div class={`pane pane-${p.id}`}>
      <Grid
        label={p.title}
        class="pane-rows"
        cost={p.cost}
        columns={[
          { id: 'name', title },
          { id: kind.id, title: kind.name, class: 'r', hint: kind.hint },
        ]}
        rows={rows?.length ?? 3}
        rowHeight={ROW_PX}
        rowProps={(i) => ({
          onClick: () => open(i),
          onContextMenu: (e) => {
            const row = rows?.[i];
            openFunctionMenu(e, (row && p.frame?.(row)) ?? null);
          },
        })}
        cells={(i) => {
          const row = rows?.[i];
          if (!row || !p.whole) return null;
          return (
            <>
              <span role="gridcell">{p.first(row)}</span>
              <CostCell
                cost={p.cost}
                value={costOf(row.cost, p.cost)}
                total={costOf(p.whole, p.cost)}
                isChange={p.isChange}
                hasShare={!p.isChange}
              />
            </>
          );
        }}
        selected={at < (rows?.length ?? 0) ? at : -1}
        onSelect={setAt}
        onOpen={open}
        isStale={p.isStale && rows !== null}
      />
    </div>
  );
}

type FunctionsPaneProps = Omit<RowsProps<FunctionRow>, 'first' | 'act'>;

function FunctionsPane(p: FunctionsPaneProps) {
  return (
    <PaneTable
      {...p}
      first={(row) => <FunctionName row={row} />}
      frame={(row) => row.frame}
      act={(row) => {
        if (row.function !== null) set({ sel: selectionText({ kind: 'fn', key: row.function }) });
      }}
    />
  );
}

function LinesPane(p: PaneProps & { rows: readonly LineCost[] | null }) {
  const a = useAddress();
  const fileOf = (row: LineCost): string => row.source ?? ''; // callers always says it
  const to = (row: LineCost) => ({ file: fileOf(row), line: String(row.line) });
  return (
    <PaneTable<LineCost>
      {...p}
      id="lines"
      title="Source lines"
      empty="No line of this function is known: its module has no debug information."
      first={(row) => (
        <a
          class="link"
          href={hrefPage(a, 'source', to(row))}
          title={`${fileOf(row)}:${row.line}`}
          tabIndex={-1}
        >
          {baseName(fileOf(row))}:{row.line}
        </a>
      )}
      act={(row) => goPage('source', to(row))}
    />
  );
}
