/* How high the rows of a table are: by the reader's density, and higher where fingers are. */
import { useEffect, useState } from 'preact/hooks';
import { settings } from '../state/settings';
import { useSignal } from '../state/signal';

const narrow = matchMedia('(max-width: 720px)');

const HEIGHTS = {
  normal: { 1: 26, 2: 44 },
  compact: { 1: 22, 2: 38 },
  narrow: { 1: 36, 2: 52 },
} as const;

/* CSS pixels of a row of one or two lines. */
export function useRowHeight(lines: 1 | 2): number {
  const { density } = useSignal(settings);
  const [isNarrow, setNarrow] = useState(narrow.matches);
  useEffect(() => {
    const onChange = () => setNarrow(narrow.matches);
    narrow.addEventListener('change', onChange);
    onChange();
    return () => narrow.removeEventListener('change', onChange);
  }, []);
  return HEIGHTS[isNarrow ? 'narrow' : density][lines];
}
