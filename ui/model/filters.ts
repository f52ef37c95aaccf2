/* The filters of the API in the words of the GUI: what chips say, what the panel asks for, what is
 * sent to the server. Pure.
 *
 * A filter lives in the address under the API's own parameter name, so that "copy as curl" and the
 * address agree. Only the time range has names of its own (t0, t1, tm), because one range can mean
 * four things.
 */
import { bytes, clock, clockDigits, duration, join, type ClockText } from './format';
import { splitName } from './names';
import { boxOfRegex, exactTexts } from './regex_box';
import type { Params } from './address';

export type FieldKind =
  'size' | 'interval' | 'moment' | 'count' | 'share' | 'regex' | 'text' | 'choice';

export interface FilterField {
  /* parameters of the API: one, or the lower and the upper bound */
  keys: readonly [string] | readonly [string, string];
  label: string; // in the panel and on the chip
  kind: FieldKind;
  placeholder?: string | readonly [string, string];
  hint?: string;
  /* for kind choice: value -> words; the first is "any" and sends nothing */
  choices?: readonly (readonly [value: string, words: string])[];
}

export interface FilterGroup {
  title: string;
  fields: readonly FilterField[];
}

const range = (name: string): readonly [string, string] => [`${name}_min`, `${name}_max`];

/* The panel, from top to bottom. */
export const FILTER_GROUPS: readonly FilterGroup[] = [
  {
    title: 'Time',
    fields: [
      {
        keys: ['alive_at'],
        label: 'Alive at',
        kind: 'moment',
        placeholder: '04:52:17, 80 %, or peak',
      },
      { keys: ['alive_at_2'], label: 'Also alive at', kind: 'moment', placeholder: '05:10:00' },
      {
        keys: ['window_from', 'window_to'],
        label: 'Window',
        kind: 'moment',
        placeholder: ['start', 'end'],
        hint: 'A second time range, for “Allocated” and “Freed” below',
      },
      {
        keys: ['allocated'],
        label: 'Allocated',
        kind: 'choice',
        choices: [
          ['', 'Any time'],
          ['inside', 'In the window'],
          ['outside', 'Not in it'],
        ],
      },
      {
        keys: ['freed'],
        label: 'Freed',
        kind: 'choice',
        choices: [
          ['', 'Any time'],
          ['inside', 'In the window'],
          ['outside', 'Not in it'],
        ],
      },
    ],
  },
  {
    title: 'Lifetime',
    fields: [
      {
        keys: ['lifetime'],
        label: 'Freed',
        kind: 'choice',
        choices: [
          ['', 'Any'],
          ['only_leaked', 'Never'],
          ['only_temporary', 'At some time'],
          ['only_chain_leaked', 'Never, with its realloc chain'],
          ['only_whole_group_leaked', 'Nothing of its call site'],
          ['only_deallocated_in_current_range', 'By the end of the range'],
          ['only_not_deallocated_in_current_range', 'Not by the end of the range'],
        ],
      },
      {
        keys: ['temporary'],
        label: 'Temporary',
        kind: 'choice',
        choices: [
          ['', 'Any'],
          ['yes', 'Only temporary'],
          ['no', 'Not temporary'],
        ],
        hint: 'Temporary: freed before the same thread allocated again',
      },
      {
        keys: range('lifetime'),
        label: 'Lived for',
        kind: 'interval',
        placeholder: ['10 ms', 'any'],
        hint: 'For example 250ms, 4h3m2s',
      },
    ],
  },
  {
    title: 'Size',
    fields: [
      {
        keys: range('size'),
        label: 'Bytes asked for',
        kind: 'size',
        placeholder: ['0', 'any'],
        hint: 'For example 64, 4K, 1.5M',
      },
      {
        keys: range('usable_size'),
        label: 'Usable bytes',
        kind: 'size',
        placeholder: ['0', 'any'],
      },
      {
        keys: range('first_size'),
        label: 'First of its chain',
        kind: 'size',
        placeholder: ['0', 'any'],
      },
      {
        keys: range('last_size'),
        label: 'Last of its chain',
        kind: 'size',
        placeholder: ['0', 'any'],
      },
    ],
  },
  {
    title: 'Stack',
    fields: [
      {
        keys: ['function_regex'],
        label: 'Has function',
        kind: 'regex',
        placeholder: 'regular expression',
      },
      { keys: ['negative_function_regex'], label: 'Has no function', kind: 'regex' },
      {
        keys: ['blame_regex'],
        label: 'Allocated by',
        kind: 'regex',
        hint: 'The innermost function of your own code on the stack',
      },
      { keys: ['source_regex'], label: 'Has file', kind: 'regex', placeholder: 'seen\\.rs' },
      { keys: ['negative_source_regex'], label: 'Has no file', kind: 'regex' },
      {
        keys: ['frame_regex'],
        label: 'Has function or file',
        kind: 'regex',
      },
      { keys: ['module_regex'], label: 'Has module', kind: 'regex', placeholder: 'librocksdb' },
      { keys: ['negative_module_regex'], label: 'Has no module', kind: 'regex' },
      {
        keys: range('backtrace_depth'),
        label: 'Frames',
        kind: 'count',
        placeholder: ['1', 'any'],
      },
      { keys: ['backtraces'], label: 'Call site', kind: 'text', placeholder: 'number' },
      {
        keys: ['negative_backtraces'],
        label: 'Not call site',
        kind: 'text',
        placeholder: 'number',
      },
      { keys: ['deallocation_backtraces'], label: 'Freed at', kind: 'text', placeholder: 'number' },
    ],
  },
  {
    title: 'Call site as a whole',
    fields: [
      {
        keys: range('group_allocations'),
        label: 'Allocations',
        kind: 'count',
        placeholder: ['1', 'any'],
      },
      {
        keys: range('group_leaked_allocations'),
        label: 'Leaked of them',
        kind: 'share',
        placeholder: ['0 %', '100 %'],
        hint: 'A number or a share',
      },
      {
        keys: range('group_interval'),
        label: 'From first to last',
        kind: 'interval',
        placeholder: ['0', 'any'],
      },
      {
        keys: range('group_max_total_usage_first_seen'),
        label: 'Largest at',
        kind: 'moment',
        placeholder: ['start', 'end'],
      },
    ],
  },
  {
    title: 'Block',
    fields: [
      { keys: ['thread'], label: 'Thread', kind: 'text', placeholder: 'thread id' },
      {
        keys: ['mmaped'],
        label: 'Memory from',
        kind: 'choice',
        choices: [
          ['', 'Any'],
          ['no', 'Heap'],
          ['yes', 'mmap'],
        ],
      },
      {
        keys: ['arena'],
        label: 'Arena',
        kind: 'choice',
        choices: [
          ['', 'Any'],
          ['main', 'Main'],
          ['non_main', 'Others'],
        ],
      },
      {
        keys: ['allocator'],
        label: 'Allocator',
        kind: 'regex',
        placeholder: 'jemalloc',
      },
      {
        keys: ['jemalloc'],
        label: 'jemalloc',
        kind: 'choice',
        choices: [
          ['', 'Any'],
          ['yes', 'Yes'],
          ['no', 'No'],
        ],
      },
      {
        keys: ['crossed'],
        label: 'Freed by another allocator',
        kind: 'choice',
        choices: [
          ['', 'Any'],
          ['yes', 'Yes'],
          ['no', 'No'],
        ],
      },
      {
        keys: range('chain_length'),
        label: 'Chain length',
        kind: 'count',
        placeholder: ['1', 'any'],
      },
      {
        keys: range('chain_lifetime'),
        label: 'Chain lived for',
        kind: 'interval',
        placeholder: ['0', 'any'],
      },
      {
        keys: range('position_in_chain'),
        label: 'Position in its chain',
        kind: 'count',
        placeholder: ['0', 'any'],
      },
      {
        keys: range('address'),
        label: 'Address',
        kind: 'text',
        placeholder: ['0x7f1a00000000', 'any'],
      },
      { keys: ['from_map'], label: 'In mapping', kind: 'text', placeholder: 'number' },
      { keys: ['marker'], label: 'Marker', kind: 'text', placeholder: 'number set by the program' },
    ],
  },
];

