/* The flame graph: which stacks cost how much, on a canvas.
 *
 * The address holds everything: cost and moment, q (find), dir=up (bottom-up), mine=0 (runtime frames
 * not folded), fold, hide and collapse (what the server folds or leaves out), color, z (the zoomed
 * frame), v (a part of the graph that the wheel or a drag chose).
 */
import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { isExported } from '../api/client';
import { announcement, heaviestEnd } from '../model/flame_step';
import { frameOf, nodeId, type FlameTree } from '../model/flame_tree';
import { momentKey } from '../model/flame_query';
import { viewOf, viewText, type View } from '../model/flame_layout';
import { basename } from '../model/recording';
import { join, plural } from '../model/format';
import { codeName } from '../model/names';
import { isDetailsOpen, selectionText } from '../state/details';
import { useFlameTree } from '../state/flame';
import { useKeys } from '../state/keys';
import { overlay } from '../state/overlay';
import { useRecording } from '../state/recordings';
import { address, set, setQuietly, useAddress, useCost } from '../state/router';
import { CostSwitch, FindField, Foot } from '../widgets/controls';
import { openMenu, showTip } from '../widgets/floating';
import { NoMatch } from '../widgets/no_match';
import { ErrorNote, Note, Waiting } from '../widgets/notes';
import { FlameBar, nextColours, tableHref, toggleMine, turnAround } from './flame_bar';
import { FlameCanvas } from './flame_canvas';
import { copyFrame, frameActions, FrameTip, unfold } from './flame_menu';
import { saveSvg } from './flame_export';
import { useShown, zoomChanges, type Shown } from './flame_scene';
import { notThis, onlyThis } from './function_menu';

const isNarrow = matchMedia('(max-width: 720px)');
const SELECT_MS = 200; // after the last arrow key, the details panel follows

/* The selection of a node in the address; an exported page has no details. */
const selectionChange = (t: FlameTree, node: number): Record<string, string | null> => {
  const frame = frameOf(t, node);
  const isRun = (t.folded[node] ?? 0) > 0;
  const key = frame && node > 0 && !isRun && !isExported ? codeName(frame) : null;
  return { sel: key === null ? null : selectionText({ kind: 'fn', key }) };
};

export function FlamePage() {
  const a = useAddress();
  const { params } = a;
  const recording = useRecording();
  const { tree, asked, isRefining, isStale } = useFlameTree(params);
  const [touched, setTouched] = useState<string | null>(null);
  const [isFoldOpen, setFoldOpen] = useState(false);
  const shown = useShown(tree, a, useCost(), touched);
  const acts = useActions(shown, setTouched);
  useTouchedUntil(shown, params['sel'], () => setTouched(null));
  useFlameKeys(shown, acts.goTo);
  const total = shown?.value[0] ?? 0;
  const found = shown?.scene.found;
  const downloadSvg = () => shown && saveSvg(shown, recording ? basename(recording) : 'flame');

  return (
    <>
      <div class="toolbar">
        <CostSwitch hasMoment={!isExported && momentKey(params) !== null} />
        <FindField
          label="Find function"
          class="push grow"
          value={params['q'] ?? ''}
          hit={shown && found ? hitText(shown, found.value, total) : ''}
          onChange={(text) => setQuietly({ q: text })}
          onEnter={() => acts.goTo(found?.heaviest ?? -1)}
        />
      </div>
      <Waiting asked={asked} what="Adding up stacks" />
      <FlameBar
        shown={shown}
        isFoldOpen={isFoldOpen}
        setFoldOpen={setFoldOpen}
        onSvg={downloadSvg}
      />
      {asked.error ? (
        <div class="flame-body pad-note">
          <ErrorNote
            error={asked.error}
            again={asked.again}
            edit={() =>
              params['fold'] || params['hide'] ? setFoldOpen(true) : overlay.set({ kind: 'filter' })
            }
          />
        </div>
      ) : (
        <div class={'flame-body' + (isStale ? ' stale' : '')} aria-busy={isStale}>
          {shown &&
            (shown.scene.layout.n > 0 ? (
              <FlameCanvas
                scene={shown.scene}
                view={shown.view}
                selected={shown.selected}
                label={`Flame graph. ${shown.scene.rootText}. Arrow keys move, Enter zooms, Escape goes back.`}
                {...acts}
              />
            ) : (
              <Nothing shown={shown} />
            ))}
        </div>
      )}
      <Announcer shown={shown} found={shown && found ? hitText(shown, found.value, total) : ''} />
      <Foot
        left={shown ? footText(shown.scene.tree, isRefining) : ''}
        right={
          !isExported && (
            <a class="link" href={tableHref(a)}>
              Show as table
            </a>
          )
        }
      />
    </>
  );
}

