/* Estimates: which questions have one, and the words for it. The server answers a question with
 * `first` from a part of the rows if the exact answer takes longer (docs/REST.md). */

/* Fewer rows than this are counted at once. */
export const MIN_ROWS = 1_000_000;
const FIRST_MS = 60; // an answer on screen within 100 ms feels immediate
const PATH =
  /^\/api\/v1\/[^/]+\/(summary|thread_matrix|groups|functions|callers|search|tree|flamegraph|timeline|growth|peak|sizes|lifetimes|findings)(\?|$)/;

/* The address that asks for an estimate first; null: the question has none. */
export function firstUrl(url: string, rows: number): string | null {
  if (rows < MIN_ROWS || !PATH.test(url) || /[?&]base=/.test(url)) return null;
  return `${url}${url.includes('?') ? '&' : '?'}first=${FIRST_MS}`;
}

/* The share of the rows that an answer was made of, in percent; null: the answer is exact. */
export function readPercent(answer: unknown): number | null {
  const mark = (answer as { estimate?: { read_percent: number } } | null)?.estimate;
  return mark ? mark.read_percent : null;
}

/* Where no rows were read at all, other figures on the screen may be made of some. */
export function estimateText(read: number): string {
  if (read === 0) return 'Estimate; exact in a moment.';
  const digits = read < 1 ? 2 : read < 10 ? 1 : 0;
  return `Estimate from ${read.toFixed(digits)}\u00a0% of the rows; exact in a moment.`;
}
