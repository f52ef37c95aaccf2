/* The filter panel's fields while somebody edits them: texts by parameter of the address. Pure.
 *
 * A draft begins as the filters of the address. A text that nobody changed keeps its exact value: the
 * panel shows moments with fewer digits than the address has.
 */
import type { Params } from './address';
import {
  pairError,
  readInput,
  readMoment,
  showInput,
  type InputContext,
  type ShowContext,
} from './filter_input';
import { FILTER_FIELDS, type FilterField } from './filters';

export type Draft = Readonly<Record<string, string>>;

/* The time range as a field of the panel: its parameters are those of the address, in ns. */
export const RANGE_FIELD: FilterField = {
  keys: ['t0', 't1'],
  label: 'Allocated in',
  kind: 'moment',
  placeholder: ['start', 'end'],
};

const ALL_FIELDS: readonly FilterField[] = [RANGE_FIELD, ...FILTER_FIELDS];

/* The field that asks for a parameter of the address or of the API. */
export function fieldOf(key: string): FilterField | null {
  const own = key === 'from' ? 't0' : key === 'to' ? 't1' : key;
  return ALL_FIELDS.find((f) => f.keys.some((k) => k === own)) ?? null;
}

const textOf = (field: FilterField, value: string, c: ShowContext): string =>
  showInput(field, field === RANGE_FIELD ? `+${value}ns` : value, c);

export function draftOf(params: Params, c: ShowContext): Draft {
  const draft: Record<string, string> = {};
  if (params['tm']) draft['tm'] = params['tm'];
  for (const field of ALL_FIELDS)
    for (const key of field.keys) {
      const value = params[key];
      if (value) draft[key] = textOf(field, value, c);
    }
  return draft;
}

export const EMPTY_DRAFT: Draft = {};

export interface ReadDraft {
  params: Record<string, string>; // of the address: only filters that can be read
  errors: Record<string, string>; // parameter -> sentence
}

/* What a draft means. `now` are the filters that the draft began with. */
export function readDraft(draft: Draft, now: Params, c: InputContext): ReadDraft {
  const out: ReadDraft = { params: {}, errors: {} };
  for (const field of FILTER_FIELDS) {
    for (const key of field.keys) readOne(field, key, draft, now, c, out);
    const [low, high] = field.keys;
    const error = high ? pairError(field, out.params[low] ?? '', out.params[high] ?? '') : null;
    if (error) out.errors[low] = error;
  }
  readRange(draft, now, c, out);
  return out;
}

function readOne(
  field: FilterField,
  key: string,
  draft: Draft,
  now: Params,
  c: InputContext,
  out: ReadDraft,
): void {
  const text = draft[key] ?? '';
  const old = now[key];
  if (old && textOf(field, old, c) === text) {
    out.params[key] = old;
    return;
  }
  const typed = readInput(field, text, c);
  if (typed.error !== undefined) out.errors[key] = typed.error;
  else if (typed.value) out.params[key] = typed.value;
}

/* One end alone reaches to the start or to the end of the recording. */
function readRange(draft: Draft, now: Params, c: InputContext, out: ReadDraft): void {
  const ends: Record<string, number> = {};
  for (const key of RANGE_FIELD.keys) {
    const text = (draft[key] ?? '').trim();
    const old = now[key];
    if (!text) continue;
    if (old && textOf(RANGE_FIELD, old, c) === text) ends[key] = Number(old);
    else {
      const typed = readMoment(text, c);
      if (typed.error !== undefined) out.errors[key] = typed.error;
      else ends[key] = Number((typed.value ?? '').replace(/\D/g, ''));
    }
  }
  const { t0, t1 } = ends;
  if (t0 === undefined && t1 === undefined) return;
  const [from, to] = [t0 ?? 0, t1 ?? c.runNs];
  if (to <= from) out.errors['t0'] ??= 'The end of the range is not after its start.';
  out.params['t0'] = String(from);
  out.params['t1'] = String(to);
  if (draft['tm'] && draft['tm'] !== 'in') out.params['tm'] = draft['tm'];
}
