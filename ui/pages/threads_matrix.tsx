/* "Who frees whose" as a heat map with numbers: lines allocated, columns freed. */
import type { ThreadLine, ThreadLines } from '../api/types';
import { exact, figure, share } from '../model/format';
import { heat, type Measure } from '../model/thread_matrix';
import { set } from '../state/router';
import type { ThreadNames } from '../state/threads';
import { Num } from '../widgets/figures';

interface Props {
  data: ThreadLines;
  measure: Measure;
  names: ThreadNames;
  isStale: boolean;
}

export function Matrix({ data, measure, names, isStale }: Props) {
  const { lines } = data;
  if (!lines.length)
    return <p class="pad-note dim">Nothing that matches was freed, so there is nobody to name.</p>;
  const nameOf = (t: number | null) => (t === null ? 'all others' : names.name(t));
  return (
    <div
      class={'matrix-box' + (isStale ? ' stale' : '')}
      tabIndex={0}
      role="group"
      aria-label="Matrix"
    >
      <table class={`matrix c-${measure === 'bytes' ? 'bytes' : 'allocs'}`}>
        <caption class="dim">
          Row: the thread that allocated. Column: the thread that freed. With a frame: the same
          thread.
        </caption>
        <thead>
          <tr>
            <td />
            {lines.map((l) => (
              <th key={l.thread} scope="col" title={`Freed by ${nameOf(l.thread)}`}>
                <span>{nameOf(l.thread)}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map((l) => (
            <Line key={l.thread} {...{ data, line: l, nameOf, names, measure }} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface LineProps {
  data: ThreadLines;
  line: ThreadLine;
  nameOf: (thread: number | null) => string; // null: all that have no line of their own
  names: ThreadNames;
  measure: Measure;
}

function Line({ data, line, nameOf, names, measure }: LineProps) {
  const { thread } = line;
  const tid = thread === null ? null : names.tid(thread);
  const only = tid ? () => set({ thread: String(tid) }) : undefined;
  return (
    <tr>
      <th scope="row" title={`Allocated by ${nameOf(thread)}`}>
        <span>{nameOf(thread)}</span>
      </th>
      {line.cells.map((value, i) => {
        const by = data.lines[i]?.thread ?? null;
        const isOwn = by === thread && by !== null;
        const part = share(value, line.total);
        const words =
          `${nameOf(by)} freed ${exact(value, measure)}${measure === 'count' ? ' blocks' : ''} ` +
          `of ${nameOf(thread)}${part ? `, ${part} of what was freed` : ''}`;
        const text = <Num value={figure(value, measure)} flow />;
        return (
          <td
            key={by}
            class={isOwn ? 'own' : undefined}
            style={{ '--heat': `${heat(value, isOwn ? data.max_own : data.max_others)}%` }}
            title={words}
          >
            {value > 0 && only ? (
              <button type="button" title={`${words}. Show this thread alone`} onClick={only}>
                {text}
              </button>
            ) : (
              value > 0 && text
            )}
          </td>
        );
      })}
    </tr>
  );
}
