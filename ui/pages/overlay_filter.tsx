/* The filter panel: a sheet at the right below the strip, the same on every page. Every filter of the API
 * is a field here, in plain words; all of them must hold.
 *
 * Fields are a draft until Apply. What the panel cannot read itself (regular expressions, numbers of
 * stacks) the server judges while somebody types, and counts what the draft lets through.
 */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Recording, Summary } from '../api/types';
import { curlOf } from '../api/client';
import {
  draftOf,
  EMPTY_DRAFT,
  fieldOf,
  RANGE_FIELD,
  readDraft,
  type Draft,
} from '../model/filter_draft';
import type { InputContext } from '../model/filter_input';
import { apiFilter, FILTER_GROUPS, FILTER_KEYS } from '../model/filters';
import { count, join } from '../model/format';
import { useClock, useMomentParser } from '../state/clock';
import { openInConsole } from '../state/console';
import { useFilterCheck, type FilterCheck } from '../state/filter_check';
import { closeOverlay, copyText } from '../state/overlay';
import { holdStill } from '../state/recordings';
import { useQuery } from '../state/query';
import { set, useAddress } from '../state/router';
import { Dialog, DialogHead } from '../widgets/dialog';
import { Field, RangeMeaningField, type FormState } from './overlay_filter_fields';

const KEYS = ['t0', 't1', 'tm', ...FILTER_KEYS];
const CHECK_AT_MOST_MS = 600; // how long Apply waits for the server's word about a field

/* What reading the fields depends on. */
function useContext(recording: Recording): InputContext {
  const clock = useClock();
  const parseMoment = useMomentParser();
  const { data } = useQuery<Summary>('summary', {}, { isFiltered: false });
  const runNs = recording.duration_ns ?? 0;
  const peakNs = data ? data.peak_ns : null;
  return useMemo(
    () => ({ runNs, peakNs, clock, parseMoment }),
    [runNs, peakNs, clock, parseMoment],
  );
}

/* The texts of the fields. The strip stays usable while the panel is open: what changes in the address
 * meanwhile changes in the draft, too. */
function useDraft(context: InputContext): [Draft, (changes: Draft) => void, (next: Draft) => void] {
  const { params } = useAddress();
  const [draft, setDraft] = useState(() => draftOf(params, context));
  const seen = useRef(params);
  useEffect(() => {
    const before = seen.current;
    seen.current = params;
    const now = draftOf(params, context);
    const changed = KEYS.filter((key) => before[key] !== params[key]);
    if (changed.length)
      setDraft((d) => ({ ...d, ...Object.fromEntries(changed.map((k) => [k, now[k] ?? ''])) }));
  }, [params, context]);
  return [draft, (changes) => setDraft((d) => ({ ...d, ...changes })), setDraft];
}

