/* Names of the recording's threads, by the index that rows carry. */
import { useMemo } from 'preact/hooks';
import type { Threads } from '../api/types';
import { useQuery } from './query';

export interface ThreadNames {
  name: (index: number) => string;
  tid: (index: number) => number | null; // null: not known (yet)
  count: number; // threads that did something
}

/* A name that several threads have comes behind the thread's id: the id must not be cut off. isAsked
 * false: nobody needs the names (yet). */
export function useThreads(isAsked = true): ThreadNames {
  const { data } = useQuery<Threads>('threads', {}, { isFiltered: false, isReady: isAsked });
  return useMemo(() => namesOf(data), [data]);
}

function namesOf(data: Threads | null): ThreadNames {
  const threads = data?.threads ?? [];
  const uses = new Map<string, number>();
  for (const t of threads) uses.set(t.name, (uses.get(t.name) ?? 0) + 1);
  const byIndex = new Map(threads.map((t) => [t.index, t]));
  return {
    name: (index) => {
      const t = byIndex.get(index);
      if (!t) return data ? `thread ${index}` : '';
      if (!t.name) return String(t.tid);
      return (uses.get(t.name) ?? 0) > 1 ? `${t.tid} ${t.name}` : t.name;
    },
    tid: (index) => byIndex.get(index)?.tid ?? null,
    count: threads.filter((t) => t.tid !== 0 || t.allocations + t.frees > 0).length,
  };
}
