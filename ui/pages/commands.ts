/* The commands of the search box (">"): every page, and what else the GUI can do. */
import type { Recording } from '../api/types';
import type { Address } from '../model/address';
import { COSTS } from '../model/costs';
import { hasFilter, NO_FILTER, NO_RANGE, rangeOf } from '../model/filters';
import { basename } from '../model/recording';
import { wallClockShort } from '../model/format';
import { isDetailsOpen } from '../state/details';
import { copyText, overlay } from '../state/overlay';
import { isPaused, isGrowing } from '../state/recordings';
import { go, goPage, set } from '../state/router';
import { change, type Settings } from '../state/settings';
import { download } from '../state/table_csv';
import { copyCommands, scriptCommand, exportFiles } from '../widgets/export_menu';
import type { IconName } from '../widgets/icons';
import { NAV_ENTRIES } from '../widgets/nav';

export interface Command {
  label: string;
  icon: IconName;
  keys?: string; // "G O"
  act: () => void;
}

/* What the commands depend on. */
export interface CommandContext {
  address: Address;
  recording: Recording | null;
  recordings: readonly Recording[];
  peakNs: number | null;
  settings: Settings;
}

export const pinPeak = (peakNs: number): void => set({ at: String(peakNs) });

export function commandsOf(c: CommandContext): Command[] {
  const isReady = c.recording?.state === 'ready';
  return [
    ...pageCommands(isReady),
    ...(isReady ? filterCommands(c) : []),
    ...recordingCommands(c),
    ...(isReady ? costCommands() : []),
    ...readerCommands(c.settings),
    ...(isReady && c.recording ? outputCommands(c.recording, c.address) : []),
  ];
}

function pageCommands(isReady: boolean): Command[] {
  const pages = NAV_ENTRIES.map((e) => ({
    label: `Go to ${e.name}`,
    icon: e.icon,
    keys: `G ${e.key.toUpperCase()}`,
    act: () => goPage(e.page),
  }));
  return [
    ...(isReady ? pages : []),
    { label: 'Go to Recordings', icon: 'files', act: () => goPage('recordings') },
  ];
}

function filterCommands({ address: { params }, peakNs }: CommandContext): Command[] {
  const list: (Command | false)[] = [
    { label: 'Filter', icon: 'filter', keys: 'F', act: () => overlay.set({ kind: 'filter' }) },
    hasFilter(params) && { label: 'Clear all filters', icon: 'x', act: () => set(NO_FILTER) },
    rangeOf(params) !== null && {
      label: 'Clear the time range',
      icon: 'x',
      keys: 'Backspace',
      act: () => set(NO_RANGE),
    },
    peakNs !== null && {
      label: 'Pin the peak',
      icon: 'pin',
      keys: 'P',
      act: () => pinPeak(peakNs),
    },
    !!params['at'] && { label: 'Remove the pin', icon: 'x', act: () => set({ at: null }) },
    params['lifetime'] !== 'only_leaked' && {
      label: 'Only what was never freed',
      icon: 'filter',
      act: () => set({ lifetime: 'only_leaked' }),
    },
  ];
  return list.filter((x): x is Command => x !== false);
}

const nameOf = (r: Recording): string =>
  [basename(r), r.start_ns ? wallClockShort(r.start_ns) : '', r.file].filter(Boolean).join(', ');

function recordingCommands({ recording, recordings, address }: CommandContext): Command[] {
  const others = recordings.filter((r) => r.id !== recording?.id && r.state !== 'failed');
  const list: Command[] = others.map((r) => ({
    label: `Open ${nameOf(r)}`,
    icon: 'files',
    act: () =>
      go({
        rec: r.id,
        page: address.page === 'recordings' ? 'overview' : address.page,
        params: {},
      }),
  }));
  if (recording?.state === 'ready')
    for (const r of others.filter((o) => o.state === 'ready'))
      list.push({
        label: `Compare with ${nameOf(r)}`,
        icon: 'swap',
        act: () => set({ base: r.id }),
      });
  if (address.params['base'])
    list.push({ label: 'End the comparison', icon: 'x', act: () => set({ base: null }) });
  if (recording && isGrowing(recording))
    list.push({
      label: isPaused.value ? 'Go to now' : 'Pause live figures',
      icon: isPaused.value ? 'play' : 'pause',
      act: () => isPaused.set(!isPaused.value),
    });
  return list;
}

const costCommands = (): Command[] =>
  COSTS.map((cost, i) => ({
    label: `Cost: ${cost.name}`,
    icon: 'bars',
    keys: String(i + 1),
    act: () => set({ cost: cost.id, moment: null }),
  }));

function readerCommands(s: Settings): Command[] {
  return [
    { label: 'Theme: light', icon: 'sun', act: () => change({ theme: 'light' }) },
    { label: 'Theme: dark', icon: 'moon', act: () => change({ theme: 'dark' }) },
    { label: 'Theme: as the system', icon: 'moon', act: () => change({ theme: 'system' }) },
    s.density === 'compact'
      ? { label: 'Density: normal', icon: 'list', act: () => change({ density: 'normal' }) }
      : { label: 'Density: compact', icon: 'list', act: () => change({ density: 'compact' }) },
    s.wallClock
      ? { label: 'Time since the start', icon: 'chart', act: () => change({ wallClock: false }) }
      : { label: 'Wall clock', icon: 'chart', act: () => change({ wallClock: true }) },
    {
      label: 'Details panel',
      icon: 'columns',
      keys: 'D',
      act: () => isDetailsOpen.set(!isDetailsOpen.value),
    },
    { label: 'Settings', icon: 'gear', act: () => overlay.set({ kind: 'settings' }) },
    { label: 'All keys', icon: 'list', keys: '?', act: () => overlay.set({ kind: 'keys' }) },
  ];
}

function outputCommands(recording: Recording, a: Address): Command[] {
  return [
    { label: 'Copy link', icon: 'link', act: () => void copyText(location.href, 'Link') },
    { ...scriptCommand(recording, a), icon: 'prompt' },
    ...copyCommands(recording, a).map((c) => ({ ...c, icon: 'copy' as const })),
    ...exportFiles(recording, a).map((f) => ({
      label: `Export: ${f.label}`,
      icon: 'download' as const,
      act: () => download(f.href, f.file),
    })),
  ];
}
