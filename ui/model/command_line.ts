/* The command line that shows what the GUI shows. Pure. */
import type { PageId } from './address';
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

/* What a page is on the command line; `report` for the others. */
const PAGE_WORDS: Partial<Record<PageId, (cost: string) => string[]>> = {
  flame: (cost) => ['export', '-f', 'flamegraph-svg', '-o', 'flamegraph.svg', `--cost=${cost}`],
  topdown: (cost) => ['export', '-f', 'ascii-tree', `--cost=${cost}`],
  bottomup: (cost) => ['export', '-f', 'ascii-tree', '--inverted=true', `--cost=${cost}`],
  allocations: () => ['export', '-f', 'csv'],
};

/* `filter`: parameters of the API, which are the options of the command line, too. `suppressions`: the
 * patterns that the server was started with. */
export function commandLine(
  file: string,
  filter: Readonly<Record<string, string>>,
  cost: CostId,
  page: PageId,
  suppressions: readonly string[] = [],
): string {
  const options = Object.entries(filter).map(
    ([key, value]) => `--${key.replace(/_/g, '-')}=${quote(value)}`,
  );
  const words = PAGE_WORDS[page]?.(SORT_WORDS[cost]) ?? ['report', '--sort', SORT_WORDS[cost]];
  /* a name that begins with - would be taken for an option */
  const name = file.startsWith('-') ? './' + file : file;
  const line = (more: string[]) =>
    ['memory-profiler-cli', ...words, ...options, ...more, quote(name)].join(' ');
  if (suppressions.length === 0) return line([]);
  const rules = suppressions.map((pattern) => quote('leak:' + pattern)).join(' ');
  const given = line(['--no-built-in-suppressions', '--suppressions=/dev/stdin']);
  return `printf '%s\\n' ${rules} | ${given}`;
}
