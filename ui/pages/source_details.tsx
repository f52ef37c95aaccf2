/* In the panel of the Source page: the selected line, what it costs, and who calls its function. */
import type { Calls, FunctionRow, GroupRows, Source } from '../api/types';
import { largestFirst } from '../model/calls';
import { costKind, costOf } from '../model/costs';
import { share } from '../model/format';
import { baseName, frameTitle, splitName } from '../model/names';
import { onlyFunction } from '../model/only_this';
import { selectionOf, selectionText } from '../state/details';
import { useQuery } from '../state/query';
import { hrefPage, set, useAddress, useCost } from '../state/router';
import { editorLink } from '../state/settings';
import { Block } from '../widgets/details';
import { CostBars, Value } from '../widgets/figures';

const MAX_CALLERS = 12;

export function LineDetails() {
  const { params } = useAddress();
  const file = params['file'] ?? '';
  const line = Number(params['line'] ?? 0);
  const asked = useQuery<Source>('source', { file }, { isReady: file !== '' });
  const all = useQuery<GroupRows>('groups', { by: 'stack', count: 0 });
  const known = asked.data?.lines.find((l) => l.line === line);
  const hasOther = selectionOf(params) !== null;
  return (
    <>
      <Block title={hasOther ? 'The chosen line' : undefined}>
        {!hasOther && known?.function && (
          <div class="block-title" title={known.function}>
            <small>{splitName(known.function)[0]}</small>
            {splitName(known.function)[1]}
          </div>
        )}
        <div class="dim where">
          {baseName(file)}:{line}
        </div>
      </Block>
      <Block>
        <div class="actions">
          {known?.function && (
            <button
              type="button"
              class="btn"
              onClick={() => set(onlyFunction(known.function ?? ''))}
            >
              Only this function
            </button>
          )}
          {asked.data?.found && (
            <a class="btn" href={editorLink(asked.data.path ?? file, line)}>
              Open in editor
            </a>
          )}
        </div>
      </Block>
      {known && all.data ? (
        <Block title="Cost of this line with everything it calls">
          <CostBars cost={known.cost} total={all.data.total} />
        </Block>
      ) : (
        asked.data && <p class="dim">No allocation that matches passes through this line.</p>
      )}
      {known?.function && <CallersOf name={known.function} />}
    </>
  );
}

/* Shares are of the function. */
function CallersOf({ name }: { name: string }) {
  const a = useAddress();
  const cost = useCost();
  const asked = useQuery<Calls>('callers', { function: name });
  const calls = asked.data?.function.function === name ? asked.data : null;
  if (!calls) return null;
  const callers = largestFirst(calls.callers, cost);
  const kind = costKind(cost);
  const shown = callers.slice(0, MAX_CALLERS);
  const all = hrefPage(a, 'callers', { sel: selectionText({ kind: 'fn', key: name }) });
  return (
    <Block
      title={`Callers of ${splitName(name)[1]}`}
      right={
        <a class="link" href={all}>
          {callers.length > shown.length ? `All ${callers.length}` : 'Caller / callee'}
        </a>
      }
    >
      {callers.length === 0 && <p class="dim">Nobody calls it: stacks begin with it.</p>}
      <ul class={'caller-list' + (asked.isStale ? ' stale' : '')}>
        {shown.map((row) => (
          <li key={row.key}>
            <CallerLink row={row} />
            <Value value={costOf(row.cost, cost)} unit={kind.unit} />
            <span class="pc">
              {share(costOf(row.cost, cost), costOf(calls.function.cost, cost))}
            </span>
          </li>
        ))}
      </ul>
    </Block>
  );
}

function CallerLink({ row }: { row: FunctionRow }) {
  const a = useAddress();
  const { source, line } = row.frame;
  const href = source
    ? hrefPage(a, 'source', { file: source, line: String(line ?? 1), sel: null })
    : hrefPage(a, 'callers', { sel: selectionText({ kind: 'fn', key: row.function }) });
  return (
    <a class="link" href={href} title={row.function}>
      {frameTitle(row.frame)}
    </a>
  );
}
