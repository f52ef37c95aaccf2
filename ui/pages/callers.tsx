/* Caller / callee: all functions above, and of the selected one below its callers, its callees and its
 * source lines.
 *
 * Parameters of the page: fn, mod, file (parts of names, they choose rows and change no figure), mine=0
 * (not only functions of own code), alone=1 (without what a function calls), order=asc, pane (which table is shown where there is room for one).
 * The selected function is that of the details panel; without one it is the first of the table.
 */
import { useState } from 'preact/hooks';
import type { FunctionRow, Functions, GroupRows } from '../api/types';
import { COSTS, costOf, type CostId, type CostValues } from '../model/costs';
import { functionsSort, selfCost } from '../model/calls';
import { plural } from '../model/format';
import type { Params } from '../model/address';
import { isDetailsOpen, selectionOf, selectionText } from '../state/details';
import { useKeys } from '../state/keys';
import { copyText, overlay, say } from '../state/overlay';
import { usePages, type Paged } from '../state/pages';
import { useQuery } from '../state/query';
import { address, set, setQuietly, useAddress, useCost } from '../state/router';
import { costLines } from '../model/copy_text';
import { notFunction, onlyFunction } from '../model/only_this';
import { FindField, Foot, NarrowCostSwitch, Segments } from '../widgets/controls';
import { CostCell } from '../widgets/figures';
import { Grid, type Column } from '../widgets/grid';
import { Icon } from '../widgets/icons';
import { NoMatch } from '../widgets/no_match';
import { ErrorNote, Note, Waiting } from '../widgets/notes';
import { CallsOf, FunctionName } from './callers_tables';
import { openFunctionMenu } from './function_menu';
import { MineButton, NoneOfMine, toggleMine } from './mine';
import { isMine } from './tree_data';

export function CallersPage() {
  const { params } = useAddress();
  const cost = useCost();
  const isAlone = params['alone'] === '1';
  const isAscending = params['order'] === 'asc';
  const mine = isMine(params);
  const pages = usePages<FunctionRow, Functions>(
    'functions',
    {
      q: params['fn'],
      module_q: params['mod'],
      source_q: params['file'],
      own: mine || null,
      sort_by: functionsSort(cost, isAlone),
      order: isAscending ? 'asc' : 'dsc',
    },
    { rows: (a) => a.functions, count: (a) => a.total_count },
    { hasEstimate: true },
  );
  const selection = selectionOf(params);
  const name = selection?.kind === 'fn' ? selection.key : (firstToShow(pages)?.function ?? null);
  return (
    <>
      <CallersBar params={params} isAlone={isAlone} />
      <Waiting asked={pages} what="Adding up functions" />
      {pages.error ? (
        <div class="pad-note">
          <ErrorNote
            error={pages.error}
            again={pages.again}
            edit={() => overlay.set({ kind: 'filter', field: pages.error?.answer.parameter ?? '' })}
          />
        </div>
      ) : pages.count === 0 && !pages.isStale ? (
        <NothingHere params={params} />
      ) : (
        <>
          <FunctionsTable {...{ pages, params, cost, isAlone, isAscending, name }} />
          {name !== null && <CallsOf name={name} params={params} />}
          <Foot
            left={
              pages.count === null
                ? ''
                : plural(pages.count, 'function') + (mine ? ' of your code' : '')
            }
            right="A click on a caller or a callee leads to its own callers and callees"
          />
        </>
      )}
    </>
  );
}

/* Shown until somebody selects a function: the first one of the user's own code, or the first one. */
function firstToShow(pages: Paged<FunctionRow>): FunctionRow | null {
  const rows = Array.from({ length: FIRST_ROWS }, (_, i) => pages.row(i));
  return rows.find((r) => r?.frame.class === 'own') ?? rows[0] ?? null;
}
const FIRST_ROWS = 100;

/* ---- the toolbar ---- */

const BOXES = [
  ['fn', 'Function'],
  ['mod', 'Module'],
  ['file', 'File'],
] as const;

function CallersBar({ params, isAlone }: { params: Params; isAlone: boolean }) {
  return (
    <div class="toolbar">
      <NarrowCostSwitch />
      <Icon name="filter" />
      {BOXES.map(([key, label], i) => (
        <FindField
          key={key}
          isBox
          hasKey={i === 0}
          class="box"
          label={label}
          title="Only functions with this part of a name; figures stay"
          value={params[key] ?? ''}
          onChange={(text) => setQuietly({ [key]: text })}
        />
      ))}
      <span class="sep" />
      <MineButton
        params={params}
        title="Only functions of your code; callers and callees below are all of them (M)"
      />
      <Segments
        label="Cost of a function"
        options={[
          { id: 'with', name: 'With callees', hint: 'All that passes through the function' },
          { id: 'alone', name: 'Alone', hint: 'What the function itself asked for' },
        ]}
        value={isAlone ? 'alone' : 'with'}
        onChange={(id) => set({ alone: id === 'alone' ? '1' : null })}
      />
    </div>
  );
}

