/* The active filters, one chip each, and what is left of how much. */
import { isExported } from '../api/client';
import type { GroupRows, Recording, Summary } from '../api/types';
import { chipsOf, hasFilter, rangeOf, RANGE_MEANINGS, type Chip } from '../model/filters';
import { allAllocations, filterMisses } from '../model/culled';
import { estimateText } from '../model/estimates';
import { callSites, count, group, join, plural } from '../model/format';
import { frameFull, frameLocation, frameTitle } from '../model/names';
import { useClock } from '../state/clock';
import { cancelEstimates, cancellable, coarsest } from '../state/estimates';
import { overlay } from '../state/overlay';
import { useQuery } from '../state/query';
import { goPage, set, useAddress } from '../state/router';
import { findRecording, recordings } from '../state/recordings';
import { useStack } from '../state/stacks';
import { useSignal } from '../state/signal';
import { Icon } from './icons';
import { Menu } from './floating';

const without = (chip: Chip) => set(Object.fromEntries(chip.keys.map((k) => [k, null])));

export function Chips({ recording }: { recording: Recording }) {
  const { params } = useAddress();
  const chips = chipsOf(params, recording.duration_ns ?? 1, useClock());
  return (
    <div class="chips" role="region" aria-label="Active filters">
      {chips.map((chip) => (
        <span class="chip" key={chip.keys.join()}>
          {chip.keys[0] === 't0' ? <RangeChip chip={chip} /> : <EditChip chip={chip} />}
          <button
            type="button"
            class="x"
            aria-label={`Remove filter ${chip.label} ${chip.text}`}
            onClick={() => without(chip)}
          >
            <Icon name="x" />
          </button>
        </span>
      ))}
      <BaseChip />
      {!isExported && (
        <span class="chip add">
          <button type="button" onClick={() => overlay.set({ kind: 'filter' })} title="Filter (F)">
            <Icon name="plus" />
            Filter
          </button>
        </span>
      )}
      <EstimateOrSum />
    </div>
  );
}

function EditChip({ chip }: { chip: Chip }) {
  return (
    <button
      type="button"
      title={chip.full ? `${chip.full}\nClick to change` : 'Change'}
      onClick={() => overlay.set({ kind: 'filter', field: chip.keys[0] ?? '' })}
    >
      <em>{chip.label}</em>
      {STACK_KEYS.includes(chip.keys[0] ?? '') ? <StackNames ids={chip.text} /> : chip.text}
    </button>
  );
}

/* Filters whose values are numbers of stacks: the chip says whose line it is. */
const STACK_KEYS: readonly string[] = [
  'backtraces',
  'negative_backtraces',
  'deallocation_backtraces',
];

function StackNames({ ids }: { ids: string }) {
  const all = ids.split(',');
  const { data, isStale } = useStack(Number(all[0]));
  const frame = data && !isStale ? data.frames[data.blame ?? 0] : null;
  if (!frame) return <>{ids}</>;
  const where = frameLocation(frame);
  return (
    <span title={frameFull(frame)}>
      {frameTitle(frame)}
      {where && ` ${where}`}
      {all.length > 1 && ` and ${all.length - 1} more`}
    </span>
  );
}

/* What the time range means. */
function RangeChip({ chip }: { chip: Chip }) {
  const { params } = useAddress();
  const meaning = rangeOf(params)?.meaning ?? 'in';
  return (
    <Menu
      label={`${chip.label} ${chip.text}: change what the range means`}
      class=""
      button={
        <>
          <em>{chip.label}</em>
          {chip.text}
          <Icon name="caret" />
        </>
      }
      items={() =>
        RANGE_MEANINGS.map(([id, , words]) => ({
          label: words,
          isChecked: id === meaning,
          act: () =>
            id === 'grew' ? goPage('timeline', { tm: id }) : set({ tm: id === 'in' ? null : id }),
        }))
      }
    />
  );
}

function BaseChip() {
  const base = useAddress().params['base'];
  const list = useSignal(recordings);
  if (!base) return null;
  const name = findRecording(list, base)?.file ?? base;
  return (
    <span class="chip">
      <button type="button" onClick={() => goPage('recordings')}>
        <em>Compared with</em>
        {name}
      </button>
      <button
        type="button"
        class="x"
        aria-label="End the comparison"
        onClick={() => set({ base: null })}
      >
        <Icon name="x" />
      </button>
    </span>
  );
}

/* While figures on the page are an estimate, that takes the place of the sums. */
function EstimateOrSum() {
  const percent = useSignal(coarsest);
  const canCancel = useSignal(cancellable) > 0;
  return (
    <>
      <Sum isHidden={percent !== null} />
      {percent !== null && (
        <span class="estimate" role="status">
          <b>{estimateText(percent)}</b>
          {canCancel && (
            <button type="button" class="link" onClick={cancelEstimates}>
              Cancel
            </button>
          )}
        </span>
      )}
    </>
  );
}

/* "55.6 M of 124 M allocations, 20 158 of 21 034 call sites" */
function Sum({ isHidden }: { isHidden: boolean }) {
  const { params } = useAddress();
  const isFiltered = hasFilter(params);
  const all = useQuery<Summary>('summary', {}, { isFiltered: false });
  const some = useQuery<GroupRows>('groups', { by: 'stack', count: 0 }, { isReady: isFiltered });
  if (!all.data) return <span class="sum" />;
  const sites = all.data.call_sites;
  const total = plural(allAllocations(all.data), 'allocation');
  if (!isFiltered)
    return (
      <span class="sum" hidden={isHidden}>
        Whole recording: {total}, {callSites(sites)}
      </span>
    );
  if (!some.data) return <span class="sum" />;
  return (
    <span
      class={'sum' + (some.isStale ? ' stale' : '')}
      aria-live="polite"
      hidden={isHidden}
      title={filterMisses(all.data) || undefined}
    >
      <b>{join(count(some.data.total.allocations))}</b> of {total},{' '}
      <b>{group(some.data.total_count)}</b> of {callSites(sites)}
    </span>
  );
}
