/* Comparing two recordings: which questions have an answer for both, and how changes are worded. Pure.
 *
 * The address holds the base (`base`). Where the server can compare, figures become this recording minus the
 * base; other questions are asked without the base and are about this recording alone.
 */

/* Rows are matched by names, so only groups that have names are compared. Threads are not: the page of
 * threads shows them by their number. */
const NAMED_GROUPS = new Set(['blame', 'package', 'function', 'line', 'module']);
const WHOLE_ANSWERS = new Set(['tree', 'flamegraph', 'functions', 'callers', 'summary']);

/* Does the answer to a question become a comparison? Charts over time show both recordings and ask for
 * themselves. */
export function isCompared(path: string, query: Readonly<Record<string, unknown>>): boolean {
  if (path === 'groups') return NAMED_GROUPS.has(String(query['by'])) && !query['graph'];
  return WHOLE_ANSWERS.has(path);
}
