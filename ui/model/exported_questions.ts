/* What the Overview and the flame graph ask of a recording: `export -f html` puts the answers to these
 * questions into its page, so that the page needs no server. Pure.
 *
 * Each is what follows /api/v1/{id}/ in an address, exactly as the pages ask it; {duration_ns} stands
 * for the run time. "recordings" is the list, which has no {id}. The bundler writes the list into the
 * binary (tools/bundle.mjs); a browser test visits both pages of an exported file and fails when a
 * question is missing here.
 */
import type { Params } from './address';
import { COARSE_SHARE, treeQuery } from './flame_query';

const WHOLE_RUN = 'from=%2B0ns&to=%2B{duration_ns}ns';
const LISTS = ['leaked_bytes', 'peak_bytes', 'allocations', 'temporary_count', 'bytes'];

/* The flame graph in both directions, with and without runtime frames. */
const GRAPHS: readonly Params[] = [{}, { mine: '0' }, { dir: 'up' }, { dir: 'up', mine: '0' }];
const TREES = GRAPHS.map(
  (params) =>
    'tree?' + new URLSearchParams({ ...treeQuery(params), min_share: COARSE_SHARE }).toString(),
);

export const EXPORTED_QUESTIONS: readonly string[] = [
  'recordings',
  'summary',
  'findings',
  'health',
  'samples',
  'timeline?buckets=1000&round=true',
  `timeline?${WHOLE_RUN}&by=package&series=bytes&top=7&buckets=240&round=true`,
  ...TREES,
  ...LISTS.map((sort) => `groups?by=blame&sort_by=${sort}&order=dsc&count=7`),
];

/* The pages of an exported file. */
export const EXPORTED_PAGES: readonly string[] = ['overview', 'flame'];
