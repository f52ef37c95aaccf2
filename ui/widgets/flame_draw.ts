/* Draws a flame graph on a canvas that is as large as its window: only what is on screen. */
import { font, token, type Surface } from './canvas';
import type { Colour, Colours } from '../model/flame_colour';
import { TextWidths, labelOf, type Fitted, type Label } from '../model/flame_label';
import { eachVisible, ROW_PX, type Layout, type View } from '../model/flame_layout';
import { HIT, type Found } from '../model/flame_search';
import { frameOf, type FlameTree } from '../model/flame_tree';
import { ownerOf } from '../model/names';
import { theme } from '../state/settings';

export const PAD_TOP = 8;
export const TEXT_PX = 11.5;
const VALUE_PX = 10.5;
const TEXT_PAD = 5;
const MIN_ROOM = 22; // for a label
const VALUE_ROOM = 72; // for a value beside the label
const VALUE_ALPHA = 0.82; // on light frames; on dark ones this would be below 4.5:1
const PALE = 0.55; // ancestors of the zoomed frame step back

export interface FlameScene {
  tree: FlameTree;
  layout: Layout;
  colours: Colours;
  found: Found | null;
  rootText: string;
  valueText: (node: number) => string;
  zoomed: number; // node
}

/* What changes while nothing is asked: the view moves, the pointer moves. */
export interface FlameMarks {
  view: View;
  scrollTop: number;
  hot: number; // node under the pointer; -1: none
  cursor: number; // node that is selected; -1: none
}

/* ---- colours and widths, kept as long as the theme stays ---- */

function mixed(from: string, to: string, strength: number): string {
  const part = (hex: string, i: number) => parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
  const one = (i: number) =>
    Math.round(part(from, i) + (part(to, i) - part(from, i)) * strength)
      .toString(16)
      .padStart(2, '0');
  return '#' + one(0) + one(1) + one(2);
}

export const colourText = (c: Colour): string =>
  c.from === undefined ? token(c.token) : mixed(token(c.from), token(c.token), c.strength ?? 1);

const widths = new Map<string, TextWidths>();

export function widthsOf(g: CanvasRenderingContext2D, name: string): TextWidths {
  let known = widths.get(name);
  if (!known) {
    known = new TextWidths((text) => {
      g.font = name;
      return g.measureText(text).width;
    });
    widths.set(name, known);
  }
  return known;
}

const labels = new WeakMap<FlameTree, Map<number, Label>>();

/* Labels are made once per name; names that stand for a run once per length of the run. */
export function nodeLabel(t: FlameTree, node: number): Label {
  let known = labels.get(t);
  if (!known) labels.set(t, (known = new Map()));
  const folded = t.folded[node] ?? 0;
  const key = (t.name[node] ?? 0) * 4096 + Math.min(folded, 4095);
  let label = known.get(key);
  if (!label) {
    const frame = frameOf(t, node);
    label = frame ? labelOf(frame, folded) : { whole: '', short: '' };
    known.set(key, label);
  }
  return label;
}

/* ---- drawing ---- */

interface Text {
  text: string;
  x: number;
  y: number;
  isDim: boolean;
}

/* Texts wait until all boxes are drawn: one font after the other instead of a change per box. */
interface Texts {
  plain: Text[];
  strong: Text[];
  values: Text[];
}

const isAbove = (l: Layout, p: number, zoomed: number): boolean => {
  const at = l.position[zoomed] ?? 0;
  return (
    at > 0 && p < at && (l.x[p] ?? 0) <= (l.x[at] ?? 0) && (l.right[p] ?? 0) >= (l.right[at] ?? 0)
  );
};

