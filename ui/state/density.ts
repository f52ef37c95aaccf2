/* How high table rows are: the reader's density, and larger targets in narrow windows. */
import { settings } from './settings';
import { Signal, useSignal } from './signal';

const narrow = matchMedia('(max-width: 720px)');
const isNarrow = new Signal(narrow.matches);
narrow.addEventListener('change', () => isNarrow.set(narrow.matches));

const TWO_LINES_PX = 40; // rows of at least this height have two lines

/* A row's height for a height of 26 (one line) or 44 pixels (two lines) that the design gives it. */
export function useRowHeight(normalPx: number): number {
  const { density } = useSignal(settings);
  const isTwo = normalPx >= TWO_LINES_PX;
  if (useSignal(isNarrow)) return normalPx + (isTwo ? 8 : 10);
  return density === 'compact' ? normalPx - (isTwo ? 6 : 4) : normalPx;
}
