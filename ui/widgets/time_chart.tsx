/* A chart over time: stacked areas or one line, round axes, labels at the right edge, the crosshair
 * shared with the strip, a drag that selects the time range of every page. uPlot draws; this file says
 * what.
 */
import { useEffect, useMemo, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { bytes, clockDigits, count, join, type Unit } from '../model/format';
import { LABEL_PX, placeLabels, stack, standsAbove } from '../model/chart';
import type { Gap } from '../model/gaps';
import type { Span } from '../model/strip';
import { timeLabel, timeTicks, valueLabel, valueTicks } from '../model/ticks';
import { useClock, useClockOrigin } from '../state/clock';
import { useGaps } from '../state/gaps';
import { set } from '../state/router';
import { Signal, useSignal } from '../state/signal';
import { theme } from '../state/settings';
import { font, token } from './canvas';
import { drawGaps } from './gaps_draw';
import { openTimeMenu } from './time_menu';

export interface ChartSeries {
  name: string;
  values: readonly number[];
  fill: string; // a token: --a1
  line?: string; // a token for the upper edge; default: the view's background
}

export interface ChartLine {
  name: string;
  at: readonly number[]; // ns, ascending
  values: readonly number[];
}

export interface TimeChartProps {
  label: string; // one sentence, for readers of the screen
  span: Span; // of the axis: charts with other buckets have the same one, and the crosshair one place
  fromNs: number; // of the first bucket
  bucketNs: number;
  runNs: number;
  series: readonly ChartSeries[]; // lowest first
  unit: Unit;
  perSecond?: boolean; // values are rates
  line?: ChartLine | null; // RSS, dashed
  top?: readonly number[] | null; // the largest total in each bucket: above the areas where it was a peak
  peak?: { ns: number; value: number } | null;
  hasLabels?: boolean; // names at the right edge
  crosshair: Signal<number | null>;
}

const LEFT = 56;
const LABELS = 128;
const HEADROOM = 1.16; // above the highest value: room for the word at the peak
const SMALL = 520; // pixels below which labels go

export function TimeChart(props: TimeChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const originNs = useClockOrigin();
  const gaps = useGaps();
  const clock = useClock();
  const p = { ...props, originNs, gaps };
  const latest = useRef(p);
  latest.current = p;
  const dark = useSignal(theme);
  const hover = useSignal(p.crosshair);
  const data = useMemo(
    () => chartData(p),
    [p.span.fromNs, p.span.toNs, p.fromNs, p.bucketNs, p.series, p.line],
  );

  useEffect(() => {
    const el = box.current;
    if (!el) return undefined;
    const size = () => ({ width: el.clientWidth, height: el.clientHeight });
    const made = new uPlot(options(latest, size()), data, el);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize(size()));
    observer.observe(el);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
    /* another number of series, or another clock, is another chart */
  }, [p.series.length, !!p.line, p.unit, originNs]);
  useEffect(() => plot.current?.setData(data), [data]);
  /* false: the paths stay; a redraw with new paths before the first one would lose the x scale */
  useEffect(
    () => plot.current?.redraw(false),
    [dark, p.peak?.ns, p.peak?.value, p.top, hover, gaps],
  );

  const onContextMenu = (e: MouseEvent) => {
    const at = p.crosshair.value;
    if (at !== null) openTimeMenu(e, at, clock(at, clockDigits(p.runNs)), p.runNs);
  };
  return (
    <div
      class="timechart"
      ref={box}
      role="img"
      aria-label={p.label}
      onContextMenu={onContextMenu}
    />
  );
}

/* x, then one column per series from the top of the stack down, then the line. A point is in the middle of its
 * bucket, the first and the last one are at the edges. */
