/* Draws the timeline strip: heap and never freed as areas, RSS dashed, the peak, what is selected. */
import type { Surface } from './canvas';
import { area, font, haloText, line } from './canvas';
import { bytes, join } from '../model/format';
import type { Gap } from '../model/gaps';
import { freeBox, interpolated, nsOf, xOf, type Box, type Span } from '../model/strip';
import { timeLabel, timeTicks } from '../model/ticks';
import { drawGaps } from './gaps_draw';

export interface StripData {
  fromNs: number;
  bucketNs: number;
  heap: readonly number[];
  neverFreed: readonly number[];
  rssAt: readonly number[];
  rss: readonly number[];
  peakNs: number;
  peakBytes: number;
  runNs: number;
  markers: readonly { at_ns: number; value: number }[]; // that the program set
  gaps: readonly Gap[];
  baseline?: { bucketNs: number; heap: readonly number[] } | null; // the recording it is compared with
}

export interface StripMarks {
  view: Span;
  range: Span | null;
  pinNs: number | null;
  hoverNs: number | null;
  originNs: number | null; // what a wall clock showed at the start; null: time since the start
}

const AXIS_PX = 17.5;

export function drawStrip(s: Surface, d: StripData, m: StripMarks): void {
  const { g, width, height } = s;
  const base = height - AXIS_PX;
  const x = (ns: number) => xOf(m.view, ns, width - 1);
  const max = Math.max(1, ...d.heap, ...d.rss, ...(d.baseline?.heap ?? [])) * 1.12;
  const y = (v: number) => base - (v / max) * (base - 6);
  drawAxis(s, m, d.runNs, base);
  drawCurves(s, d, x, y, base);
  drawGaps(g, d.gaps, x, { left: 0, right: width, top: 0, base }, d.runNs);
  drawMarkers(s, d, x, base);
  if (m.range) shadeOutside(s, x(m.range.fromNs), x(m.range.toNs), base);
  drawPeak(s, d, x, y, base, m.view, m.range !== null);
  if (m.pinNs !== null) vertical(s, x(m.pinNs), base, s.token('--text'), [3, 2]);
  if (m.hoverNs !== null) vertical(s, x(m.hoverNs), base, s.token('--accent'), []);
  if (m.view.toNs - m.view.fromNs < d.runNs * 0.999) drawPosition(s, m.view, d.runNs);
  g.globalAlpha = 1;
}

function drawAxis(s: Surface, m: StripMarks, runNs: number, base: number): void {
  const { g, width, height } = s;
  const { view, originNs } = m;
  const want = Math.max(2, width / 96);
  const { at, stepNs } = timeTicks(view.fromNs, view.toNs, want, originNs ?? 0);
  g.font = font(10.5);
  g.textBaseline = 'middle';
  g.textAlign = 'center';
  g.lineWidth = 1;
  for (const t of at) {
    const px = Math.round(xOf(view, t, width - 1)) + 0.5;
    if (px < 24 || px > width - 24) continue;
    g.strokeStyle = s.token('--line');
    g.beginPath();
    g.moveTo(px, 0);
    g.lineTo(px, base + 3);
    g.stroke();
    g.fillStyle = s.token('--text-3');
    g.fillText(timeLabel(t, stepNs, runNs, originNs), px, height - 8);
  }
}

function drawCurves(
  s: Surface,
  d: StripData,
  x: (ns: number) => number,
  y: (v: number) => number,
  base: number,
): void {
  const { g, width } = s;
  const n = d.heap.length;
  const at = (i: number) => x(d.fromNs + (i + 0.5) * d.bucketNs);
  const value = (list: readonly number[]) => (i: number) => y(list[i] ?? 0);
  area(g, at, value(d.heap), n, base);
  g.fillStyle = s.token('--f-peak');
  g.fill();
  area(g, at, value(d.neverFreed), n, base);
  g.fillStyle = s.token('--f-leaked');
  g.fill();
  g.lineWidth = 1.25;
  g.lineJoin = 'round';
  g.setLineDash([4, 3]);
  line(g, (i) => x(d.rssAt[i] ?? 0), value(d.rss), d.rss.length);
  g.strokeStyle = s.token('--c-rss');
  g.stroke();
  g.setLineDash([]);
  line(g, at, value(d.heap), n);
  g.strokeStyle = s.token('--c-peak');
  g.stroke();
  line(g, at, value(d.neverFreed), n);
  g.strokeStyle = s.token('--c-leaked');
  g.stroke();
  const { baseline } = d;
  if (baseline) {
    g.lineWidth = 1;
    line(g, (i) => x((i + 0.5) * baseline.bucketNs), value(baseline.heap), baseline.heap.length);
    g.strokeStyle = s.token('--text-2');
    g.stroke();
  }
  g.strokeStyle = s.token('--line-strong');
  g.lineWidth = 1;
  g.beginPath();
  g.moveTo(0, base);
  g.lineTo(width, base);
  g.stroke();
}

