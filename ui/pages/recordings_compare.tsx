/* Picking two recordings: the base, the new one, how their key figures differ, and the way to compare them in
 * full, in a bar below the table. */
import type { Recording } from '../api/types';
import type { Params } from '../model/address';
import { change, exact, join, wallClockShort, type Unit } from '../model/format';
import { basename } from '../model/recording';
import { go, set } from '../state/router';
import { Icon } from '../widgets/icons';

/* The picked recordings that are still there, base first. */
export const pickedIds = (params: Params, list: readonly Recording[]): string[] =>
  (params['pick'] ?? '')
    .split(',')
    .filter((id) => list.some((r) => r.id === id && r.state === 'ready'))
    .slice(0, 2);

/* Picks or unpicks; a third one replaces the second. Always true: the key is used. */
export function togglePick(r: Recording, picked: readonly string[]): true {
  if (r.state !== 'ready') return true;
  const next = picked.includes(r.id)
    ? picked.filter((id) => id !== r.id)
    : [...picked.slice(0, 1), r.id];
  set({ pick: next.join(',') });
  return true;
}

const nameOf = (r: Recording): string =>
  [basename(r), r.start_ns ? wallClockShort(r.start_ns) : ''].filter(Boolean).join(', ');

/* Runs of one program within a minute have the same name: their files tell them apart. */
function namesOf(base: Recording, fresh: Recording | undefined): [base: string, fresh: string] {
  if (!fresh) return [nameOf(base), 'pick another one'];
  const names: [string, string] = [nameOf(base), nameOf(fresh)];
  return names[0] === names[1] ? [base.file, fresh.file] : names;
}

/* The key figures of the new one minus those of the base. */
function Changes({ base, fresh }: { base: Recording; fresh: Recording }) {
  const figures: readonly (readonly [string, Unit, number])[] = [
    ['Peak', 'bytes', (fresh.peak_bytes ?? 0) - (base.peak_bytes ?? 0)],
    ['Leaked', 'bytes', (fresh.leaked_bytes ?? 0) - (base.leaked_bytes ?? 0)],
    ['Allocations', 'count', (fresh.allocations ?? 0) - (base.allocations ?? 0)],
  ];
  return (
    <span class="changes">
      {figures.map(([name, unit, value]) => (
        <span key={name} title={exact(value, unit)}>
          <span class="dim">{name}</span> {join(change(value, unit))}
        </span>
      ))}
    </span>
  );
}

export function CompareBar({ picked, list }: { picked: string[]; list: readonly Recording[] }) {
  const [base, fresh] = picked.map((id) => list.find((r) => r.id === id));
  if (!base) return null;
  const [baseName, freshName] = namesOf(base, fresh);
  return (
    <div class="comparebar" role="region" aria-label="Comparison">
      <b>Compare</b>
      <span class="badge">base</span>
      <span class="name">{baseName}</span>
      <Icon name="right" />
      <span class="badge">new</span>
      <span class={fresh ? 'name' : 'name dim'}>{freshName}</span>
      {fresh && <Changes base={base} fresh={fresh} />}
      <span class="push buttons">
        <button type="button" class="btn quiet" onClick={() => set({ pick: null })}>
          Cancel
        </button>
        {fresh && (
          <>
            <button
              type="button"
              class="btn"
              onClick={() => set({ pick: [...picked].reverse().join(',') })}
            >
              Swap
            </button>
            <button
              type="button"
              class="btn primary"
              onClick={() => go({ rec: fresh.id, page: 'flame', params: { base: base.id } })}
            >
              Compare these two
            </button>
          </>
        )}
      </span>
    </div>
  );
}