export function drawFlame(s: Surface, scene: FlameScene, m: FlameMarks): void {
  const { g, width, height } = s;
  const { layout: l, tree, found } = scene;
  const fills = scene.colours.palette.map(colourText);
  const [dim, accent] = [token('--flame-dim'), token('--accent')];
  const zoomedRow = tree.depth[scene.zoomed] ?? 0;
  const texts: Texts = { plain: [], strong: [], values: [] };
  const outlines: (readonly [node: number, left: number, right: number, y: number])[] = [];
  const first = Math.max(0, Math.floor((m.scrollTop - PAD_TOP) / ROW_PX));
  const last = Math.floor((m.scrollTop + height - PAD_TOP) / ROW_PX);
  eachVisible(l, m.view, width, [first, last], {
    box(p, row, left, right) {
      const node = l.node[p] ?? 0;
      const y = PAD_TOP + row * ROW_PX - m.scrollTop;
      const mark = found ? (found.mark[node] ?? 0) : HIT;
      const gap = right - left > 3 ? 1 : 0;
      const isPale = row < zoomedRow && isAbove(l, p, scene.zoomed);
      if (isPale) g.globalAlpha = PALE;
      g.fillStyle = mark ? (fills[scene.colours.byNode[node] ?? 0] ?? dim) : dim;
      g.fillRect(left, y, right - left - gap, ROW_PX - 1);
      if (isPale) g.globalAlpha = 1;
      if (found && mark & HIT) {
        g.fillStyle = accent;
        g.fillRect(left, y + ROW_PX - 4, right - left - gap, 3);
      }
      if (node === m.hot || node === m.cursor) outlines.push([node, left, right - gap, y]);
      if (right - left - 2 * TEXT_PAD > MIN_ROOM)
        putTexts(g, scene, texts, { node, left, right, y: y + ROW_PX / 2, mark });
    },
    crowd(row, left, right) {
      if (right - left < 1) return;
      g.fillStyle = dim;
      g.fillRect(left, PAD_TOP + row * ROW_PX - m.scrollTop, right - left, ROW_PX - 1);
    },
  });
  drawTexts(g, texts);
  for (const [node, left, right, y] of outlines) outline(g, left, right, y, node === m.cursor);
}

interface Box {
  node: number;
  left: number;
  right: number;
  y: number; // of the middle
  mark: number;
}

const plainFont = (): string => font(TEXT_PX);
const strongFont = (): string => font(TEXT_PX, 500);
const valueFont = (): string => font(VALUE_PX);

/* Own code stands out, and so does what was searched for. */
export const isStrong = (t: FlameTree, node: number): boolean =>
  ownerOf(frameOf(t, node)?.class ?? '') === 'own';

function putTexts(g: CanvasRenderingContext2D, scene: FlameScene, out: Texts, b: Box): void {
  const { tree, found } = scene;
  const room = b.right - b.left - 2 * TEXT_PAD;
  const isDim = !b.mark;
  const isBold = !isDim && (isStrong(tree, b.node) || (found !== null && (b.mark & HIT) !== 0));
  const fits = widthsOf(g, isBold ? strongFont() : plainFont());
  const label: Fitted =
    b.node === 0 ? fits.cut(scene.rootText, room) : fits.fit(nodeLabel(tree, b.node), room);
  if (!label.text) return;
  (isBold ? out.strong : out.plain).push({ text: label.text, x: b.left + TEXT_PAD, y: b.y, isDim });
  if (b.node !== 0 && room - label.width > VALUE_ROOM)
    out.values.push({ text: scene.valueText(b.node), x: b.right - 7, y: b.y, isDim });
}

function drawTexts(g: CanvasRenderingContext2D, texts: Texts): void {
  const [ink, dimInk] = [token('--on-flame'), token('--on-flame-dim')];
  g.textBaseline = 'middle';
  const draw = (list: readonly Text[], name: string, align: CanvasTextAlign) => {
    g.font = name;
    g.textAlign = align;
    for (const isDim of [false, true]) {
      g.fillStyle = isDim ? dimInk : ink;
      for (const t of list) if (t.isDim === isDim) g.fillText(t.text, t.x, t.y);
    }
  };
  draw(texts.plain, plainFont(), 'left');
  draw(texts.strong, strongFont(), 'left');
  g.globalAlpha = theme.value === 'dark' ? 1 : VALUE_ALPHA;
  draw(texts.values, valueFont(), 'right');
  g.globalAlpha = 1;
}

function outline(
  g: CanvasRenderingContext2D,
  left: number,
  right: number,
  y: number,
  isCursor: boolean,
): void {
  const line = isCursor ? 2 : 1;
  g.strokeStyle = token('--text');
  g.lineWidth = line;
  g.strokeRect(left + line / 2, y + line / 2, Math.max(1, right - left - line), ROW_PX - 1 - line);
}