function chartData(p: TimeChartProps): uPlot.AlignedData {
  const n = p.series[0]?.values.length ?? 0;
  const xs = Float64Array.from({ length: n }, (_, i) => p.fromNs + (i + 0.5) * p.bucketNs);
  if (n > 1) {
    xs[0] = p.fromNs;
    xs[n - 1] = p.fromNs + n * p.bucketNs;
  }
  const layers = stack(p.series.map((s) => s.values)).reverse();
  return [xs, ...layers] as unknown as uPlot.AlignedData;
}

/* originNs: what a wall clock showed at the start; null: time since the start. */
type Drawn = TimeChartProps & { originNs: number | null; gaps: readonly Gap[] };
type Latest = { current: Drawn };

function options(latest: Latest, size: { width: number; height: number }): uPlot.Options {
  const p = latest.current;
  const names = [...p.series].reverse();
  const right = () => (latest.current.hasLabels && size.width >= SMALL ? LABELS : 8);
  return {
    ...size,
    padding: [8, right(), 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: true, y: false, setScale: false },
    },
    scales: {
      x: {
        time: false,
        range: () => [latest.current.span.fromNs, latest.current.span.toNs],
      },
      y: { range: (_u, _min, max) => yRange(latest.current, max) },
    },
    axes: [xAxis(latest), yAxis(latest)],
    series: [
      {},
      ...names.map((s): uPlot.Series => ({
        label: s.name,
        fill: () => token(s.fill),
        stroke: () => token(s.line ?? '--bg-view'),
        width: s.line ? 1.25 : 0.75,
        points: { show: false },
      })),
    ],
    hooks: {
      drawAxes: [(u) => drawTop(u, latest.current)],
      draw: [(u) => drawMarks(u, latest.current)],
      setCursor: [(u) => onCursor(u, latest.current)],
      setSelect: [(u) => onSelect(u)],
    },
  };
}

function yRange(p: TimeChartProps, max: number): uPlot.Range.MinMax {
  const top = Math.max(max || 0, ...(p.line?.values ?? []), ...(p.top ?? []), 1);
  const ticks = valueTicks(top, p.unit, 2);
  return [0, Math.min(ticks[ticks.length - 1] ?? top, top * HEADROOM)];
}

const gridLine = () => token('--line');
const axisText = () => token('--text-3');

function xAxis(latest: Latest): uPlot.Axis {
  const ticks = (u: uPlot) => {
    const { min = 0, max = 1 } = u.scales['x'] ?? {};
    const want = Math.max(3, u.bbox.width / devicePixelRatio / 64);
    return timeTicks(min, max, want, latest.current.originNs ?? 0);
  };
  return {
    size: 22,
    font: font(10.5),
    stroke: axisText,
    grid: { show: false },
    ticks: { show: false },
    /* a label at the very edge would be cut off, or stand below that of the other axis */
    splits: (u) => {
      const { min = 0, max = 1 } = u.scales['x'] ?? {};
      const edge = (max - min) * 0.015;
      return ticks(u).at.filter((t) => t > min + edge && t < max - edge);
    },
    values: (u, splits) => {
      const { stepNs } = ticks(u);
      const { runNs, originNs } = latest.current;
      return splits.map((t) => timeLabel(t, stepNs, runNs, originNs));
    },
  };
}

function yAxis(latest: Latest): uPlot.Axis {
  return {
    size: LEFT,
    font: font(10.5),
    stroke: axisText,
    grid: { stroke: gridLine, width: 1 },
    ticks: { show: false },
    splits: (u, _axis, _min, max) => {
      const want = Math.max(2, Math.min(6, u.bbox.height / devicePixelRatio / 22));
      return valueTicks(max * 0.999, latest.current.unit, want).filter((v) => v <= max);
    },
    values: (_u, splits) => splits.map((v) => valueLabel(v, latest.current.unit)),
  };
}