export const FILTER_FIELDS: readonly FilterField[] = FILTER_GROUPS.flatMap((g) => g.fields);

/* Every parameter of the API that filters and that the address may carry. */
export const FILTER_KEYS: readonly string[] = FILTER_FIELDS.flatMap((f) => [...f.keys]);

/* ---- the time range ---- */

/* What a range means; the menu of the chip lists them in this order. */
export const RANGE_MEANINGS = [
  ['in', 'Allocated in', 'Allocated in range'],
  ['kept', 'Allocated in and kept', 'Allocated in range and alive at its end'],
  ['end', 'Alive at the end of', 'Alive at its end'],
  ['grew', 'Grew in', 'Grew between its ends'],
] as const;
export type RangeMeaning = (typeof RANGE_MEANINGS)[number][0];

export interface TimeRange {
  fromNs: number;
  toNs: number;
  meaning: RangeMeaning;
}

export function rangeOf(params: Params): TimeRange | null {
  const from = Number(params['t0'] ?? NaN);
  const to = Number(params['t1'] ?? NaN);
  if (!Number.isFinite(from) || !Number.isFinite(to) || to <= from) return null;
  const meaning = RANGE_MEANINGS.find((m) => m[0] === params['tm'])?.[0] ?? 'in';
  return { fromNs: from, toNs: to, meaning };
}

export const momentOf = (params: Params): number | null => {
  const at = Number(params['at'] ?? NaN);
  return Number.isFinite(at) ? at : null;
};

const ns = (value: number): string => `+${Math.max(0, Math.round(value))}ns`;

