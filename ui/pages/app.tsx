/* The frame around every page: top bar, strip, chips, navigation, the page, details, overlays. */
import { useEffect } from 'preact/hooks';
import { isExported } from '../api/client';
import type { Recording, Summary } from '../api/types';
import { NAV_ENTRIES, BottomNav, Nav } from '../widgets/nav';
import { Banners } from '../widgets/banners';
import { Chips } from '../widgets/chips';
import { DetailsFrame } from '../widgets/details';
import { Strip, crosshairNs } from '../widgets/strip';
import { MenuLayer, TipLayer } from '../widgets/floating';
import { TopBar } from '../widgets/topbar';
import type { PageId } from '../model/address';
import { basename } from '../model/recording';
import { NO_RANGE, rangeOf } from '../model/filters';
import { isDetailsOpen, selectionOf } from '../state/details';
import { closeOverlay, message, overlay } from '../state/overlay';
import { findRecording, recordings, refresh } from '../state/recordings';
import { address, goPage, set, useAddress } from '../state/router';
import { useKeys, type Keys } from '../state/keys';
import { useQuery } from '../state/query';
import { useSignal } from '../state/signal';
import { pinPeak } from './commands';
import { DETAILS, PAGE_COMPONENTS, PAGE_DETAILS } from './index';
import { canShow, NotReady } from './not_ready';
import { Overlays } from './overlays';

/* Pages that begin with a heading; of the others it is for readers of the screen. */
const HAS_HEADING: readonly PageId[] = ['recordings', 'sizes', 'threads', 'chains', 'source'];
const pageName = (page: PageId): string =>
  NAV_ENTRIES.find((e) => e.page === page)?.name ?? 'Recordings';

export function App() {
  const a = useAddress();
  const list = useSignal(recordings);
  const recording = findRecording(list, a.rec);
  const isBare = a.page === 'recordings' || !canShow(a.page, recording);
  useEffect(() => void refresh(), []);
  useEffect(() => {
    const name = recording ? basename(recording) : '';
    document.title = [pageName(a.page), name, 'memory-profiler'].filter(Boolean).join(', ');
  }, [a.page, recording]);
  useGlobalKeys(recording);

  const Page = PAGE_COMPONENTS[a.page];
  return (
    <>
      <a class="skip" href="#main" onClick={focusMain}>
        Skip to the page
      </a>
      <div class="app" data-frame={isBare ? 'bare' : 'full'} data-page={a.page}>
        <TopBar recording={recording} />
        {!isBare && recording && <Strip recording={recording} />}
        {!isBare && recording && <Chips recording={recording} />}
        <Nav recording={recording} />
        <main class="view" tabIndex={-1} id="main">
          {!HAS_HEADING.includes(a.page) && <h1 class="sr-only">{pageName(a.page)}</h1>}
          <div class="banner-slot">
            <Banners recording={a.page === 'recordings' ? null : recording} />
          </div>
          {canShow(a.page, recording) ? <Page key={a.page} /> : <NotReady recording={recording} />}
        </main>
        <Details />
        <BottomNav />
      </div>
      <Overlays />
      <TipLayer />
      <MenuLayer />
      <Message />
    </>
  );
}

function focusMain(e: MouseEvent): void {
  e.preventDefault();
  document.getElementById('main')?.focus();
}

function Details() {
  const { params, page } = useAddress();
  const selection = selectionOf(params);
  const kind = selection && DETAILS[selection.kind];
  const own = PAGE_DETAILS[page];
  const added = own && params[own.parameter] ? own : null;
  /* what the panel would tell is not part of an exported page */
  if ((!kind && !added) || page === 'overview' || isExported) return null;
  const content = kind && <kind.component value={selection.key} key={params['sel']} />;
  const Added = added?.component;
  return (
    <DetailsFrame title={kind?.title ?? added?.title ?? ''}>
      {content}
      {Added && <Added />}
    </DetailsFrame>
  );
}

function Message() {
  const text = useSignal(message);
  return (
    <div class="message" role="status" aria-live="polite" hidden={!text}>
      {text}
    </div>
  );
}

/* Keys of every page: GUI.md, "Keyboard". */
function useGlobalKeys(recording: Recording | null): void {
  const canAsk = !isExported; // an exported page has its answers and nobody to ask
  const { data } = useQuery<Summary>('summary', {}, { isFiltered: false });
  const pages: Keys = Object.fromEntries(
    NAV_ENTRIES.map((e) => [`g ${e.key}`, () => goPage(e.page)] as const),
  );
  const edge = (name: 't0' | 't1') => () => {
    const at = crosshairNs.value;
    const range = rangeOf(address.value.params);
    if (at === null || !recording) return;
    const other =
      name === 't0' ? (range?.toNs ?? recording.duration_ns ?? at) : (range?.fromNs ?? 0);
    set({ t0: String(Math.min(at, other)), t1: String(Math.max(at, other)) });
  };
  useKeys({
    ...pages,
    'ctrl+k': () => canAsk && overlay.set({ kind: 'search', text: '' }),
    f: () => canAsk && recording?.state === 'ready' && overlay.set({ kind: 'filter' }),
    '?': () => overlay.set({ kind: 'keys' }),
    d: () => isDetailsOpen.set(!isDetailsOpen.value),
    p: () => canAsk && data && pinPeak(data.peak_ns),
    Backspace: () => set(NO_RANGE),
    '[': edge('t0'),
    ']': edge('t1'),
    Escape: () => stepBack(),
  });
}

/* Escape: one step back. Pages put their own steps (zoom, search) before this one. */
function stepBack(): void {
  const { params } = address.value;
  if (overlay.value) closeOverlay();
  else if (params['sel']) set({ sel: null });
  else if (params['t0']) set(NO_RANGE);
  else if (params['at']) set({ at: null });
}