/* Drawn over uPlot's own drawing, in device pixels. */
function drawMarks(u: uPlot, p: Drawn): void {
  const ratio = devicePixelRatio;
  const g = u.ctx;
  g.save();
  g.scale(ratio, ratio);
  g.textBaseline = 'middle';
  const x = (ns: number) => u.valToPos(ns, 'x', true) / ratio;
  const y = (v: number) => u.valToPos(v, 'y', true) / ratio;
  const area = {
    left: u.bbox.left / ratio,
    right: (u.bbox.left + u.bbox.width) / ratio,
    top: u.bbox.top / ratio,
    base: (u.bbox.top + u.bbox.height) / ratio,
  };
  drawGaps(g, p.gaps, x, area, p.runNs);
  if (p.line) drawLine(g, p.line, x, y, area);
  if (p.peak) drawPeak(g, p, x, y, area);
  if (p.hasLabels && area.right < u.width - 40) drawLabels(g, p, y, area);
  const at = p.crosshair.value;
  if (at !== null) drawCrosshair(g, x(at), area);
  g.restore();
}

interface Area {
  left: number;
  right: number;
  top: number;
  base: number;
}
type Scale = (value: number) => number;

function drawLine(g: CanvasRenderingContext2D, line: ChartLine, x: Scale, y: Scale, a: Area): void {
  g.save();
  g.beginPath();
  g.rect(a.left, 0, a.right - a.left, a.base);
  g.clip();
  g.beginPath();
  line.at.forEach((t, i) => g.lineTo(x(t), y(line.values[i] ?? 0)));
  g.lineWidth = 1.25;
  g.setLineDash([4, 3]);
  g.strokeStyle = token('--c-rss');
  g.stroke();
  g.restore();
}

/* Areas show the end of each bucket. A peak inside of a bucket stands above them: drawn before them, paler. */
function drawTop(u: uPlot, p: TimeChartProps): void {
  if (!p.top || !standsAbove(p.top, p.series)) return;
  const ratio = devicePixelRatio;
  const g = u.ctx;
  const { left, top, width, height } = u.bbox;
  const outline = new Path2D();
  p.top.forEach((v, i) => {
    const ns = p.fromNs + (i + 0.5) * p.bucketNs;
    outline.lineTo(u.valToPos(ns, 'x', true), u.valToPos(v, 'y', true));
  });
  const area = new Path2D(outline);
  area.lineTo(u.valToPos(p.fromNs + (p.top.length - 0.5) * p.bucketNs, 'x', true), top + height);
  area.lineTo(u.valToPos(p.fromNs + 0.5 * p.bucketNs, 'x', true), top + height);
  g.save();
  g.beginPath();
  g.rect(left, 0, width, top + height);
  g.clip();
  g.fillStyle = token('--f-peak');
  g.fill(area);
  g.lineWidth = ratio;
  g.strokeStyle = token('--c-peak');
  g.stroke(outline);
  g.restore();
}

function drawPeak(
  g: CanvasRenderingContext2D,
  p: TimeChartProps,
  x: Scale,
  y: Scale,
  a: Area,
): void {
  if (!p.peak || !p.peak.value) return;
  const px = Math.round(x(p.peak.ns)) + 0.5;
  if (px < a.left || px > a.right) return;
  const py = y(p.peak.value);
  g.strokeStyle = token('--text-2');
  g.lineWidth = 1;
  g.setLineDash([2, 2]);
  g.beginPath();
  g.moveTo(px, py);
  g.lineTo(px, a.base);
  g.stroke();
  g.setLineDash([]);
  g.fillStyle = token('--text');
  g.beginPath();
  g.arc(px, py, 3, 0, 7);
  g.fill();
  const isLeft = px > a.right - 110;
  g.textAlign = isLeft ? 'right' : 'left';
  g.font = font(11, 600);
  /* above the curve, which is nowhere higher, and below the upper edge */
  halo(g, `peak ${written(p, p.peak.value)}`, px + (isLeft ? -8 : 8), Math.max(py - 8, 8));
}

const written = (p: TimeChartProps, v: number): string =>
  join((p.unit === 'bytes' ? bytes : count)(v));

