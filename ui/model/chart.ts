/* Stacking series and placing labels. Pure. */

/* Sums from the lowest series up: layer i is the upper edge of series i. */
export function stack(series: readonly (readonly number[])[]): Float64Array[] {
  const n = series[0]?.length ?? 0;
  const sum = new Float64Array(n);
  return series.map((values) => {
    for (let i = 0; i < n; i++) sum[i] = (sum[i] ?? 0) + (values[i] ?? 0);
    return sum.slice();
  });
}

const VISIBLE = 0.04; // of the height

/* Whether some of the largest totals stand visibly above the stacked series, which are as of the end of each
 * point. */
export function standsAbove(
  top: readonly number[],
  series: readonly { values: readonly number[] }[],
): boolean {
  const least = Math.max(0, ...top) * VISIBLE;
  return top.some((v, i) => v - series.reduce((sum, s) => sum + (s.values[i] ?? 0), 0) > least);
}

export const LABEL_PX = 14;

/* Moves labels apart, vertically, until none overlaps and all are within [top, base]. */
export function placeLabels(labels: { y: number }[], top: number, base: number): void {
  labels.sort((a, b) => a.y - b.y);
  for (let pass = 0; pass < 8; pass++) {
    for (let i = 1; i < labels.length; i++) {
      const [upper, lower] = [labels[i - 1], labels[i]];
      if (!upper || !lower) continue;
      const gap = LABEL_PX - (lower.y - upper.y);
      if (gap > 0) {
        lower.y += gap / 2;
        upper.y -= gap / 2;
      }
    }
  }
  let limit = base;
  for (let i = labels.length - 1; i >= 0; i--, limit -= LABEL_PX) {
    const label = labels[i];
    if (label) label.y = Math.min(label.y, limit);
  }
  limit = top + LABEL_PX / 2;
  for (const label of labels) {
    label.y = Math.max(label.y, limit);
    limit = label.y + LABEL_PX;
  }
}
