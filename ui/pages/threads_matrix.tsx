/* "Who frees whose" as a heat map with numbers: lines allocated, columns freed. */
import { useMemo } from 'preact/hooks';
import { exact, figure, share } from '../model/format';
import { heat, matrixOf, OTHERS, type Measure, type Pair } from '../model/thread_matrix';
import { set } from '../state/router';
import type { ThreadNames } from '../state/threads';
import { Num } from '../widgets/figures';

const TOP = 12;

interface Props {
  pairs: readonly Pair[];
  measure: Measure;
  names: ThreadNames;
  isStale: boolean;
}

export function Matrix({ pairs, measure, names, isStale }: Props) {
  const m = useMemo(() => matrixOf(pairs, measure, TOP), [pairs, measure]);
  if (!m.threads.length)
    return <p class="pad-note dim">Nothing that matches was freed, so there is nobody to name.</p>;
  const nameOf = (t: number) => (t === OTHERS ? 'all others' : names.name(t));
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
            {m.threads.map((t) => (
              <th key={t} scope="col" title={`Freed by ${nameOf(t)}`}>
                <span>{nameOf(t)}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {m.threads.map((t, i) => (
            <Line key={t} m={m} line={i} nameOf={nameOf} names={names} measure={measure} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface LineProps {
  m: ReturnType<typeof matrixOf>;
  line: number;
  nameOf: (thread: number) => string;
  names: ThreadNames;
  measure: Measure;
}

function Line({ m, line, nameOf, names, measure }: LineProps) {
  const thread = m.threads[line] ?? OTHERS;
  const cells = m.cells[line] ?? [];
  const sum = cells.reduce((s, v) => s + v, 0);
  const tid = thread === OTHERS ? null : names.tid(thread);
  const only = tid ? () => set({ thread: String(tid) }) : undefined;
  return (
    <tr>
      <th scope="row" title={`Allocated by ${nameOf(thread)}`}>
        <span>{nameOf(thread)}</span>
      </th>
      {cells.map((value, i) => {
        const by = m.threads[i] ?? OTHERS;
        const isOwn = by === thread && by !== OTHERS;
        const part = share(value, sum);
        const words =
          `${nameOf(by)} freed ${exact(value, measure)}${measure === 'count' ? ' blocks' : ''} ` +
          `of ${nameOf(thread)}${part ? `, ${part} of what was freed` : ''}`;
        const text = <Num value={figure(value, measure)} flow />;
        return (
          <td
            key={by}
            class={isOwn ? 'own' : undefined}
            style={{ '--heat': `${heat(value, isOwn ? m.maxOwn : m.maxOthers)}%` }}
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
