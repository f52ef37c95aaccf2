/* What floats above the pages: at most one overlay (search, filter panel, keys, settings, a menu) and
 * at most one message. */
import { Signal } from './signal';

export type Overlay =
  | { kind: 'search'; text: string }
  | { kind: 'filter'; field?: string }
  | { kind: 'keys' }
  | { kind: 'settings' }
  | null;

export const overlay = new Signal<Overlay>(null);
export const closeOverlay = (): void => overlay.set(null);

export const message = new Signal<string>('');
let timer = 0;

/* A sentence at the bottom of the window, for a few seconds; announced to readers of the screen. */
export function say(text: string): void {
  message.set(text);
  clearTimeout(timer);
  timer = window.setTimeout(() => message.set(''), 4000);
}

export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied.`);
  } catch {
    say('This browser does not let the page copy.');
  }
}
