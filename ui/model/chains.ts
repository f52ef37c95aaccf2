/* What chains of reallocations tell: how a block grew, and what to do about the copies. Pure. */
import { bytes, join, share } from './format';

export interface ChainFacts {
  copied_bytes: number;
  reserve_bytes: number;
  saved_bytes: number;
}

const whole = (value: number): string => join(bytes(value)).replace(/\.0+(?=\D)/, '');

/* "reserve 4 KiB: 92.0 % of copies go"; empty when nothing was copied or reserving saves nothing. */
export function advice(c: ChainFacts): string {
  const saved = share(c.saved_bytes, c.copied_bytes);
  return saved ? `reserve ${whole(c.reserve_bytes)}: ${saved} of copies go` : '';
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}

const MIN_STEPS = 2;
const MOST = 0.75; // of all steps must be alike
const SAME = 0.25; // steps that differ from their median by at most this share are alike

/* How the sizes of a chain follow each other, in words. Looks at most steps, not at all: the first
 * few of a growing buffer often differ. */
export function growthPattern(sizes: readonly number[]): string {
  if (sizes.length < 2) return 'one size';
  const steps = sizes.slice(1).map((size, i) => size - (sizes[i] ?? 0));
  const ratios = sizes.slice(1).map((size, i) => size / Math.max(1, sizes[i] ?? 1));
  if (steps.every((s) => s <= 0)) return steps.some((s) => s < 0) ? 'shrinks' : 'one size';
  if (steps.some((s) => s < 0)) return 'grows and shrinks';
  if (steps.length < MIN_STEPS) return 'grows once';
  const ratio = median(ratios);
  const alike = (values: readonly number[], middle: number) =>
    values.filter((v) => Math.abs(v - middle) <= SAME * middle).length >= MOST * values.length;
  if (ratio >= 1.25 && alike(ratios, ratio))
    return Math.abs(ratio - 2) < 0.15 ? 'doubles' : `grows by a factor of ${ratio.toFixed(1)}`;
  const step = median(steps);
  if (step > 0 && alike(steps, step)) return `grows by ${whole(step)} at a time`;
  return 'grows unevenly';
}

/* At most `count` entries of a long chain: the ends, and others at equal distances. */
export function sampleChain(length: number, count: number): number[] {
  if (length <= count) return Array.from({ length }, (_, i) => i);
  return Array.from({ length: count }, (_, i) => Math.round((i * (length - 1)) / (count - 1)));
}

/* Allocations of a call site that a realloc took part in. */
export const chainFilter = (stack: number): { backtraces: string; chain_length_min: string } => ({
  backtraces: String(stack),
  chain_length_min: '2',
});
