/* Things that float: a tooltip beside the pointer, a menu below a button or beside the pointer. */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Signal, useSignal } from '../state/signal';

interface Tip {
  content: ComponentChildren;
  x: number;
  y: number;
}

const tip = new Signal<Tip | null>(null);

/* Shows a tooltip beside a point of the window; null hides it. */
export function showTip(
  content: ComponentChildren,
  at?: { clientX: number; clientY: number },
): void {
  tip.set(content && at ? { content, x: at.clientX, y: at.clientY } : null);
}

export function TipLayer() {
  const shown = useSignal(tip);
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const el = ref.current;
    if (!el || !shown) return;
    const left = Math.min(shown.x + 14, innerWidth - el.offsetWidth - 8);
    const below = shown.y + 18;
    const top = below + el.offsetHeight > innerHeight - 8 ? shown.y - el.offsetHeight - 10 : below;
    el.style.left = `${Math.max(8, left)}px`;
    el.style.top = `${Math.max(8, top)}px`;
  });
  return (
    <div class="tip" role="tooltip" ref={ref} hidden={!shown}>
      {shown?.content}
    </div>
  );
}

export interface MenuItem {
  label: ComponentChildren;
  hint?: string;
  act?: () => void;
  href?: string; // a link instead of an action
  download?: string; // file name of a download
  isHeading?: boolean;
  isChecked?: boolean;
}

interface MenuProps {
  label: string; // what the button does; its name where it shows an icon only
  isIcon?: boolean; // the button shows no words
  button: ComponentChildren;
  class?: string; // of the button
  items: () => readonly MenuItem[];
}

/* A button with a menu: arrows move, Enter chooses, Escape closes. */
export function Menu({ label, isIcon, button, class: buttonClass = 'btn', items }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    const outside = (e: PointerEvent) => {
      if (!root.current?.contains(e.target as Node)) setOpen(false);
    };
    addEventListener('pointerdown', outside);
    root.current?.querySelector<HTMLElement>('[role^=menuitem]')?.focus();
    return () => removeEventListener('pointerdown', outside);
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    root.current?.querySelector('button')?.focus();
  };
  return (
    <span class="menu-root" ref={root} onClick={(e) => e.stopPropagation()}>
      <button
        type="button"
        class={buttonClass}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-label={isIcon ? label : undefined}
        title={label}
        onClick={() => setOpen(!isOpen)}
      >
        {button}
      </button>
      {isOpen && (
        <MenuList items={items()} close={close} at={() => root.current?.getBoundingClientRect()} />
      )}
    </span>
  );
}

/* ---- menus of rows ---- */

interface FreeMenu {
  items: readonly MenuItem[];
  at: DOMRect;
  back: HTMLElement | null; // gets the focus when the menu closes
}

const freeMenu = new Signal<FreeMenu | null>(null);

/* Opens a menu that no button holds: of a table's row, or at a right click. Rows are moved by CSS
 * transforms, inside of which nothing can float, so the menu is drawn by MenuLayer. */
export function openMenu(items: readonly MenuItem[], at: DOMRect, back: HTMLElement | null): void {
  freeMenu.set({ items, at, back });
}

export const pointerBox = (e: MouseEvent): DOMRect => new DOMRect(e.clientX, e.clientY, 0, 0);

export function MenuLayer() {
  const menu = useSignal(freeMenu);
  const root = useRef<HTMLDivElement>(null);
  const close = () => {
    freeMenu.set(null);
    menu?.back?.focus({ preventScroll: true });
  };
  useEffect(() => {
    if (!menu) return undefined;
    const outside = (e: Event) => {
      if (!root.current?.contains(e.target as Node)) freeMenu.set(null);
    };
    const leave = () => freeMenu.set(null);
    addEventListener('pointerdown', outside);
    addEventListener('wheel', outside, { passive: true });
    addEventListener('hashchange', leave);
    root.current?.querySelector<HTMLElement>('[role^=menuitem]')?.focus();
    return () => {
      removeEventListener('pointerdown', outside);
      removeEventListener('wheel', outside);
      removeEventListener('hashchange', leave);
    };
  }, [menu]);
  if (!menu) return null;
  return (
    <div ref={root}>
      <MenuList items={menu.items} close={close} at={() => menu.at} />
    </div>
  );
}

interface MenuListProps {
  items: readonly MenuItem[];
  close: () => void;
  at: () => DOMRect | undefined; // the box that the menu belongs to
}

function MenuList({ items, close, at: boxOf }: MenuListProps) {
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const el = ref.current;
    const box = boxOf();
    if (!el || !box) return;
    el.style.left = `${Math.max(8, Math.min(box.left, innerWidth - el.offsetWidth - 8))}px`;
    const below = box.bottom + 4;
    const fits = below + el.offsetHeight < innerHeight - 8;
    el.style.top = `${fits ? below : Math.max(8, box.top - el.offsetHeight - 4)}px`;
  }, []);
  const onKeyDown = (e: KeyboardEvent) => {
    const all = [...(ref.current?.querySelectorAll<HTMLElement>('[role^=menuitem]') ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    if (e.key === 'Escape' || e.key === 'Tab') close();
    else if (e.key === 'ArrowDown') all[(at + 1) % all.length]?.focus();
    else if (e.key === 'ArrowUp') all[(at + all.length - 1) % all.length]?.focus();
    else {
      if (e.key.length === 1) e.stopPropagation(); // letters do nothing behind an open menu
      return;
    }
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div class="menu" role="menu" ref={ref} onKeyDown={onKeyDown}>
      {items.map((item, i) => (
        <MenuEntry key={i} item={item} close={close} />
      ))}
    </div>
  );
}

function MenuEntry({ item, close }: { item: MenuItem; close: () => void }) {
  const body = (
    <>
      <span>{item.label}</span>
      {item.hint && <span class="dim">{item.hint}</span>}
    </>
  );
  if (item.isHeading)
    return (
      <div class="menu-head" role="presentation">
        {item.label}
      </div>
    );
  if (item.href !== undefined)
    return (
      <a role="menuitem" href={item.href} download={item.download} onClick={close}>
        {body}
      </a>
    );
  const checkable = item.isChecked !== undefined;
  return (
    <button
      type="button"
      role={checkable ? 'menuitemcheckbox' : 'menuitem'}
      aria-checked={item.isChecked}
      onClick={() => {
        close();
        item.act?.();
      }}
    >
      {body}
    </button>
  );
}