/* The parameters that the API gets for the filters of an address. */
export function apiFilter(params: Params): Record<string, string> {
  const out: Record<string, string> = {};
  for (const key of FILTER_KEYS) {
    const value = params[key];
    if (value) out[key] = value;
  }
  const r = rangeOf(params);
  if (!r) return out;
  if (r.meaning === 'end') {
    out['alive_at'] ??= ns(r.toNs);
    return out;
  }
  out['from'] = ns(r.fromNs);
  out['to'] = ns(r.toNs);
  if (r.meaning !== 'in') out['lifetime'] ??= 'only_not_deallocated_in_current_range';
  return out;
}

/* The same without the time range: for charts, which show the range as their window. */
export function untimedFilter(params: Params): Record<string, string> {
  const rest = { ...params };
  delete rest['t0'];
  delete rest['t1'];
  return apiFilter(rest);
}

/* The time that charts show: the chosen range, or the whole run. */
export function chartSpan(params: Params, runNs: number): { fromNs: number; toNs: number } {
  return rangeOf(params) ?? { fromNs: 0, toNs: runNs };
}

/* The same for the API. */
export function chartWindow(params: Params, runNs: number): Record<string, string> {
  const { fromNs, toNs } = chartSpan(params, runNs);
  return { from: ns(fromNs), to: ns(toNs) };
}

/* The length of the time in which what is asked for was allocated: for rates. What is alive at the end of a
 * range may be as old as the run. */
export function askedSpanNs(params: Params, runNs: number): number {
  const r = rangeOf(params);
  if (!r) return runNs;
  const end = Math.min(r.toNs, runNs);
  return Math.max(1, r.meaning === 'end' ? end : end - r.fromNs);
}

export const hasFilter = (params: Params): boolean =>
  rangeOf(params) !== null || FILTER_KEYS.some((key) => params[key]);

/* Changes of an address that remove the time range, or every filter. */
export const NO_RANGE: Readonly<Record<string, null>> = { t0: null, t1: null, tm: null };
export const NO_FILTER: Readonly<Record<string, null>> = {
  ...NO_RANGE,
  ...Object.fromEntries(FILTER_KEYS.map((key) => [key, null])),
};

/* ---- chips ---- */

export interface Chip {
  keys: readonly string[]; // parameters of the address that removing the chip removes
  label: string;
  text: string;
  full?: string; // where text is short for it
}

/* `write` writes moments: since the start unless the reader wants the wall clock. */
export function chipsOf(params: Params, runNs: number, write: ClockText = clock): Chip[] {
  const chips: Chip[] = [];
  const r = rangeOf(params);
  if (r) {
    const digits = clockDigits(Math.min(r.toNs - r.fromNs, runNs));
    const label = RANGE_MEANINGS.find((m) => m[0] === r.meaning)?.[1] ?? '';
    const text = `${write(r.fromNs, digits)} to ${write(r.toNs, digits)}`;
    chips.push({ keys: ['t0', 't1', 'tm'], label, text });
  }
  for (const field of FILTER_FIELDS) {
    const text = fieldText(field, params, write);
    const full = exactTexts(field.kind === 'regex' ? (params[field.keys[0]] ?? '') : '');
    if (full) {
      const short = full.map((name) => shortOf(field, name)).join(' or ');
      chips.push({ keys: field.keys, label: field.label, text: short, full: full.join('\n') });
    } else if (text) {
      chips.push({ keys: field.keys, label: field.label, text });
    }
  }
  return chips;
}

/* Names of functions as lists show them; files and modules as they are. */
const shortOf = (field: FilterField, name: string): string =>
  /function|blame/.test(field.keys[0]) ? splitName(name)[1] : name;

function fieldText(field: FilterField, params: Params, write: ClockText): string {
  const valueText = (f: FilterField, value: string) => textOf(f, value, write);
  const [low, high] = [params[field.keys[0]], field.keys[1] ? params[field.keys[1]] : undefined];
  if (!low && !high) return '';
  if (field.keys.length === 1) return valueText(field, low ?? '');
  if (low && high)
    return low === high
      ? valueText(field, low)
      : `${valueText(field, low)} to ${valueText(field, high)}`;
  return low ? `at least ${valueText(field, low)}` : `at most ${valueText(field, high ?? '')}`;
}

function textOf(field: FilterField, value: string, write: ClockText): string {
  if (field.kind === 'choice') {
    const words = field.choices?.find((c) => c[0] === value)?.[1] ?? value;
    return field.keys[0] === 'lifetime' && value === 'only_leaked' ? 'never' : words.toLowerCase();
  }
  if (field.kind === 'regex') return boxOfRegex(value);
  if (field.kind === 'size' && /^\d+$/.test(value)) return join(bytes(Number(value)));
  const nanoseconds = /^\+?(\d+)ns$/.exec(value);
  if (nanoseconds) {
    const at = Number(nanoseconds[1]);
    return field.kind === 'moment' ? write(at, clockDigits(at)) : duration(at);
  }
  return value;
}
