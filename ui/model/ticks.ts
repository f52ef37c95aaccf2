/* Round positions for axes. Pure. */
import { clock, figure, join, type Unit } from './format';

const BYTE_STEPS = [
  1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 5120, 10240, 20480, 51200, 102400, 262144,
  524288,
];
const COUNT_STEPS = [1, 2, 2.5, 5, 10, 20, 25, 50, 100];

/* Values from 0 to at least `max`, about `want` steps apart: powers of two for bytes. */
export function valueTicks(max: number, unit: Unit, want: number): number[] {
  if (!(max > 0)) return [0, 1];
  const base =
    unit === 'count'
      ? Math.pow(10, Math.floor(Math.log10(max))) / 10
      : Math.pow(1024, Math.floor(Math.log2(Math.max(1, max)) / 10)) / 1024;
  const steps = unit === 'count' ? COUNT_STEPS : BYTE_STEPS;
  let step = base * (steps.find((s) => max / (s * base) <= want) ?? steps[steps.length - 1] ?? 1);
  step = Math.max(step, 1);
  const out: number[] = [];
  for (let k = 0; (k - 1) * step < max && k < 64; k++) out.push(k * step);
  return out;
}

/* A tick carries no empty digits: 2 GiB, 1.5 GiB */
export function valueLabel(value: number, unit: Unit): string {
  if (!value) return '0';
  return join(figure(value, unit))
    .replace(/(\.\d*?)0+(?=\D|$)/, '$1')
    .replace(/\.(?=\D|$)/, '');
}

const TIME_STEPS_S = [
  1e-9, 2e-9, 5e-9, 1e-8, 2e-8, 5e-8, 1e-7, 2e-7, 5e-7, 1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4,
  2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300,
  600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800,
];

/* Moments inside [fromNs, toNs], about `want` of them; the step tells how to write them. originNs: what
 * the clock showed at 0, so that ticks are round on a wall clock, too. */
export function timeTicks(
  fromNs: number,
  toNs: number,
  want: number,
  originNs = 0,
): { at: number[]; stepNs: number } {
  const span = toNs - fromNs;
  if (!(span > 0)) return { at: [], stepNs: 1 };
  const stepS = TIME_STEPS_S.find((s) => span / (s * 1e9) <= want) ?? 604800;
  const stepNs = Math.max(1, Math.round(stepS * 1e9));
  const at: number[] = [];
  const first = Math.ceil((fromNs + originNs) / stepNs) * stepNs - originNs;
  for (let t = first; t <= toNs; t += stepNs) at.push(t);
  return { at, stepNs };
}

/* 04:30 for steps of a minute and more, 04:30:10 for seconds, 1.5 s in runs of less than two minutes,
 * 10.2 ms within a second. With the origin
 * of a wall clock always a time of day. */
export function timeLabel(
  ns: number,
  stepNs: number,
  runNs: number,
  originNs: number | null = null,
): string {
  if (originNs !== null) {
    const digits = stepNs >= 1e9 ? 0 : Math.min(9, Math.ceil(9 - Math.log10(stepNs)));
    const time = clock((ns + originNs) % 86400e9, digits);
    return stepNs >= 60e9 ? time.slice(0, 5) : time;
  }
  if (runNs < 1e9 || stepNs < 1e6) {
    if (!ns) return '0';
    const [unit, size] = stepNs >= 1e6 ? ['ms', 1e6] : stepNs >= 1e3 ? ['µs', 1e3] : ['ns', 1];
    return `${Number((ns / (size as number)).toFixed(3))}\u00a0${unit}`;
  }
  if (stepNs < 1e9 || runNs < 120e9) return `${Number((ns / 1e9).toFixed(3))}\u00a0s`;
  const text = clock(ns);
  return stepNs >= 60e9 ? text.slice(0, -3) : runNs < 3600e9 ? text.slice(3) : text;
}
