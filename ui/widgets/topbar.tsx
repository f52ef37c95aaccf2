/* The top bar: which recording, search, compare, link, export, theme. */
import { isExported } from '../api/client';
import type { Recording } from '../api/types';
import { basename, describe, stateOf } from '../model/recording';
import { formatAddress } from '../model/address';
import { copyText, overlay } from '../state/overlay';
import { recordings } from '../state/recordings';
import { address, hrefPage, set, useAddress } from '../state/router';
import { change, theme } from '../state/settings';
import { useSignal } from '../state/signal';
import { exportItems } from './export_menu';
import { Icon } from './icons';
import { Menu } from './floating';

function Brand() {
  const a = useAddress();
  return (
    <a class="brand" href={hrefPage(a, 'recordings')} aria-label="memory-profiler, all recordings">
      <svg viewBox="0 0 18 18" aria-hidden="true">
        <rect x="1" y="10" width="4" height="7" rx="1" fill="var(--c-peak)" />
        <rect x="7" y="6" width="4" height="11" rx="1" fill="var(--c-peak)" />
        <rect x="13" y="8" width="4" height="9" rx="1" fill="var(--c-peak)" />
        <rect x="13" y="1" width="4" height="5.5" rx="1" fill="var(--c-leaked)" />
      </svg>
      <span>memory-profiler</span>
    </a>
  );
}

function RecordingSwitch({ recording }: { recording: Recording | null }) {
  const list = useSignal(recordings) ?? [];
  if (!recording) return <span class="rec-switch dim">No recording</span>;
  const state = stateOf(recording);
  return (
    <Menu
      label="Choose another recording"
      class="rec-switch"
      button={
        <>
          <span class={`state ${state.mark}`} />
          <b>{basename(recording)}</b>
          <span class="dim">
            {state.word.toLowerCase()}
            <span class="wide">{describe(recording).slice(state.word.length)}</span>
          </span>
          <Icon name="caret" />
        </>
      }
      items={() => [
        ...list.map((r) => ({
          label: `${basename(r)}, ${describe(r)}`,
          hint: r.file,
          isChecked: r.id === recording.id,
          act: () =>
            (location.hash = formatAddress({ rec: r.id, page: address.value.page, params: {} })),
        })),
        { label: 'All recordings', href: hrefPage(address.value, 'recordings') },
      ]}
    />
  );
}

function Compare({ recording }: { recording: Recording }) {
  const list = (useSignal(recordings) ?? []).filter(
    (r) => r.id !== recording.id && r.state === 'ready',
  );
  const base = useAddress().params['base'];
  return (
    <Menu
      label="Compare with another recording"
      class="btn quiet wide"
      button="Compare"
      items={() => [
        { label: 'Figures become this recording minus the base', isHeading: true },
        ...list.map((r) => ({
          label: `${basename(r)}, ${describe(r)}`,
          hint: r.file,
          isChecked: r.id === base,
          act: () => set({ base: r.id === base ? null : r.id }),
        })),
        ...(list.length
          ? []
          : [{ label: 'There is no other recording: start the server with two', isHeading: true }]),
      ]}
    />
  );
}

function ThemeButton() {
  const now = useSignal(theme);
  return (
    <button
      type="button"
      class="btn quiet icon"
      aria-label="Switch between light and dark"
      title="Switch between light and dark"
      onClick={() => change({ theme: now === 'dark' ? 'light' : 'dark' })}
    >
      <Icon name={now === 'dark' ? 'sun' : 'moon'} />
    </button>
  );
}

export function TopBar({ recording }: { recording: Recording | null }) {
  return (
    <header class="topbar">
      <Brand />
      <RecordingSwitch recording={recording} />
      {!isExported && (
        <button
          type="button"
          class="search-btn"
          title="Search"
          onClick={() => overlay.set({ kind: 'search', text: '' })}
        >
          <Icon name="search" />
          <span>Search functions, files, addresses, commands</span>
          <kbd>Ctrl K</kbd>
        </button>
      )}
      {isExported && (
        <span class="search-btn exported">Exported: these figures need no server</span>
      )}
      <div class="topbar-actions">
        {recording?.state === 'ready' && !isExported && (
          <>
            <Compare recording={recording} />
            <button
              type="button"
              class="btn quiet wide"
              onClick={() => void copyText(location.href, 'Link')}
            >
              <Icon name="link" />
              Copy link
            </button>
            <Menu
              label="Export what the current filter lets through"
              class="btn quiet wide"
              button={
                <>
                  <Icon name="download" />
                  Export
                </>
              }
              items={() => exportItems(recording, address.value)}
            />
          </>
        )}
        <ThemeButton />
      </div>
    </header>
  );
}
