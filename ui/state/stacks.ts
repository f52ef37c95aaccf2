/* Whole stacks, by their numbers. */
import { apiUrl, ask } from '../api/client';
import type { Stack } from '../api/types';
import { useQuery, type Asked } from './query';
import { settings } from './settings';

/* Number 0 and null: there is none to ask for. */
export const useStack = (stack: number | null): Asked<Stack> =>
  useQuery<Stack>(
    `stack/${stack ?? 0}`,
    {},
    { isFiltered: false, isReady: stack !== null && stack > 0 },
  );

export const askStack = (recording: string, stack: number): Promise<Stack> =>
  ask(apiUrl(`${recording}/stack/${stack}`, { own_regex: settings.value.ownCode }));
