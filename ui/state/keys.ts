/* Keys. A page says which keys it takes; the frame has the rest. No single letter acts while a field
 * has the focus, and none while an overlay is open. */
import { useEffect, useRef } from 'preact/hooks';
import { overlay } from './overlay';

/* An action that returns false did not take the key: the component below gets it. */
export type Keys = Readonly<Record<string, () => unknown>>;

const layers: { current: Keys }[] = [];

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');

/* "g" waits for a second key: "g o". */
let prefix = '';
let prefixTimer = 0;

function nameOf(e: KeyboardEvent): string {
  const key = e.key.length === 1 ? e.key.toLowerCase() : e.key;
  return (e.ctrlKey || e.metaKey ? 'ctrl+' : '') + (e.altKey ? 'alt+' : '') + key;
}

function onKeyDown(e: KeyboardEvent): void {
  const name = nameOf(e);
  const isPlain = !e.ctrlKey && !e.metaKey && !e.altKey;
  if (e.defaultPrevented) return;
  if (isPlain && isField(e.target)) return;
  if (overlay.value && isPlain && name !== 'Escape') return;
  const full = prefix ? `${prefix} ${name}` : name;
  prefix = '';
  clearTimeout(prefixTimer);
  for (let i = layers.length - 1; i >= 0; i--) {
    const action = layers[i]?.current[full];
    if (action && action() !== false) {
      e.preventDefault();
      return;
    }
  }
  if (isPlain && name === 'g') {
    prefix = 'g';
    prefixTimer = window.setTimeout(() => (prefix = ''), 1500);
  }
}
addEventListener('keydown', onKeyDown);

/* Keys of a component while it is shown; later components come first. */
export function useKeys(keys: Keys): void {
  const ref = useRef<Keys>(keys);
  ref.current = keys;
  useEffect(() => {
    layers.push(ref);
    return () => {
      layers.splice(layers.indexOf(ref), 1);
    };
  }, []);
}
