/* Columns on a canvas: stacked when the scale is linear, whole when it is logarithmic (parts of a
 * logarithmic column have no meaning). A click chooses a column, Shift widens the choice; arrows do
 * the same. Readers of the screen get the chosen column in words. */
import { useCallback, useMemo } from 'preact/hooks';
import { figure, join, type Unit } from '../model/format';
import { valueScale, type Scale } from '../model/histogram';
import { valueLabel } from '../model/ticks';
import { font, useCanvas, type Surface } from './canvas';
import { showTip } from './floating';
import type { ComponentChildren } from 'preact';

export interface HistogramBar {
  label: string;
  words: string; // the same for readers of the screen
  total: number;
  parts: readonly number[]; // what is left to the total is "other"
}

export interface HistogramProps {
  label: string;
  bars: readonly HistogramBar[];
  fills: readonly string[]; // tokens of the parts
  unit: Unit;
  cost: string;
  isLog: boolean;
  selected: readonly [first: number, last: number] | null;
  onSelect: (bar: number, isWider: boolean) => void;
  tip: (bar: number) => ComponentChildren;
}

const LEFT = 52;
const RIGHT = 8;
const TOP = 18;
const BELOW = 24;

interface Frame {
  width: number;
  height: number;
  base: number;
  barRoom: number;
}

const frameOf = (width: number, height: number, n: number): Frame => ({
  width,
  height,
  base: height - BELOW,
  barRoom: (width - LEFT - RIGHT) / Math.max(1, n),
});

export function Histogram(p: HistogramProps) {
  const { bars, unit, isLog } = p;
  const scale = useMemo(
    () => valueScale(Math.max(0, ...bars.map((b) => b.total)), unit, isLog),
    [bars, unit, isLog],
  );
  const [from, to] = p.selected ?? [-1, -1];
  const draw = useCallback(
    (s: Surface) => drawHistogram(s, p, scale),
    [bars, p.fills, scale, p.cost, from, to],
  );
  const ref = useCanvas(draw);
  const barAt = (e: MouseEvent): number => {
    const box = ref.current?.getBoundingClientRect();
    if (!box) return -1;
    const { barRoom } = frameOf(box.width, box.height, bars.length);
    const i = Math.floor((e.clientX - box.left - LEFT) / barRoom);
    return i >= 0 && i < bars.length ? i : -1;
  };
  const onKeyDown = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    const ends: Record<string, number> = { Home: 0, End: bars.length - 1 };
    const start = step === -1 ? from : to;
    const next = step ? Math.max(0, Math.min(bars.length - 1, start + step)) : ends[e.key];
    if (next === undefined) return;
    e.preventDefault();
    p.onSelect(next, e.shiftKey);
  };
  const chosen = bars[from];
  const hover = (e: MouseEvent) => {
    const i = barAt(e);
    showTip(i < 0 ? null : p.tip(i), e);
  };
  return (
    <canvas
      class="chart"
      ref={ref}
      tabIndex={0}
      role="slider"
      aria-label={p.label}
      aria-valuemin={0}
      aria-valuemax={Math.max(0, bars.length - 1)}
      aria-valuenow={Math.max(0, from)}
      aria-valuetext={
        chosen ? `${chosen.words}: ${join(figure(chosen.total, unit))}` : 'nothing chosen'
      }
      onClick={(e) => {
        const i = barAt(e);
        if (i >= 0) p.onSelect(i, e.shiftKey);
      }}
      onPointerMove={hover}
      onPointerLeave={() => showTip(null)}
      onKeyDown={onKeyDown}
    />
  );
}

