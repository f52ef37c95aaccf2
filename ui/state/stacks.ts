/* Whole stacks, by their numbers. */
import type { Stack } from '../api/types';
import { useQuery, type Asked } from './query';

/* Number 0 and null: there is none to ask for. */
export const useStack = (stack: number | null): Asked<Stack> =>
  useQuery<Stack>(
    `stack/${stack ?? 0}`,
    {},
    { isFiltered: false, isReady: stack !== null && stack > 0 },
  );
