/* What can be done with a frame of the flame graph: the menu, and the keys that do the same. */
import { isExported } from '../api/client';
import { costKind } from '../model/costs';
import { costLines } from '../model/copy_text';
import { exact, join } from '../model/format';
import { costsOf, frameOf, pathOf, type FlameTree } from '../model/flame_tree';
import { codeName, exactRegex, frameFull, frameLocation, type FrameName } from '../model/names';
import { copyText } from '../state/overlay';
import { address, set } from '../state/router';
import { CostBars } from '../widgets/figures';
import type { MenuItem } from '../widgets/floating';
import { zoomChanges, type Shown } from './flame_scene';
import { functionItems } from './function_menu';

/* One more alternative of a regular expression. */
const orElse = (before: string | undefined, name: string): string =>
  [before, exactRegex(name)].filter(Boolean).join('|');

export function copyFrame(shown: Shown, node: number): void {
  const { tree } = shown.scene;
  const frame = frameOf(tree, node);
  if (!frame) return;
  const isChange = tree.base !== null;
  void copyText(costLines(frame, costsOf(tree, node), tree.total, isChange), 'Frame');
}

/* From the frame outwards, one line each, as stacks are written elsewhere. */
const stackText = (t: FlameTree, node: number): string =>
  pathOf(t, node)
    .slice(1)
    .reverse()
    .map((at) => frameOf(t, at))
    .map((f) => (f ? `${codeName(f)}  ${frameLocation(f)}` : ''))
    .join('\n');

function foldActions(frame: FrameName): MenuItem[] {
  const { params } = address.value;
  const name = codeName(frame);
  return [
    {
      label: 'Fold frames of this function',
      act: () => set({ fold: orElse(params['fold'], name) }),
    },
    {
      label: 'Hide frames of this function',
      act: () => set({ hide: orElse(params['hide'], name) }),
    },
  ];
}

export function frameActions(shown: Shown, node: number): MenuItem[] {
  const { tree } = shown.scene;
  const frame = frameOf(tree, node);
  if (!frame) return [];
  const isRun = (tree.folded[node] ?? 0) > 0;
  return [
    { label: 'Zoom', hint: 'Enter', act: () => set(zoomChanges(tree, node)) },
    ...(isRun ? [{ label: 'Show the folded frames', hint: 'M', act: unfold }] : []),
    ...(!isRun && !isExported ? functionItems(frame) : []),
    ...(!isRun && !isExported && frame.function ? foldActions(frame) : []),
    { label: 'Copy', isHeading: true },
    { label: 'Name, location and costs', hint: 'Y', act: () => copyFrame(shown, node) },
    { label: 'Path to this frame', act: () => void copyText(stackText(tree, node), 'Path') },
  ];
}

/* Shows the frames of all runs that are folded. */
export const unfold = (): void => set({ mine: '0', fold: null, collapse: null, z: null, v: null });

/* The tooltip. */
export function FrameTip({ shown, node }: { shown: Shown; node: number }) {
  const { tree } = shown.scene;
  const frame = frameOf(tree, node);
  if (!frame) return null;
  const folded = tree.folded[node] ?? 0;
  const self = tree.self[shown.cost.id][node] ?? 0;
  const kind = costKind(shown.cost.id);
  const text = (value: number) => join(shown.cost.figure(value));
  const before = tree.base?.[shown.cost.id][node];
  const value = shown.value[node] ?? 0;
  const part = shown.cost.share(value, shown.value[0] ?? 0);
  const where = [frameLocation(frame), frame.package].filter(Boolean);
  return (
    <>
      <b>{frameFull(frame).split('\n')[0]}</b>
      <div class="dim">{where.filter((w, i) => where.indexOf(w) === i).join(' · ')}</div>
      {folded > 0 && <div class="dim">{folded} frames folded; a click shows them</div>}
      <div class="tip-line">
        {before === undefined ? (
          <>
            {text(value)} here and below ({exact(value, kind.unit)}
            {part && `, ${part}`}), {text(self)} of it here itself
          </>
        ) : (
          `${exact(before, kind.unit)} before, ${exact(before + value, kind.unit)} now: ${text(value)}`
        )}
      </div>
      <CostBars cost={costsOf(tree, node)} total={tree.total} isChange={tree.base !== null} />
    </>
  );
}