/* Index of the values under the crosshair; -1: it is somewhere else. */
function underCrosshair(p: TimeChartProps): number {
  const at = p.crosshair.value;
  const n = p.series[0]?.values.length ?? 0;
  const i = at === null ? -1 : Math.floor((at - p.fromNs) / p.bucketNs);
  return i < n ? i : -1;
}

function halo(g: CanvasRenderingContext2D, text: string, x: number, y: number): void {
  g.lineWidth = 4;
  g.lineJoin = 'round';
  g.strokeStyle = token('--bg-view');
  g.strokeText(text, x, y);
  g.fillText(text, x, y);
}

/* Names beside the right ends of the areas, pushed apart where they would overlap; with the values under
 * the crosshair before them. */
function drawLabels(g: CanvasRenderingContext2D, p: TimeChartProps, y: Scale, a: Area): void {
  const last = Math.max(0, (p.series[0]?.values.length ?? 1) - 3);
  let labels: { name: string; y: number; fill: string; isLine: boolean; weight: number }[] = [];
  let sum = 0;
  const under = underCrosshair(p);
  for (const s of p.series) {
    const value = s.values[last] ?? 0;
    const weight = Math.max(...s.values);
    const name = under < 0 ? s.name : `${written(p, s.values[under] ?? 0)} ${s.name}`;
    labels.push({ name, y: y(sum + value / 2), fill: s.fill, isLine: false, weight });
    sum += value;
  }
  const rss = p.line?.values[p.line.values.length - 1];
  if (p.line && rss !== undefined)
    labels.push({ name: p.line.name, y: y(rss), fill: '--c-rss', isLine: true, weight: Infinity });
  /* where room is short the small ones stay without a name; the crosshair tells them all */
  const room = Math.max(1, Math.floor((a.base - a.top) / LABEL_PX));
  labels = labels.sort((l, m) => m.weight - l.weight).slice(0, room);
  placeLabels(labels, a.top, a.base - 2);
  g.textAlign = 'left';
  g.font = font(11);
  for (const l of labels) {
    const left = a.right + 8;
    g.fillStyle = token(l.fill);
    if (l.isLine) g.fillRect(left, l.y - 0.75, 9, 1.5);
    else g.fillRect(left, l.y - 4.5, 9, 9);
    g.fillStyle = token('--text-2');
    g.fillText(fitText(g, l.name, LABELS - 28), left + 15, l.y + 0.5);
  }
}

function fitText(g: CanvasRenderingContext2D, text: string, room: number): string {
  if (g.measureText(text).width <= room) return text;
  let n = text.length - 1;
  while (n > 1 && g.measureText(text.slice(0, n) + '…').width > room) n--;
  return text.slice(0, n) + '…';
}

function drawCrosshair(g: CanvasRenderingContext2D, at: number, a: Area): void {
  if (at < a.left || at > a.right) return;
  const px = Math.round(at) + 0.5;
  g.strokeStyle = token('--accent');
  g.lineWidth = 1;
  g.beginPath();
  g.moveTo(px, a.top);
  g.lineTo(px, a.base);
  g.stroke();
}

function onCursor(u: uPlot, p: TimeChartProps): void {
  const { left } = u.cursor;
  const isInside = left !== undefined && left !== null && left >= 0;
  if (isInside) p.crosshair.set(Math.round(u.posToVal(left, 'x')));
  else if (u.over.matches(':hover') === false && lastHovered === u) p.crosshair.set(null);
  if (isInside) lastHovered = u;
}
let lastHovered: uPlot | null = null;

/* A drag selects the time range of every page. */
function onSelect(u: uPlot): void {
  const { left, width } = u.select;
  if (width < 3) return;
  const [from, to] = [u.posToVal(left, 'x'), u.posToVal(left + width, 'x')];
  u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  set({ t0: String(Math.max(0, Math.round(from))), t1: String(Math.round(to)) });
}
