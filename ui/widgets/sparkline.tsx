/* A row's memory over time as a small SVG: alive as an area, never freed as a second one. */

const WIDTH = 100;
const HEIGHT = 30;

function points(values: readonly number[], max: number): string {
  const last = Math.max(1, values.length - 1);
  return values
    .map(
      (v, i) =>
        `${((i / last) * WIDTH).toFixed(2)},${(HEIGHT - (v / max) * (HEIGHT - 1)).toFixed(2)}`,
    )
    .join(' ');
}

interface SparklineProps {
  alive: readonly number[];
  leaked?: readonly number[] | null;
  label?: string; // for readers of the screen; without one the graph is decoration
}

export function Sparkline({ alive, leaked, label }: SparklineProps) {
  const max = Math.max(1, ...alive);
  const upper = points(alive, max);
  const lower = leaked && leaked.some((v) => v > 0) ? points(leaked, max) : null;
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      {...(label ? { role: 'img', 'aria-label': label } : { 'aria-hidden': 'true' })}
    >
      <polygon class="a" points={`0,${HEIGHT} ${upper} ${WIDTH},${HEIGHT}`} />
      <polyline class="l" points={upper} />
      {lower && <polygon class="b" points={`0,${HEIGHT} ${lower} ${WIDTH},${HEIGHT}`} />}
      {lower && <polyline class="k" points={lower} />}
    </svg>
  );
}
