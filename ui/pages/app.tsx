/* The frame around every page: top bar, strip, chips, navigation, the page, details, overlays. */
import { useEffect } from 'preact/hooks';
import { isExported } from '../api/client';
import type { Recording } from '../api/types';
import { EXPORTED_PAGES } from '../model/exported_questions';
import { NAV_ENTRIES, BottomNav, Nav } from '../widgets/nav';
import { Banners } from '../widgets/banners';
import { Chips } from '../widgets/chips';
import { DetailsFrame } from '../widgets/details';
import { Note } from '../widgets/notes';
import { Strip, crosshairNs } from '../widgets/strip';
import { TipLayer } from '../widgets/floating';
import { TopBar } from '../widgets/topbar';
import { basename } from '../model/recording';
import { rangeOf } from '../model/filters';
import { isDetailsOpen, selectionOf } from '../state/details';
import { closeOverlay, message, overlay } from '../state/overlay';
import { connection, findRecording, recordings, refresh } from '../state/recordings';
import { address, goPage, set, useAddress } from '../state/router';
import { useKeys, type Keys } from '../state/keys';
import { useSignal } from '../state/signal';
import { DETAILS, PAGE_COMPONENTS } from './index';
import { Overlays } from './overlays';

export function App() {
  const a = useAddress();
  const list = useSignal(recordings);
  const recording = findRecording(list, a.rec);
  const isBare = a.page === 'recordings' || recording?.state !== 'ready';
  useEffect(() => void refresh(), []);
  useEffect(() => {
    const entry = NAV_ENTRIES.find((e) => e.page === a.page);
    const name = recording ? basename(recording) : '';
    document.title = [entry?.name ?? 'Recordings', name, 'memory-profiler']
      .filter(Boolean)
      .join(', ');
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
          <div class="banner-slot">
            <Banners recording={recording} />
          </div>
          {canShow(a.page, recording) ? <Page key={a.page} /> : <NotReady recording={recording} />}
        </main>
        <Details />
        <BottomNav />
      </div>
      <Overlays />
      <TipLayer />
      <Message />
    </>
  );
}

function focusMain(e: MouseEvent): void {
  e.preventDefault();
  document.getElementById('main')?.focus();
}

const canShow = (page: string, r: Recording | null): boolean =>
  isExported
    ? EXPORTED_PAGES.includes(page) && r !== null
    : page === 'recordings' || r?.state === 'ready';

/* Instead of a page: no recording, one that is loading, one that cannot be opened. */
function NotReady({ recording: r }: { recording: Recording | null }) {
  const list = useSignal(recordings);
  const toList = (
    <button type="button" class="btn" onClick={() => goPage('recordings')}>
      All recordings
    </button>
  );
  if (useSignal(connection).isRefused)
    return (
      <div class="pad-note">
        <Note title="A token is needed.">
          Open the address that the server printed when it started: it ends with{' '}
          <span class="code">?token=…</span>
        </Note>
      </div>
    );
  if (list === null) return <div class="pad-note" aria-busy="true" />;
  if (isExported)
    return (
      <div class="pad-note">
        <Note title="This page is not part of the exported file.">
          Open the recording itself: <span class="code">memory-profiler-cli server FILE</span>
        </Note>
      </div>
    );
  if (!r)
    return (
      <div class="pad-note">
        <Note title="No recording is loaded." actions={list.length ? toList : null}>
          Start the server with one: <span class="code">memory-profiler-cli server FILE</span>
        </Note>
      </div>
    );
  if (r.state === 'loading')
    return (
      <div class="pad-note">
        <Note title={`Reading ${basename(r)}.`} actions={toList}>
          {Math.floor(r.percent)} % read
          {typeof r.eta_s === 'number' ? `, ${Math.ceil(r.eta_s)} s left` : ''}.
          <span class="progress">
            <i style={{ width: `${r.percent}%` }} />
          </span>
        </Note>
      </div>
    );
  return (
    <div class="pad-note">
      <Note title={`${r.file} cannot be opened.`} actions={toList}>
        {r.error}
      </Note>
    </div>
  );
}

function Details() {
  const { params, page } = useAddress();
  const selection = selectionOf(params);
  const kind = selection && DETAILS[selection.kind];
  if (!kind || page === 'overview') return null;
  const Content = kind.component;
  return (
    <DetailsFrame title={kind.title}>
      <Content value={selection.key} key={selection.kind + selection.key} />
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
    'ctrl+k': () => overlay.set({ kind: 'search', text: '' }),
    f: () => recording && overlay.set({ kind: 'filter' }),
    '?': () => overlay.set({ kind: 'keys' }),
    d: () => isDetailsOpen.set(!isDetailsOpen.value),
    Backspace: () => set({ t0: null, t1: null, tm: null }),
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
  else if (params['t0']) set({ t0: null, t1: null, tm: null });
  else if (params['at']) set({ at: null });
}
