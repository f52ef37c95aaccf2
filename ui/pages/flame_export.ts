/* The flame graph on screen as a file: the same zoom, folding, colours and search. */
import { flameSvg } from '../model/flame_svg';
import { HIT } from '../model/flame_search';
import { frameOf } from '../model/flame_tree';
import { exact } from '../model/format';
import { costKind } from '../model/costs';
import { frameFull } from '../model/names';
import { font, token } from '../widgets/canvas';
import { colourText, nodeLabel, TEXT_PX, widthsOf } from '../widgets/flame_draw';
import type { Shown } from './flame_scene';

const WIDTH_PX = 1600;

function svgText(shown: Shown, title: string, g: CanvasRenderingContext2D): string {
  const { scene, value, cost } = shown;
  const { tree, layout, found, colours } = scene;
  const fills = colours.palette.map(colourText);
  const nodeOf = (p: number) => layout.node[p] ?? 0;
  const mark = (p: number) => (found ? (found.mark[nodeOf(p)] ?? 0) : HIT);
  const { unit } = costKind(cost.id);
  return flameSvg({
    layout,
    view: shown.view,
    rows: (layout.deepest[layout.position[scene.zoomed] ?? 0] ?? 0) + 1,
    width: WIDTH_PX,
    title,
    font: token('--font-ui'),
    background: token('--bg-view'),
    text: token('--text'),
    crowd: token('--flame-dim'),
    fill: (p) => (mark(p) ? (fills[colours.byNode[nodeOf(p)] ?? 0] ?? '') : token('--flame-dim')),
    ink: (p) => token(mark(p) ? '--on-flame' : '--on-flame-dim'),
    label: (p) =>
      nodeOf(p) === 0
        ? { whole: scene.rootText, short: scene.rootText }
        : nodeLabel(tree, nodeOf(p)),
    tip: (p) => {
      const frame = frameOf(tree, nodeOf(p));
      const v = value[nodeOf(p)] ?? 0;
      const figures = [exact(v, unit), cost.share(v, value[0] ?? 0)].filter(Boolean).join(', ');
      return `${frame ? frameFull(frame) : scene.rootText}\n${figures}`;
    },
    fit: (label, room) => widthsOf(g, font(TEXT_PX)).fit(label, room),
  });
}

/* Hands the file to the browser's downloads. */
export function saveSvg(shown: Shown, program: string): void {
  const g = document.createElement('canvas').getContext('2d');
  if (!g) return;
  const title = `${program}: ${shown.scene.rootText}`;
  const blob = new Blob([svgText(shown, title, g)], { type: 'image/svg+xml' });
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = `${program}-${shown.cost.id}.svg`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