/* "2.58 GiB, 82.0 %"; small frames may be missing from a very large tree. */
function hitText(shown: Shown, value: number, total: number): string {
  const found = shown.scene.found;
  if (!found?.nodes) return 'no match';
  const least = shown.scene.tree.leftOut ? 'at least ' : '';
  const part = shown.cost.share(value, total);
  return least + [join(shown.cost.figure(value)), part].filter(Boolean).join(', ');
}

function footText(t: FlameTree, isRefining: boolean): string {
  const frames = plural(t.n - 1, 'frame');
  if (isRefining) return `${frames}, smaller ones are on their way`;
  return t.leftOut ? `${frames}, smaller ones are left out` : frames;
}

/* ---- what gestures do ---- */

function useActions(shown: Shown | null, setTouched: (id: string | null) => void) {
  const latest = useRef(shown);
  latest.current = shown;
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);

  const onZoom = useCallback((node: number) => {
    const tree = latest.current?.scene.tree;
    if (!tree) return;
    clearTimeout(timer.current);
    if ((tree.folded[node] ?? 0) > 0) return unfold();
    setTouched(nodeId(tree, node));
    /* where the panel covers the graph, the first tap zooms and the second one opens the panel */
    const isTap = isNarrow.matches && node !== latest.current?.scene.zoomed;
    const selects = node > 0 && !isTap;
    if (selects) isDetailsOpen.set(true);
    set({
      ...zoomChanges(tree, node),
      ...(selects ? selectionChange(tree, node) : isTap ? { sel: null } : {}),
    });
  }, []);
  const onCursor = useCallback((node: number) => {
    const tree = latest.current?.scene.tree;
    if (!tree) return;
    setTouched(nodeId(tree, node));
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setQuietly(selectionChange(tree, node)), SELECT_MS);
  }, []);
  const onView = useCallback((next: View) => setQuietly({ v: viewText(next) }), []);
  const onTip = useCallback((node: number, at: { clientX: number; clientY: number } | null) => {
    const now = latest.current;
    if (now && node > 0 && at) showTip(<FrameTip shown={now} node={node} />, at);
    else showTip(null);
  }, []);
  const onMenu = useCallback((node: number, at: DOMRect, canvas: HTMLElement) => {
    const now = latest.current;
    if (now && node > 0) openMenu(frameActions(now, node), at, canvas);
  }, []);
  /* A frame that was found: the canvas takes over the keyboard, and the zoom ends that hides it. */
  const goTo = useCallback((node: number) => {
    const now = latest.current;
    if (!now || node <= 0) return;
    const { layout } = now.scene;
    const box = viewOf(layout, layout.position[node] ?? 0);
    if (box.to <= now.view.from || box.from >= now.view.to) set({ z: null, v: null });
    document.querySelector<HTMLElement>('canvas.flame')?.focus({ preventScroll: true });
    onCursor(node);
  }, []);
  return { onZoom, onCursor, onView, onTip, onMenu, goTo };
}

