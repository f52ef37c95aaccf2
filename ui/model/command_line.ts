/* The command line that shows what the GUI shows. Pure. */
import type { CostId } from './costs';

/* What --sort of `report` and --cost of `export` call the costs. */
export const SORT_WORDS: Record<CostId, string> = {
  peak: 'peak',
  leaked: 'leaked',
  allocs: 'allocations',
  temp: 'temporary',
  bytes: 'bytes',
};

/* For a POSIX shell. */
export const quote = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`;

export function commandLine(file: string, filter: Record<string, string>, cost: CostId): string {
  const options = Object.entries(filter).map(
    ([key, value]) => `--${key.replace(/_/g, '-')}=${quote(value)}`,
  );
  return [
    'memory-profiler-cli',
    'report',
    '--sort',
    SORT_WORDS[cost],
    ...options,
    quote(file),
  ].join(' ');
}
