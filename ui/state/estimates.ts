/* Which estimates are on screen, so that none is without a mark. The mark is one for the page, beside the
 * filters (widgets/chips.tsx), where it covers nothing. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Signal } from './signal';

/* The least share of the rows that a shown estimate was made of, in percent; null: all is exact. */
export const coarsest = new Signal<number | null>(null);
/* How many of the exact answers that are under way can be cancelled. */
export const cancellable = new Signal(0);

const shown = new Map<object, number>();
const cancels = new Set<() => void>();

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

/* The mark offers to cancel what the caller waits for. */
export function useCancel(isShown: boolean, cancel: () => void): void {
  const latest = useRef(cancel);
  latest.current = cancel;
  useLayoutEffect(() => {
    if (!isShown) return undefined;
    const act = () => latest.current();
    cancels.add(act);
    cancellable.set(cancels.size);
    return () => {
      cancels.delete(act);
      cancellable.set(cancels.size);
    };
  }, [isShown]);
}

export const cancelEstimates = (): void => [...cancels].forEach((act) => act());