/* A touched frame stays selected until something else is. */
function useTouchedUntil(shown: Shown | null, sel: string | undefined, forget: () => void): void {
  const isFirst = useRef(true);
  useEffect(() => {
    if (isFirst.current || !shown) {
      isFirst.current = false;
      return;
    }
    const own =
      shown.selected > 0 ? selectionChange(shown.scene.tree, shown.selected)['sel'] : null;
    if (own !== (sel ?? null)) forget();
  }, [sel]);
}

/* Keys of this page; arrows and Enter belong to the canvas. */
function useFlameKeys(shown: Shown | null, goTo: (node: number) => void): void {
  const node = shown?.selected ?? -1;
  const frame = shown && node > 0 ? frameOf(shown.scene.tree, node) : null;
  const name = frame ? codeName(frame) : null;
  /* J and K are arrow keys that work wherever the focus is */
  const step = (key: string) => () => {
    const canvas = document.querySelector<HTMLCanvasElement>('canvas.flame');
    canvas?.focus({ preventScroll: true });
    canvas?.dispatchEvent(new KeyboardEvent('keydown', { key }));
  };
  /* what the address says when the key is pressed: the page may not be drawn anew yet */
  const params = () => address.value.params;
  useKeys({
    m: () => toggleMine(params()),
    b: () => turnAround(params()),
    c: () => nextColours(params()),
    j: step('ArrowDown'),
    k: step('ArrowUp'),
    e: () => shown && goTo(heaviestEnd(shown.scene.layout, node > 0 ? node : shown.scene.zoomed)),
    ...(name && !isExported ? { o: () => onlyThis(name), x: () => notThis(name) } : {}),
    ...(shown && node > 0 ? { y: () => copyFrame(shown, node) } : {}),
    Escape: () => overlay.value === null && stepBack(params()),
  });
}

/* Escape: the search, then the zoom; the frame around the page has the rest. */
function stepBack(params: Readonly<Record<string, string>>): boolean {
  if (params['q']) set({ q: null });
  else if (params['z'] || params['v']) set({ z: null, v: null });
  else return false;
  return true;
}

/* ---- the rest of the page ---- */

/* The frame that is selected and what a search found, for readers of the screen. */
function Announcer({ shown, found }: { shown: Shown | null; found: string }) {
  const node = shown?.selected ?? -1;
  const text =
    shown && node >= 0
      ? announcement(
          shown.scene.tree,
          shown.scene.layout,
          node,
          join(shown.cost.figure(shown.value[node] ?? 0)),
          shown.cost.share(shown.value[node] ?? 0, shown.value[0] ?? 0),
        )
      : '';
  return (
    <>
      <div class="sr-only" role="status" aria-live="polite">
        {text}
      </div>
      <div class="sr-only" role="status" aria-live="polite">
        {found && `Found: ${found}`}
      </div>
    </>
  );
}

/* There are allocations, but none has this cost. */
function Nothing({ shown }: { shown: Shown }) {
  const { total } = shown.scene.tree;
  const { params } = useAddress();
  if (params['base'])
    return (
      <Empty title="Nothing changed.">{shown.cost.name} is the same in both recordings.</Empty>
    );
  if (!total.allocations) return <NoMatch />;
  const showPeak = (
    <button type="button" class="btn" onClick={() => set({ cost: 'peak', moment: null })}>
      Show the peak
    </button>
  );
  const what = `${plural(total.allocations, 'allocation')}`;
  if (shown.cost.id === 'leaked')
    return (
      <Empty title="Everything was freed." actions={showPeak}>
        {what}, 0{'\u00a0'}B left at the end.
      </Empty>
    );
  if (shown.cost.id === 'temp')
    return (
      <Empty title="Nothing was temporary." actions={showPeak}>
        {what}; none was freed before its thread allocated again.
      </Empty>
    );
  return (
    <Empty title="Nothing to show." actions={showPeak}>
      {what}, none of which has a size.
    </Empty>
  );
}

function Empty(p: { title: string; children: ComponentChildren; actions?: ComponentChildren }) {
  return (
    <div class="pad-note">
      <Note title={p.title} actions={p.actions}>
        {p.children}
      </Note>
    </div>
  );
}
