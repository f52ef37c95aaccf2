/* A recording in words: its name and its state. Pure. */
import { duration, wallClockShort } from './format';
import { baseName } from './names';

/* The fields of the API's Recording that this needs. */
export interface RecordingFacts {
  file: string;
  state: string;
  percent: number;
  error?: string;
  executable?: string;
  complete?: boolean;
  ended?: string;
  growing?: boolean;
  imported?: string | null;
  id?: string;
  cmdline?: readonly string[];
  start_ns?: number;
  duration_ns?: number;
  peak_bytes?: number;
  leaked_bytes?: number;
  allocations?: number;
  file_bytes?: number;
  eta_s?: number | null;
  names_percent?: number; // of a recording that is read: names of functions, found in the background
}

export type Mark = 'ok' | 'warn' | 'bad' | 'live' | 'busy';

export interface RecordingState {
  mark: Mark;
  word: string;
  note: string;
}

/* The name under which the program was run (redis-server, where the file on disk has other names, too), or
 * the file's while the program is not known. A program may have put other words in the place of its name:
 * then the name of its file. */
export function basename(r: RecordingFacts): string {
  const run = baseName(r.cmdline?.[0] ?? '');
  if (/^[\w.+][\w.+-]*$/.test(run)) return run;
  return r.executable ? baseName(r.executable) : r.file;
}

export function stateOf(r: RecordingFacts): RecordingState {
  if (r.state === 'loading') return { mark: 'busy', word: 'Loading', note: '' };
  if (r.state === 'failed') return { mark: 'bad', word: 'Cannot open', note: '' };
  if (r.growing) return { mark: 'live', word: 'Recording now', note: '' };
  if (r.imported) return { mark: 'ok', word: 'Imported', note: r.imported };
  const ended = r.ended ?? '';
  if (ended.startsWith('killed'))
    return { mark: 'bad', word: 'Killed', note: r.complete ? 'complete' : '' };
  if (r.complete === false)
    return { mark: 'warn', word: 'Part missing', note: ended.includes(' ') ? ended : '' };
  return { mark: 'ok', word: 'Finished', note: '' };
}

/* "finished, 15 Nov 02:14, 6 h 12 m" */
export const describe = (r: RecordingFacts): string =>
  [
    stateOf(r).word.toLowerCase(),
    r.start_ns ? wallClockShort(r.start_ns) : '',
    r.duration_ns ? duration(r.duration_ns) : '',
  ]
    .filter(Boolean)
    .join(', ');

/* "62 % read, 41 s left" */
export function progressText(r: RecordingFacts): string {
  const read = `${Math.floor(r.percent)}\u00a0% read`;
  if (typeof r.eta_s !== 'number') return read;
  const seconds = Math.ceil(r.eta_s);
  return `${read}, ${seconds < 60 ? `${seconds}\u00a0s` : duration(seconds * 1e9)} left`;
}

/* "names of functions: 62 % found"; empty when all are. */
export const namesText = (r: RecordingFacts | null): string =>
  r?.state === 'ready' && r.names_percent !== undefined && r.names_percent < 100
    ? `names of functions: ${Math.floor(r.names_percent)}\u00a0% found`
    : '';

/* What the program was started with; its first word by its last part. */
export function commandText(r: RecordingFacts): string {
  const [program, ...rest] = r.cmdline ?? [];
  return program === undefined ? '' : [baseName(program), ...rest].join(' ');
}

/* Why a file cannot be opened, without the file's path in front. */
export function failureText(r: RecordingFacts): string {
  const said = r.error ?? 'the reason is not known';
  const prefix = `${r.file}: `;
  const at = said.indexOf(prefix);
  const plain = (at < 0 ? said : said.slice(at + prefix.length)).replace(/^offset 0: /, '');
  return plain.charAt(0).toUpperCase() + plain.slice(1);
}

/* ---- the list of recordings ---- */

export type RecordingOrder = 'name' | 'state' | 'started' | 'peak' | 'leaked' | 'allocs' | 'file';

const ORDERS: Record<RecordingOrder, (r: RecordingFacts) => number | string | undefined> = {
  name: (r) => basename(r).toLowerCase(),
  state: (r) => stateOf(r).word,
  started: (r) => r.start_ns,
  peak: (r) => r.peak_bytes,
  leaked: (r) => (r.growing ? undefined : r.leaked_bytes),
  allocs: (r) => r.allocations,
  file: (r) => r.file_bytes,
};

export const isRecordingOrder = (text: string | undefined): text is RecordingOrder =>
  text !== undefined && Object.prototype.hasOwnProperty.call(ORDERS, text);

/* Sorted; recordings whose value is not known come last either way. */
export function sortRecordings<T extends RecordingFacts>(
  list: readonly T[],
  by: RecordingOrder,
  isAscending: boolean,
): T[] {
  const value = ORDERS[by];
  return [...list].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === undefined || y === undefined)
      return Number(x === undefined) - Number(y === undefined);
    return (x < y ? -1 : x > y ? 1 : 0) * (isAscending ? 1 : -1);
  });
}

/* Those whose name, command line, file or state contain every word. */
export function findRecordings<T extends RecordingFacts>(list: readonly T[], text: string): T[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return list.filter((r) => {
    const { word, note } = stateOf(r);
    const all = [basename(r), r.file, (r.cmdline ?? []).join(' '), word, note, r.error ?? ''];
    const haystack = all.join('\n').toLowerCase();
    return words.every((w) => haystack.includes(w));
  });
}