function drawHistogram(s: Surface, p: HistogramProps, scale: Scale): void {
  const f = frameOf(s.width, s.height, p.bars.length);
  const y = (v: number) => f.base - scale.at(v) * (f.base - TOP);
  const [from, to] = p.selected ?? [-1, -1];
  if (from >= 0) {
    s.g.fillStyle = s.token('--bg-select');
    s.g.fillRect(LEFT + from * f.barRoom + 1, 2, (to - from + 1) * f.barRoom - 2, f.height - 4);
  }
  drawTicks(s, f, scale, p.unit, y);
  p.bars.forEach((bar, i) => {
    const isChosen = i >= from && i <= to;
    if (p.isLog) drawWhole(s, f, i, y(bar.total), p.cost);
    else drawParts(s, f, i, bar, p.fills, y);
    drawWords(s, f, i, bar, { isChosen, isAlone: from === to, unit: p.unit, y: y(bar.total) });
  });
}

type Y = (value: number) => number;

function drawTicks({ g, token }: Surface, f: Frame, scale: Scale, unit: Unit, y: Y): void {
  g.font = font(10.5);
  g.textBaseline = 'middle';
  g.textAlign = 'right';
  g.lineWidth = 1;
  const rule = (py: number, colour: string) => {
    g.strokeStyle = token(colour);
    g.beginPath();
    g.moveTo(LEFT, py);
    g.lineTo(f.width - RIGHT, py);
    g.stroke();
  };
  for (const v of scale.ticks) {
    const py = Math.round(y(v)) + 0.5;
    rule(py, v ? '--line' : '--line-strong');
    g.fillStyle = token('--text-3');
    g.fillText(valueLabel(v, unit), LEFT - 7, py);
  }
  if (scale.ticks[0] !== 0) rule(f.base + 0.5, '--line-strong');
}

function columnOf(f: Frame, i: number): [x: number, width: number] {
  const width = Math.max(3, Math.min(44, f.barRoom - 6));
  return [Math.round(LEFT + i * f.barRoom + (f.barRoom - width) / 2), width];
}

function drawWhole({ g, token }: Surface, f: Frame, i: number, top: number, cost: string): void {
  const [x, width] = columnOf(f, i);
  if (f.base - top < 0.5) return;
  g.fillStyle = token(`--f-${cost}`);
  g.fillRect(x, top, width, f.base - top);
  g.fillStyle = token(`--c-${cost}`);
  g.fillRect(x, top, width, 2);
}

function drawParts(
  { g, token }: Surface,
  f: Frame,
  i: number,
  bar: HistogramBar,
  fills: readonly string[],
  y: Y,
): void {
  const [x, width] = columnOf(f, i);
  const rest = bar.total - bar.parts.reduce((sum, v) => sum + v, 0);
  let sum = 0;
  [...bar.parts, rest].forEach((value, k) => {
    if (value <= 0) return;
    const [low, high] = [y(sum), y(sum + value)];
    g.fillStyle = token(fills[k] ?? '--a8');
    g.fillRect(x, high, width, low - high);
    if (low - high > 3) {
      g.fillStyle = token('--bg-view');
      g.fillRect(x, high, width, 1);
    }
    sum += value;
  });
}

function drawWords(
  { g, token }: Surface,
  f: Frame,
  i: number,
  bar: HistogramBar,
  o: { isChosen: boolean; isAlone: boolean; unit: Unit; y: number },
): void {
  const middle = LEFT + (i + 0.5) * f.barRoom;
  const every = f.barRoom > 30 ? 1 : f.barRoom > 20 ? 2 : 4;
  g.textAlign = 'center';
  g.font = font(10.5, o.isChosen ? 600 : 400);
  g.fillStyle = token(o.isChosen ? '--text' : '--text-3');
  if (i % every === 0 || (o.isChosen && every === 1)) g.fillText(bar.label, middle, f.height - 11);
  if (bar.total > 0 && (f.barRoom > 44 || (o.isChosen && o.isAlone))) {
    g.fillStyle = token(o.isChosen ? '--text' : '--text-2');
    g.fillText(join(figure(bar.total, o.unit)), middle, o.y - 8);
  }
}
