/* The times for which the recording has no data: they do not depend on the filter. */
import type { Summary } from '../api/types';
import type { Gap } from '../model/gaps';
import { useQuery } from './query';

const NONE: readonly Gap[] = [];

export function useGaps(): readonly Gap[] {
  const { data } = useQuery<Summary>('summary', {}, { isFiltered: false });
  return data?.gaps ?? NONE;
}
