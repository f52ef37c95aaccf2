/* The second line above the flame graph: where the zoom is, what the colours mean, how it is drawn. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { isExported } from '../api/client';
import type { Address } from '../model/address';
import { LESS_TOKEN, MORE_TOKEN, packageToken, PACKAGES } from '../model/flame_colour';
import { frameOf, pathOf } from '../model/flame_tree';
import { join } from '../model/format';
import { frameTitle, OWNER_WORDS, type Owner } from '../model/names';
import { hrefPage, set, useAddress } from '../state/router';
import { Menu, type MenuItem } from '../widgets/floating';
import { Icon } from '../widgets/icons';
import { nextColouring, zoomChanges, type Shown } from './flame_scene';

export const turnAround = (params: Readonly<Record<string, string>>): void =>
  set({ dir: params['dir'] === 'up' ? null : 'up', z: null, v: null });
export const toggleMine = (params: Readonly<Record<string, string>>): void =>
  set({ mine: params['mine'] === '0' ? null : '0', z: null, v: null });
export const nextColours = (params: Readonly<Record<string, string>>): void => {
  const next = nextColouring(params);
  set({ color: next === (params['base'] ? 'change' : 'owner') ? null : next });
};

/* The tree with the same filter: what canvas cannot tell to readers of the screen. */
export const tableHref = (a: Address): string =>
  hrefPage(a, a.params['dir'] === 'up' ? 'bottomup' : 'topdown');

/* ---- breadcrumb ---- */

function Crumbs({ shown }: { shown: Shown }) {
  const { tree, zoomed } = shown.scene;
  const { params } = useAddress();
  const path = pathOf(tree, zoomed);
  const name = (node: number) => {
    const frame = frameOf(tree, node);
    return frame ? frameTitle(frame) : `All, ${join(shown.cost.figure(shown.value[0] ?? 0))}`;
  };
  const go = (node: number) => set(zoomChanges(tree, node));
  const inner = path.slice(1, -1);
  const isZoomed = path.length > 1 || params['v'] !== undefined;
  return (
    <nav class="crumbs" aria-label="Zoom">
      {isZoomed && (
        <button type="button" onClick={() => go(0)}>
          {name(0)}
        </button>
      )}
      {inner.length > 0 && (
        <>
          <Icon name="right" />
          <Menu
            label="Frames between"
            class=""
            button="…"
            items={() => inner.map((node) => ({ label: name(node), act: () => go(node) }))}
          />
        </>
      )}
      {path.length > 1 && (
        <>
          <Icon name="right" />
          <button type="button" aria-current="location" onClick={() => go(zoomed)}>
            {name(zoomed)}
          </button>
        </>
      )}
    </nav>
  );
}

/* ---- legend ---- */

const Key = ({ token, children }: { token: string; children: ComponentChildren }) => (
  <span>
    <span class="cat" style={{ background: `var(${token})` }} />
    {children}
  </span>
);

const SHOWN_PACKAGES = 5; // of seven, where there is room

function Legend({ shown }: { shown: Shown }) {
  if (shown.colouring === 'change')
    return (
      <div class="legend">
        <Key token={LESS_TOKEN}>less</Key>
        <Key token={MORE_TOKEN}>more</Key>
      </div>
    );
  if (shown.colouring === 'package') {
    const more = shown.packages.slice(SHOWN_PACKAGES);
    return (
      <div class="legend">
        {shown.packages.slice(0, SHOWN_PACKAGES).map((name, i) => (
          <Key key={name} token={packageToken(i)}>
            {name}
          </Key>
        ))}
        {more.length > 0 && <span title={more.join(', ')}>+{more.length}</span>}
        <Key token={packageToken(PACKAGES)}>other</Key>
      </div>
    );
  }
  return (
    <div class="legend">
      {(Object.keys(OWNER_WORDS) as Owner[]).map((owner) => (
        <span key={owner}>
          <span class={'sw ' + owner} />
          {OWNER_WORDS[owner]}
        </span>
      ))}
    </div>
  );
}

/* ---- fold or hide by expression ---- */

function RegexField(p: { label: string; name: 'fold' | 'hide'; value: string }) {
  return (
    <label>
      {p.label}
      <input
        class="code"
        value={p.value}
        placeholder="regular expression"
        spellcheck={false}
        onChange={(e) => set({ [p.name]: e.currentTarget.value, z: null, v: null })}
      />
    </label>
  );
}

