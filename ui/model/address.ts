/* The address is the state: #/RECORDING/PAGE?parameters. Pure: text in, state out, and back.
 *
 * Parameters that filter (FILTER_KEYS, the time range, the pinned moment, the base of a comparison)
 * travel from page to page. So does the cost, once somebody chose one. All others belong to the page
 * that set them and are dropped when the page changes.
 */
import { isCost, type CostId } from './costs';
import { FILTER_KEYS } from './filters';

export const PAGES = [
  'recordings',
  'overview',
  'timeline',
  'flame',
  'bottomup',
  'topdown',
  'callers',
  'sites',
  'allocations',
  'sizes',
  'threads',
  'chains',
  'map',
  'source',
  'console',
] as const;
export type PageId = (typeof PAGES)[number];

export type Params = Readonly<Record<string, string>>;

export interface Address {
  rec: string; // id of the recording, or "last"
  page: PageId;
  params: Params;
}

/* t0, t1: the time range in ns; tm: what it means; at: the pinned moment; base: compared with;
 * sel: what the details panel is about. */
const GLOBAL_KEYS: readonly string[] = [
  't0',
  't1',
  'tm',
  'at',
  'base',
  'cost',
  'sel',
  ...FILTER_KEYS,
];
const GLOBAL = new Set(GLOBAL_KEYS);

export const isGlobalKey = (key: string): boolean => GLOBAL.has(key);

const DEFAULT_COST: Partial<Record<PageId, CostId>> = {
  flame: 'peak',
  bottomup: 'leaked',
  topdown: 'peak',
  callers: 'peak',
  sites: 'leaked',
  sizes: 'allocs',
};

export function parseAddress(hash: string): Address {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [rec, page] = path.split('/');
  const params: Record<string, string> = {};
  for (const [key, value] of new URLSearchParams(query)) if (value !== '') params[key] = value;
  const known = PAGES.find((p) => p === page);
  if (!rec) return { rec: 'last', page: 'overview', params };
  if (rec === 'recordings') return { rec: 'last', page: 'recordings', params };
  return { rec: decodeURIComponent(rec), page: known ?? 'overview', params };
}

export function formatAddress(a: Address): string {
  const query = new URLSearchParams();
  for (const key of Object.keys(a.params).sort(byKind)) {
    const value = a.params[key];
    if (value) query.set(key, value);
  }
  const text = query.toString().replace(/%3A/g, ':').replace(/%2C/g, ',').replace(/%2F/g, '/');
  return `#/${encodeURIComponent(a.rec)}/${a.page}${text ? '?' + text : ''}`;
}

/* Global parameters first, in their own order: equal states have equal addresses. */
function byKind(a: string, b: string): number {
  const rank = (key: string) => (GLOBAL.has(key) ? GLOBAL_KEYS.indexOf(key) : 1000);
  return rank(a) - rank(b) || (a < b ? -1 : a > b ? 1 : 0);
}

/* The parameters with some changed; an empty text removes one. */
export function withParams(params: Params, changes: Record<string, string | null>): Params {
  const out: Record<string, string> = { ...params };
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === '') delete out[key];
    else out[key] = value;
  }
  return out;
}

/* Another page of the same recording: filters come along, what belongs to the page stays behind. */
export function onPage(
  a: Address,
  page: PageId,
  changes: Record<string, string | null> = {},
): Address {
  const kept: Record<string, string> = {};
  for (const [key, value] of Object.entries(a.params)) if (GLOBAL.has(key)) kept[key] = value;
  return { rec: a.rec, page, params: withParams(kept, changes) };
}

export function costOfAddress(a: Address): CostId {
  const chosen = a.params['cost'];
  return isCost(chosen) ? chosen : (DEFAULT_COST[a.page] ?? 'peak');
}