/* Boxes that match no function, or filters that no allocation passes. */
function NothingHere({ params }: { params: Params }) {
  const typed = BOXES.filter(([key]) => params[key]);
  const all = useQuery<GroupRows>('groups', { by: 'stack', count: 0 });
  if (isMine(params) && all.data?.total.allocations !== 0) return <NoneOfMine what="function" />;
  if (typed.length === 0) return <NoMatch />;
  return (
    <div class="pad-note">
      <Note
        title="No function has such a name."
        actions={
          <button
            type="button"
            class="btn"
            onClick={() => set(Object.fromEntries(BOXES.map(([key]) => [key, null])))}
          >
            Empty the boxes
          </button>
        }
      >
        Functions that match the filters were looked through for{' '}
        {typed.map(([key, label]) => `${label.toLowerCase()} “${params[key]}”`).join(', ')}.
      </Note>
    </div>
  );
}

/* ---- the upper table ---- */

const COLUMNS: readonly Column[] = [
  { id: 'function', title: 'Function' },
  ...COSTS.map((c) => ({ id: c.id, title: c.name, class: 'r', hint: c.hint, sort: c.id })),
];

interface TableProps {
  pages: Paged<FunctionRow>;
  params: Params;
  cost: CostId;
  isAlone: boolean;
  isAscending: boolean;
  name: string | null;
}

function FunctionsTable(p: TableProps) {
  const { pages, isAlone } = p;
  const isChange = !!p.params['base'];
  const total = (pages.first as Functions | null)?.total ?? null;
  const [at, setAt] = useState(-1);
  /* the selected function wherever it is among the rows that are here */
  const isIt = (r: FunctionRow | undefined) => p.name !== null && r?.function === p.name;
  const selected = isIt(pages.row(at)) ? at : pages.find(isIt);
  const row = selected >= 0 ? pages.row(selected) : undefined;
  const costOfRow = (r: FunctionRow): CostValues => (isAlone ? selfCost(r) : r.cost);
  useFunctionKeys(row ?? null, p.params, total, costOfRow);
  const choose = (i: number, change: typeof set) => {
    const name = pages.row(i)?.function;
    if (name === undefined) return;
    setAt(i);
    change({ sel: selectionText({ kind: 'fn', key: name }) });
  };
  return (
    <Grid
      label="Functions"
      class="trees functions"
      isMain
      cost={p.cost}
      columns={COLUMNS}
      rows={pages.count ?? SKELETON_ROWS}
      rowHeight={ROW_PX}
      rowProps={(i) => ({
        onClick: () => {
          isDetailsOpen.set(true);
          choose(i, set);
        },
        onContextMenu: (e) => openFunctionMenu(e, pages.row(i)?.frame ?? null),
      })}
      cells={(i) => {
        const r = pages.row(i);
        return r && total ? functionCells(r, costOfRow(r), total, isChange) : null;
      }}
      sort={{ by: p.cost, isAscending: p.isAscending }}
      onSort={(s) => sortBy(s.by, s.isAscending)}
      selected={selected}
      goTo={{ row: selected, turn: p.name }}
      onSelect={(i) => choose(i, setQuietly)}
      onShow={pages.show}
      isStale={pages.isStale && pages.count !== null}
    />
  );
}

const ROW_PX = 26;
const SKELETON_ROWS = 16; // while nothing is here

const sortBy = (cost: string, isAscending: boolean): void =>
  set({ cost, order: isAscending ? 'asc' : null });

function functionCells(row: FunctionRow, cost: CostValues, total: CostValues, isChange: boolean) {
  return (
    <>
      <span role="gridcell">
        <FunctionName row={row} />
      </span>
      {COSTS.map((k) => (
        <CostCell
          key={k.id}
          cost={k.id}
          value={costOf(cost, k.id)}
          total={costOf(total, k.id)}
          isChange={isChange}
          hasShare={!isChange}
        />
      ))}
    </>
  );
}

function useFunctionKeys(
  row: FunctionRow | null,
  params: Params,
  total: CostValues | null,
  costOfRow: (r: FunctionRow) => CostValues,
): void {
  const withName = (act: (name: string) => void) => () =>
    row?.function ? act(row.function) : say('No function is selected.');
  useKeys({
    ...Object.fromEntries(COSTS.map((c, i) => [String(i + 1), () => sortBy(c.id, false)] as const)),
    m: () => toggleMine(address.value.params),
    o: withName((name) => set(onlyFunction(name))),
    x: withName((name) => set(notFunction(address.value.params, name))),
    y: withName(() => {
      if (!row || !total) return;
      const text = costLines(row.frame, costOfRow(row), total, !!params['base']);
      void copyText(text, 'Name, location and costs');
    }),
  });
}