export function FilterPanel({ recording, field }: { recording: Recording; field?: string }) {
  const { params } = useAddress();
  const context = useContext(recording);
  const [draft, change, setDraft] = useDraft(context);
  const read = useMemo(() => readDraft(draft, params, context), [draft, params, context]);
  const filter = useMemo(() => apiFilter(read.params), [read]);
  const check = useFilterCheck(recording.id, filter);
  const errors = { ...byField(check.errors), ...read.errors };
  useEffect(holdStill, []);
  const form: FormState = { draft, errors, change };
  const apply = useApply(errors, check, () => {
    set(Object.fromEntries(KEYS.map((key) => [key, read.params[key] ?? null])));
    closeOverlay();
  });
  const copy = () =>
    void copyText(curlOf(`/data/${recording.id}/allocation_groups`, filter), 'curl command');
  const script = () => {
    closeOverlay();
    void openInConsole(recording.id, filter);
  };
  return (
    <Dialog
      label="Filter"
      class="sheet"
      isModal={false}
      close={closeOverlay}
      focus={`[data-key="${field ?? 't0'}"]`}
    >
      <DialogHead
        title="Filter"
        hint="An allocation must fulfil all conditions"
        close={closeOverlay}
      />
      <form
        class="sheet-form"
        noValidate
        onSubmit={(e) => {
          e.preventDefault();
          apply.act();
        }}
      >
        <div class="sheet-body">
          {FILTER_GROUPS.map((group, i) => (
            <fieldset key={group.title}>
              <legend>{group.title}</legend>
              <div class="form">
                {i === 0 && <Field field={RANGE_FIELD} form={form} />}
                {i === 0 && <RangeMeaningField form={form} />}
                {group.fields.map((f) => (
                  <Field key={f.keys[0]} field={f} form={form} />
                ))}
              </div>
            </fieldset>
          ))}
        </div>
        <footer>
          <Matches check={check} errors={errors} isRefused={apply.isRefused} />
          <span class="push buttons">
            <button type="button" class="btn quiet" onClick={copy}>
              Copy as curl
            </button>
            <button
              type="button"
              class="btn quiet"
              onClick={script}
              title="This filter as a script"
            >
              Console
            </button>
            <button type="button" class="btn quiet" onClick={() => setDraft(EMPTY_DRAFT)}>
              Reset
            </button>
            <button type="submit" class="btn primary">
              Apply
            </button>
          </span>
        </footer>
      </form>
    </Dialog>
  );
}

/* The server names parameters of the API; from and to are the ends of the range here. */
const byField = (errors: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(errors).map(([key, text]) => [
      key === 'from' ? 't0' : key === 'to' ? 't1' : key,
      text,
    ]),
  );

/* Apply never does nothing: it applies, or it leads to the field that stops it. While the server has not
 * judged the newest text yet, Apply waits a moment for its word. */
function useApply(
  errors: Readonly<Record<string, string>>,
  check: FilterCheck,
  applyNow: () => void,
): { act: () => void; isRefused: boolean } {
  const [isWanted, setWanted] = useState(false);
  const [isRefused, setRefused] = useState(false);
  const wrong = firstWrong(errors);
  const finish = () => {
    setWanted(false);
    if (!wrong) return applyNow();
    setRefused(true);
    document.querySelector<HTMLElement>(`.sheet [data-key="${wrong}"]`)?.focus();
    return undefined;
  };
  const latest = useRef(finish);
  latest.current = finish;
  useEffect(() => {
    if (!isWanted) return undefined;
    if (wrong || !check.isAsking) {
      latest.current();
      return undefined;
    }
    const timer = setTimeout(() => latest.current(), CHECK_AT_MOST_MS);
    return () => clearTimeout(timer);
  }, [isWanted, wrong, check.isAsking]);
  useEffect(() => setRefused(false), [wrong]);
  return { act: () => setWanted(true), isRefused };
}

/* The topmost field with an error. */
const firstWrong = (errors: Readonly<Record<string, string>>): string | null =>
  KEYS.find((key) => errors[key]) ?? Object.keys(errors)[0] ?? null;

function Matches(p: {
  check: FilterCheck;
  errors: Readonly<Record<string, string>>;
  isRefused: boolean;
}) {
  const { check } = p;
  const wrong = firstWrong(p.errors);
  if (wrong)
    return (
      <span class="matches bad" role={p.isRefused ? 'alert' : 'status'}>
        {p.isRefused && <b>Not applied. </b>}“{fieldOf(wrong)?.label ?? wrong}” cannot be read.
      </span>
    );
  if (check.failure)
    return (
      <span class="matches bad" role="status">
        {check.failure}
      </span>
    );
  return (
    <span
      class={'matches' + (check.isAsking && check.count !== null ? ' stale' : '')}
      role="status"
    >
      {check.count === null ? (
        <span class="dim">Counting allocations</span>
      ) : (
        <>
          <b>{join(count(check.count))}</b>{' '}
          <span class="dim">{check.count === 1 ? 'allocation matches' : 'allocations match'}</span>
        </>
      )}
    </span>
  );
}
