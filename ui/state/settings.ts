/* What belongs to the reader, not to the view: kept in this browser, never in the address. */
import { Signal } from './signal';

export interface Settings {
  theme: 'system' | 'light' | 'dark';
  density: 'normal' | 'compact';
  wallClock: boolean; // moments as wall clock instead of time since the start
  ownCode: string; // regular expression for own code; empty: the built-in rule
  editor: string; // link with %f and %l
  detailsWidth: number; // pixels
  columns: Record<string, string[]>; // visible extra columns by table
}

const KEY = 'memory-profiler';
const DEFAULTS: Settings = {
  theme: 'system',
  density: 'normal',
  wallClock: false,
  ownCode: '',
  editor: 'vscode://file/%f:%l',
  detailsWidth: 328,
  columns: {},
};

function load(): Settings {
  try {
    const text = localStorage.getItem(KEY);
    return text ? { ...DEFAULTS, ...(JSON.parse(text) as Partial<Settings>) } : DEFAULTS;
  } catch {
    return DEFAULTS; // no storage: settings last as long as the page
  }
}

export const settings = new Signal<Settings>(load());

export function change(changes: Partial<Settings>): void {
  settings.set({ ...settings.value, ...changes });
  try {
    localStorage.setItem(KEY, JSON.stringify(settings.value));
  } catch {
    /* no storage */
  }
}

/* ---- theme ---- */

const systemIsDark = matchMedia('(prefers-color-scheme: dark)');

export const theme = new Signal<'light' | 'dark'>('light');

function applySettings(): void {
  const { theme: chosen, density } = settings.value;
  const dark = chosen === 'dark' || (chosen === 'system' && systemIsDark.matches);
  document.documentElement.dataset['theme'] = dark ? 'dark' : 'light';
  document.documentElement.dataset['density'] = density;
  theme.set(dark ? 'dark' : 'light');
}

settings.subscribe(applySettings);
systemIsDark.addEventListener('change', applySettings);
applySettings();

/* The link that opens a line in the reader's editor. */
export const editorLink = (file: string, line: number): string =>
  settings.value.editor.replace('%f', encodeURI(file)).replace('%l', String(line || 1));