function FoldPanel({ close }: { close: () => void }) {
  const { params } = useAddress();
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    root.current?.querySelector('input')?.focus();
    const outside = (e: PointerEvent) => {
      if (!root.current?.parentElement?.contains(e.target as Node)) close();
    };
    addEventListener('pointerdown', outside);
    return () => removeEventListener('pointerdown', outside);
  }, []);
  const onKeyDown = (e: KeyboardEvent) => {
    if (e.key !== 'Escape') return;
    e.preventDefault();
    e.stopPropagation();
    close();
  };
  return (
    <div
      class="fold-panel"
      role="dialog"
      aria-label="Fold or hide"
      ref={root}
      onKeyDown={onKeyDown}
    >
      <RegexField label="Fold frames that match" name="fold" value={params['fold'] ?? ''} />
      <RegexField label="Hide frames that match" name="hide" value={params['hide'] ?? ''} />
      <label class="check">
        <input
          type="checkbox"
          checked={params['collapse'] === '1'}
          onChange={(e) =>
            set({ collapse: e.currentTarget.checked ? '1' : null, z: null, v: null })
          }
        />
        Show recursive calls once
      </label>
    </div>
  );
}

function FoldButton({ isOpen, setOpen }: { isOpen: boolean; setOpen: (open: boolean) => void }) {
  const { params } = useAddress();
  const isActive = Boolean(params['fold'] || params['hide'] || params['collapse']);
  const button = useRef<HTMLButtonElement>(null);
  return (
    <span class="fold-root">
      <button
        type="button"
        ref={button}
        class={'btn small icon' + (isActive ? '' : ' quiet')}
        title="Fold or hide frames by a regular expression"
        aria-label="Fold or hide frames by a regular expression"
        aria-expanded={isOpen}
        aria-pressed={isActive}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="filter" />
      </button>
      {isOpen && (
        <FoldPanel
          close={() => {
            setOpen(false);
            button.current?.focus();
          }}
        />
      )}
    </span>
  );
}

/* ---- the bar ---- */

interface FlameBarProps {
  shown: Shown | null;
  isFoldOpen: boolean;
  setFoldOpen: (open: boolean) => void;
  onSvg: () => void;
}

export function FlameBar({ shown, isFoldOpen, setFoldOpen, onSvg }: FlameBarProps) {
  const a = useAddress();
  const { params } = a;
  const isUp = params['dir'] === 'up';
  const isMine = params['mine'] !== '0';
  const items = (): MenuItem[] => [
    { label: 'Bottom-up', isChecked: isUp, act: () => turnAround(params) },
    { label: 'Just my code', isChecked: isMine, act: () => toggleMine(params) },
    { label: 'Other colours', act: () => nextColours(params) },
    ...(isExported ? [] : [{ label: 'Fold or hide frames', act: () => setFoldOpen(true) }]),
    { label: 'Download as SVG', act: onSvg },
    ...(isExported ? [] : [{ label: 'Show as table', href: tableHref(a) }]),
  ];
  return (
    <div class="flame-bar">
      {shown ? <Crumbs shown={shown} /> : <span class="crumbs" />}
      {shown && <Legend shown={shown} />}
      <span class="sep" />
      <button
        type="button"
        class="btn quiet small"
        title="Turn the graph around (B)"
        onClick={() => turnAround(params)}
      >
        <Icon name={isUp ? 'up' : 'down'} />
        {isUp ? 'Bottom-up' : 'Top-down'}
      </button>
      <button
        type="button"
        class="btn small"
        aria-pressed={isMine}
        title="Fold runtime, executor and allocator frames (M)"
        onClick={() => toggleMine(params)}
      >
        Just my code
      </button>
      <button
        type="button"
        class="btn quiet small icon"
        title="Colour by package or by owner (C)"
        aria-label="Colour by package or by owner"
        onClick={() => nextColours(params)}
      >
        <Icon name="palette" />
      </button>
      {!isExported && <FoldButton isOpen={isFoldOpen} setOpen={setFoldOpen} />}
      <button
        type="button"
        class="btn quiet small icon"
        title="Download what is shown as SVG"
        aria-label="Download what is shown as SVG"
        onClick={onSvg}
      >
        <Icon name="download" />
      </button>
      <Menu
        label="How the graph is drawn"
        isIcon
        class="btn quiet small icon flame-more"
        button={<Icon name="dots" />}
        items={items}
      />
    </div>
  );
}
