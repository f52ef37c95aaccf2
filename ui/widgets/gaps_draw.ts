/* Draws times without data: hatching, and flags where recording was switched off and on. */
import { flagsOf, type Gap } from '../model/gaps';
import { token } from './canvas';

export interface GapArea {
  left: number;
  right: number;
  top: number;
  base: number;
}

const STEP_PX = 6;
const MIN_PX = 3; // a gap is seen, however short it is

/* x: pixels of a moment. In CSS pixels. */
export function drawGaps(
  g: CanvasRenderingContext2D,
  gaps: readonly Gap[],
  x: (ns: number) => number,
  a: GapArea,
  runNs: number,
): void {
  if (!gaps.length) return;
  g.save();
  g.beginPath();
  g.rect(a.left, a.top, a.right - a.left, a.base - a.top);
  g.clip();
  for (const gap of gaps) hatch(g, gap, x, a);
  for (const f of flagsOf(gaps, runNs)) flag(g, x(f.ns), f.isOn, a);
  g.restore();
}

function hatch(g: CanvasRenderingContext2D, gap: Gap, x: (ns: number) => number, a: GapArea): void {
  const from = Math.max(a.left, Math.floor(x(gap.from_ns)));
  const to = Math.min(a.right, Math.max(from + MIN_PX, Math.ceil(x(gap.to_ns))));
  if (to <= from) return;
  g.save();
  g.beginPath();
  g.rect(from, a.top, to - from, a.base - a.top);
  g.clip();
  g.fillStyle = token('--bg-sunken');
  g.globalAlpha = 0.6;
  g.fillRect(from, a.top, to - from, a.base - a.top);
  g.globalAlpha = 1;
  g.beginPath();
  const tall = a.base - a.top;
  /* lines of one raster, so that neighbouring gaps look like one */
  for (let at = Math.floor((from - tall) / STEP_PX) * STEP_PX; at < to; at += STEP_PX) {
    g.moveTo(at, a.base);
    g.lineTo(at + tall, a.top);
  }
  g.globalAlpha = 0.7;
  g.strokeStyle = token(gap.kind === 'off' ? '--line-strong' : '--warn');
  g.lineWidth = 1;
  g.stroke();
  g.restore();
}

/* A pole with a pennant: filled where recording goes on, an outline where it stops. */
function flag(g: CanvasRenderingContext2D, at: number, isOn: boolean, a: GapArea): void {
  const px = Math.round(at) + 0.5;
  if (px < a.left || px > a.right) return;
  g.strokeStyle = g.fillStyle = token('--text-2');
  g.lineWidth = 1;
  g.setLineDash([]);
  g.beginPath();
  g.moveTo(px, a.top);
  g.lineTo(px, a.base);
  g.stroke();
  g.beginPath();
  g.moveTo(px, a.top + 1);
  g.lineTo(px + (isOn ? 8 : -8), a.top + 4.5);
  g.lineTo(px, a.top + 8);
  g.closePath();
  if (isOn) g.fill();
  g.stroke();
}
