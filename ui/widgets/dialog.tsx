/* A dialog above the page: takes the focus, keeps it, gives it back; Escape and a click beside it close.
 *
 * `isModal` false leaves the rest of the window usable (the filter panel beside the timeline): then Tab
 * may leave the dialog, and a click beside it closes it and does what it does without the dialog, except
 * in the top bar and the strip, which are used while the dialog is open. What the dialog looks like belongs to its class.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Icon } from './icons';

interface DialogProps {
  label: string;
  class: string;
  close: () => void;
  isModal?: boolean; // default true
  focus?: string; // selector of what gets the focus first; default: the first field or button
  children: ComponentChildren;
}

const FOCUSABLE =
  'input:not([disabled]), select, textarea, button:not([disabled]), a[href], [tabindex="0"]';

/* Where a click does not close a dialog that is not modal. */
const STAYS_OPEN = '.topbar, .strip, .menu, .message';

export function Dialog({ isModal = true, ...p }: DialogProps) {
  const root = useRef<HTMLDivElement>(null);
  const { focus } = p;
  useLayoutEffect(() => {
    const before = document.activeElement;
    const el = root.current;
    const first = focus ? el?.querySelector<HTMLElement>(focus) : null;
    (first ?? el?.querySelector<HTMLElement>(FOCUSABLE))?.focus({ preventScroll: !first });
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.key !== 'Escape' || e.defaultPrevented) return;
      e.preventDefault();
      p.close();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
  useEffect(() => {
    if (isModal) return undefined;
    const onDown = (e: PointerEvent) => {
      const at = e.target instanceof Element ? e.target : null;
      if (at && !root.current?.contains(at) && !at.closest(STAYS_OPEN)) p.close();
    };
    addEventListener('pointerdown', onDown, true);
    return () => removeEventListener('pointerdown', onDown, true);
  });
  const onKeyDown = (e: KeyboardEvent) => {
    if (e.key !== 'Tab' || !isModal) return;
    const all = [...(root.current?.querySelectorAll<HTMLElement>(FOCUSABLE) ?? [])];
    const [first, last] = [all[0], all[all.length - 1]];
    const at = document.activeElement;
    if (!first || !last || at !== (e.shiftKey ? first : last)) return;
    e.preventDefault();
    (e.shiftKey ? last : first).focus();
  };
  return (
    <>
      {isModal && <div class="scrim" onClick={p.close} />}
      <div
        class={p.class}
        role="dialog"
        aria-modal={isModal}
        aria-label={p.label}
        ref={root}
        onKeyDown={onKeyDown}
      >
        {p.children}
      </div>
    </>
  );
}

/* The head of a dialog: title, a few words, close. */
export function DialogHead(p: { title: string; hint?: string; close: () => void }) {
  return (
    <header role="presentation">
      <h2>{p.title}</h2>
      {p.hint && <span class="dim">{p.hint}</span>}
      <button
        type="button"
        class="btn quiet icon push"
        aria-label="Close"
        title="Close (Esc)"
        onClick={p.close}
      >
        <Icon name="x" />
      </button>
    </header>
  );
}
