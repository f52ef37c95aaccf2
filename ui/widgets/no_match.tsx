/* Instead of an empty table or graph: nothing matches the filters, or nothing leaked.
 *
 * A page shows <NoMatch /> when its answer is empty, and <NoLeak /> when its cost is "leaked" and the total
 * is 0 B. NoMatch names the filters, says how many allocations would match without each of them, and
 * removes them on request.
 */
import type { ComponentChildren } from 'preact';
import { apiUrl } from '../api/client';
import type { Recording, Summary } from '../api/types';
import type { Params } from '../model/address';
import { allAllocations } from '../model/culled';
import { apiFilter, chipsOf, NO_FILTER, rangeOf, type Chip } from '../model/filters';
import { bytes, count, join } from '../model/format';
import { withParams } from '../model/address';
import { useClock } from '../state/clock';
import { useQuery, useUrl } from '../state/query';
import { dataVersion, useRecording } from '../state/recordings';
import { set, useAddress } from '../state/router';
import { Note } from './notes';

const COUNTED = 6; // filters whose share in the emptiness is asked for

const quoted = (chip: Chip): string => `“${chip.label} ${chip.text}”`;

/* "a", "a and b", "a, b and c" */
function listed(chips: readonly Chip[]): string {
  const names = chips.map(quoted);
  const last = names.pop() ?? '';
  return names.length ? `${names.join(', ')} and ${last}` : last;
}

/* How many allocations match these parameters of an address; null: not known (yet). */
function useMatches(r: Recording | null, params: Params | null): number | null {
  const filter = params ? apiFilter(params) : {};
  const isWhole = Object.keys(filter).length === 0;
  const url = r && params ? apiUrl(`${r.id}/summary`, filter) : null;
  const { data, isStale } = useUrl<Summary>(url, dataVersion(r));
  if (!data || isStale) return null;
  return isWhole ? allAllocations(data) : (data.matched?.allocations ?? null);
}

const removed = (chip: Chip): Record<string, null> =>
  Object.fromEntries(chip.keys.map((key) => [key, null]));

/* `children`: what to say when no filter is active, for pages that can be empty without one. */
export function NoMatch({ children }: { children?: ComponentChildren }) {
  const { params } = useAddress();
  const r = useRecording();
  const chips = chipsOf(params, r?.duration_ns ?? 1, useClock());
  const isRange = rangeOf(params) !== null;
  const { t0, t1, tm } = params;
  const frame: Params = isRange ? withParams({}, { t0: t0 ?? '', t1: t1 ?? '', tm: tm ?? '' }) : {};
  const held = useMatches(r, chips.length ? frame : null);
  const all = useQuery<Summary>('summary', {}, { isFiltered: false }).data;
  if (params['lifetime'] === 'only_leaked' && all?.leaked_count === 0) return <NoLeak />;
  if (!chips.length)
    return (
      <div class="pad-note">
        <Note title="There is nothing to show here.">{children}</Note>
      </div>
    );
  const [range, others] = isRange ? [chips[0], chips.slice(1)] : [undefined, chips];
  const holder = range ? `The time range ${range.text}` : 'The recording';
  const what =
    held === null ? '' : held === 0 ? 'no allocation' : `${join(count(held))} allocations`;
  return (
    <div class="pad-note">
      <Note
        title="No allocation matches these filters."
        actions={
          <>
            {chips.slice(0, COUNTED).map((chip) => (
              <Remove key={chip.keys.join()} chip={chip} recording={r} />
            ))}
            <button type="button" class="btn quiet" onClick={() => set(NO_FILTER)}>
              Reset all filters
            </button>
          </>
        }
      >
        {held !== null && `${holder} holds ${what}`}
        {held ? `, but none of them fits ${listed(others)}.` : held === null ? '' : '.'}
      </Note>
    </div>
  );
}

/* Removes one filter, and says what that would bring. */
function Remove({ chip, recording }: { chip: Chip; recording: Recording | null }) {
  const { params } = useAddress();
  const n = useMatches(recording, withParams(params, removed(chip)));
  return (
    <button type="button" class="btn" onClick={() => set(removed(chip))}>
      Remove {quoted(chip)}
      {n !== null && <span class="dim">{n ? `${join(count(n))} then match` : 'still none'}</span>}
    </button>
  );
}

export function NoLeak() {
  const { data } = useQuery<Summary>('summary', {}, { isFiltered: false });
  return (
    <div class="pad-note">
      <Note
        title="Everything was freed."
        actions={
          <button type="button" class="btn" onClick={() => set({ cost: 'peak', lifetime: null })}>
            Show the peak
          </button>
        }
      >
        {data &&
          `${join(count(allAllocations(data)))} allocations, ${join(bytes(data.leaked_bytes))} left at the end.`}
      </Note>
    </div>
  );
}