/* Ticks with the number of each marker, where there is room. */
function drawMarkers(s: Surface, d: StripData, x: (ns: number) => number, base: number): void {
  let free = 0; // where the next number may begin
  s.g.font = font(10);
  s.g.textAlign = 'left';
  for (const { at_ns, value } of d.markers) {
    const px = Math.round(x(at_ns)) + 0.5;
    if (px < 0 || px > s.width) continue;
    s.g.strokeStyle = s.token('--text-2');
    s.g.lineWidth = 1;
    s.g.beginPath();
    s.g.moveTo(px, base);
    s.g.lineTo(px, base - 9);
    s.g.stroke();
    const text = String(value);
    const end = px + 3 + s.g.measureText(text).width;
    if (px + 3 < free || end > s.width) continue;
    s.g.fillStyle = s.token('--text-2');
    haloText(s, text, px + 3, base - 7);
    free = end + 6;
  }
}

function shadeOutside(s: Surface, from: number, to: number, base: number): void {
  s.g.fillStyle = s.token('--bg-view');
  s.g.globalAlpha = 0.66;
  s.g.fillRect(0, 0, Math.max(0, from), base - 0.5);
  s.g.fillRect(to, 0, Math.max(0, s.width - to), base - 0.5);
  s.g.globalAlpha = 1;
}

function drawPeak(
  s: Surface,
  d: StripData,
  x: (ns: number) => number,
  y: (v: number) => number,
  base: number,
  view: Span,
  isQuiet: boolean,
): void {
  const px = Math.round(x(d.peakNs)) + 0.5;
  if (px < 0 || px > s.width || !d.peakBytes) return;
  const py = y(d.peakBytes);
  s.g.fillStyle = s.token('--c-peak');
  s.g.beginPath();
  s.g.arc(px, py, 3, 0, 7);
  s.g.fill();
  if (isQuiet) return;
  s.g.font = font(11, 500);
  const text = 'peak ' + join(bytes(d.peakBytes));
  const place = freeBox(
    labelBoxes(s, px, py, s.g.measureText(text).width, base),
    [columnAt(d, d.heap), columnAt(d, d.neverFreed), rssAt(d)].map((value) => (at: number) => {
      const v = value(nsOf(view, at, s.width - 1));
      return v === null ? null : y(v);
    }),
  );
  s.g.textAlign = 'left';
  if (place) haloText(s, text, place.left + LABEL_PAD, place.top + place.height / 2 + 0.5);
}

const LABEL_PX = 13;
const LABEL_PAD = 2;

/* Where the word at the peak may be: beside it, above or below the line, or at the upper edge. */
function labelBoxes(s: Surface, px: number, py: number, text: number, base: number): Box[] {
  const width = text + 2 * LABEL_PAD;
  const sides = [px + 6, px - 6 - width];
  if (px > s.width / 2) sides.reverse();
  const tops = [py - 6 - LABEL_PX, py - LABEL_PX / 2, py + 6, 2];
  return tops
    .flatMap((top) => sides.map((left) => ({ left, top, width, height: LABEL_PX })))
    .filter(
      (b) => b.top >= 0 && b.top + LABEL_PX < base && b.left >= 0 && b.left + width < s.width,
    );
}

const columnAt = (d: StripData, values: readonly number[]) => (ns: number) =>
  values[Math.floor((ns - d.fromNs) / d.bucketNs)] ?? null;
const rssAt = (d: StripData) => (ns: number) => interpolated(d.rssAt, d.rss, ns);

function vertical(s: Surface, at: number, base: number, colour: string, dash: number[]): void {
  const px = Math.round(at) + 0.5;
  s.g.strokeStyle = colour;
  s.g.lineWidth = 1;
  s.g.setLineDash(dash);
  s.g.beginPath();
  s.g.moveTo(px, 0);
  s.g.lineTo(px, base);
  s.g.stroke();
  s.g.setLineDash([]);
}

/* A thin bar below the top edge: which part of the run the zoomed strip shows. */
function drawPosition(s: Surface, view: Span, runNs: number): void {
  s.g.fillStyle = s.token('--line-strong');
  s.g.fillRect(0, 0, s.width, 2);
  s.g.fillStyle = s.token('--accent');
  const from = (view.fromNs / runNs) * s.width;
  s.g.fillRect(from, 0, Math.max(3, ((view.toNs - view.fromNs) / runNs) * s.width), 2);
}
