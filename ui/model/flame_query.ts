/* What the flame graph asks for: the page's parameters as those of the API's tree. Pure. */
import type { Params } from './address';
import { apiFilter, momentOf } from './filters';

/* Parts of every cost below which nodes are left out: nobody sees them before zooming in; and of trees
 * that are too large to be held whole. */
export const COARSE_SHARE = '0.05%';
export const FINE_SHARE = '0.001%';

/* Two moments may be part of the filter; the pinned one needs a free parameter. */
const MOMENT_KEYS = ['alive_at', 'alive_at_2'] as const;

/* The parameter for "alive at the pinned moment"; null: none is free. */
export const momentKey = (params: Params): string | null =>
  MOMENT_KEYS.find((key) => !apiFilter(params)[key]) ?? null;

/* Does the page show what was alive at the pinned moment? */
export const isMoment = (params: Params): boolean =>
  params['moment'] === '1' && momentOf(params) !== null && momentKey(params) !== null;

/* min_share is added by whoever asks. */
export function treeQuery(params: Params): Record<string, string> {
  const out: Record<string, string> = {
    direction: params['dir'] === 'up' ? 'bottom_up' : 'top_down',
    fold: params['mine'] === '0' ? 'none' : 'runtime',
  };
  if (params['fold']) out['fold_regex'] = params['fold'];
  if (params['hide']) out['hide_regex'] = params['hide'];
  if (params['collapse'] === '1') out['collapse_recursion'] = 'true';
  const key = momentKey(params);
  if (isMoment(params) && key) out[key] = `+${momentOf(params)}ns`;
  return out;
}
