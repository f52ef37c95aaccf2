/* Which estimates are on screen, so that none is without a mark. A widget shows the mark of its own question
 * (<Waiting>); the frame shows one for all that have none. */
import { useLayoutEffect } from 'preact/hooks';
import { Signal } from './signal';

/* The least share of the rows that a shown estimate was made of, in percent; null: all is exact. */
export const coarsest = new Signal<number | null>(null);
/* How many widgets show a mark. */
export const marks = new Signal(0);

const shown = new Map<object, number>();

function tell(): void {
  coarsest.set(shown.size ? Math.min(...shown.values()) : null);
}

/* The caller shows figures that were made of so many percent of the rows; null: exact ones, or none. */
export function useShownEstimate(percent: number | null): void {
  useLayoutEffect(() => {
    if (percent === null) return undefined;
    const key = {};
    shown.set(key, percent);
    tell();
    return () => {
      shown.delete(key);
      tell();
    };
  }, [percent]);
}

/* The caller shows a mark. */
export function useMark(isShown: boolean): void {
  useLayoutEffect(() => {
    if (!isShown) return undefined;
    marks.set(marks.value + 1);
    return () => marks.set(marks.value - 1);
  }, [isShown]);
}
