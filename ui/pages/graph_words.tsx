/* What the points of a small graph are, below the graph: the same words in every panel. */
import { bytes, duration, join } from '../model/format';
import { GRAPH_POINTS } from './site_parts';

interface GraphWordsProps {
  of?: string; // default: At
  spanNs: number; // that the graph shows
  shown: number; // its highest point
  most: number; // most that was alive at any moment; 0: not known
}

export function GraphWords({ of = 'At', spanNs, shown, most }: GraphWordsProps) {
  const width = duration(spanNs / GRAPH_POINTS);
  return (
    <p class="dim where">
      {of} the end of each {width}.{' '}
      {most > 1.5 * shown &&
        `Most blocks live shorter: in between up to ${join(bytes(most))} were alive.`}
    </p>
  );
}
