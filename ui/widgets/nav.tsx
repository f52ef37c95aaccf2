/* Navigation: the pages at the left, or at the bottom of a narrow window. */
import type { GroupRows, Recording, Summary } from '../api/types';
import { isExported } from '../api/client';
import type { PageId } from '../model/address';
import { EXPORTED_PAGES } from '../model/exported_questions';
import { hasFilter } from '../model/filters';
import { count, join } from '../model/format';
import { hrefPage, useAddress } from '../state/router';
import { overlay } from '../state/overlay';
import { recordings } from '../state/recordings';
import { useQuery } from '../state/query';
import { useSignal } from '../state/signal';
import { Icon, type IconName } from './icons';
import { Menu } from './floating';

interface Entry {
  page: PageId;
  name: string;
  icon: IconName;
  key: string; // after g
}

export const NAV_GROUPS: readonly (readonly [title: string, entries: readonly Entry[]])[] = [
  [
    '',
    [
      { page: 'overview', name: 'Overview', icon: 'grid', key: 'o' },
      { page: 'timeline', name: 'Timeline', icon: 'chart', key: 't' },
    ],
  ],
  [
    'Where in the code',
    [
      { page: 'flame', name: 'Flame graph', icon: 'flame', key: 'f' },
      { page: 'bottomup', name: 'Bottom-up', icon: 'up', key: 'b' },
      { page: 'topdown', name: 'Top-down', icon: 'down', key: 'd' },
      { page: 'callers', name: 'Caller / callee', icon: 'swap', key: 'c' },
      { page: 'sites', name: 'Call sites', icon: 'stack', key: 's' },
    ],
  ],
  [
    'Which blocks',
    [
      { page: 'allocations', name: 'Allocations', icon: 'list', key: 'a' },
      { page: 'sizes', name: 'Sizes', icon: 'bars', key: 'z' },
      { page: 'threads', name: 'Threads', icon: 'threads', key: 'h' },
      { page: 'chains', name: 'Realloc chains', icon: 'chain', key: 'r' },
      { page: 'map', name: 'Memory map', icon: 'map', key: 'm' },
    ],
  ],
  [
    '',
    [
      { page: 'source', name: 'Source', icon: 'code', key: 'x' },
      { page: 'console', name: 'Console', icon: 'prompt', key: 'k' },
    ],
  ],
];

/* An exported file has two pages. */
function shownGroups(): typeof NAV_GROUPS {
  if (!isExported) return NAV_GROUPS;
  return [['', NAV_ENTRIES.filter((e) => EXPORTED_PAGES.includes(e.page))]];
}

export const NAV_ENTRIES: readonly Entry[] = NAV_GROUPS.flatMap(([, entries]) => entries);

/* What the entries lead to: of what matches the filters. Threads that match would cost a question of
 * their own: under a filter the entry has no number. */
function useCounts(recording: Recording | null): Partial<Record<PageId, number>> {
  const { params } = useAddress();
  const isFiltered = hasFilter(params);
  const { data } = useQuery<Summary>('summary', {}, { isFiltered: false });
  /* the same question as that of the chips: answered once */
  const some = useQuery<GroupRows>('groups', { by: 'stack', count: 0 }, { isReady: isFiltered });
  if (!data || !recording) return {};
  if (!isFiltered) return { sites: data.call_sites, allocations: data.rows, threads: data.threads };
  if (!some.data || some.isStale || some.error || params['base']) return {};
  return { sites: some.data.total_count, allocations: some.data.total.allocations };
}

export function Nav({ recording }: { recording: Recording | null }) {
  const a = useAddress();
  const list = useSignal(recordings);
  const counts = useCounts(recording);
  const link = (page: PageId, name: string, icon: IconName, n?: number) => (
    <a
      key={page}
      href={hrefPage(a, page)}
      title={name}
      aria-current={a.page === page ? 'page' : undefined}
    >
      <Icon name={icon} />
      <span>{name}</span>
      {n !== undefined && <span class="n">{join(count(n))}</span>}
    </a>
  );
  return (
    <nav class="nav" aria-label="Pages">
      {!isExported && link('recordings', 'Recordings', 'files', list?.length)}
      {recording &&
        shownGroups().map(([title, entries], i) => (
          <div key={i} class="nav-group" role="group" aria-label={title || 'Pages'}>
            {title ? <h2>{title}</h2> : <div class="nav-gap" />}
            {entries.map((e) => link(e.page, e.name, e.icon, counts[e.page]))}
          </div>
        ))}
      <button type="button" class="nav-foot" onClick={() => overlay.set({ kind: 'keys' })}>
        <kbd>?</kbd> keys
      </button>
    </nav>
  );
}

const BOTTOM: readonly (readonly [PageId, string, IconName])[] = [
  ['overview', 'Overview', 'grid'],
  ['flame', 'Flame', 'flame'],
  ['bottomup', 'Functions', 'up'],
  ['sites', 'Sites', 'stack'],
];

export function BottomNav() {
  const a = useAddress();
  const shown = BOTTOM.filter(([page]) => !isExported || EXPORTED_PAGES.includes(page));
  const others = NAV_ENTRIES.filter((e) => !BOTTOM.some(([page]) => page === e.page));
  const isOther = !BOTTOM.some(([page]) => page === a.page);
  return (
    <nav class="bottom-nav" aria-label="Main pages">
      {shown.map(([page, name, icon]) => (
        <a key={page} href={hrefPage(a, page)} aria-current={a.page === page ? 'page' : undefined}>
          <Icon name={icon} />
          {name}
        </a>
      ))}
      {!isExported && (
        <Menu
          label="More pages"
          class={isOther ? 'more current' : 'more'}
          button={
            <>
              <Icon name="dots" />
              More
            </>
          }
          items={() => [
            { label: 'Recordings', href: hrefPage(a, 'recordings') },
            ...others.map((e) => ({ label: e.name, href: hrefPage(a, e.page) })),
          ]}
        />
      )}
    </nav>
  );
}
