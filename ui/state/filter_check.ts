/* Asks the server about filters that are not applied yet: which of them it cannot read, and how many
 * allocations the others let through.
 *
 * The server names one wrong parameter per answer. So a refused filter is asked for again without that
 * parameter, until the server answers: then every wrong parameter is known, and the count is that of the
 * filters that can be read. A new question cancels the one before, here and on the server.
 */
import { useEffect, useState } from 'preact/hooks';
import { apiUrl, ApiError, ask } from '../api/client';
import type { GroupRows } from '../api/types';
import { refusalText } from '../model/filter_input';
import { reportAway } from './recordings';

const DEBOUNCE_MS = 150;

export interface FilterCheck {
  errors: Readonly<Record<string, string>>; // parameter -> sentence
  count: number | null; // allocations that match all filters without an error; null: not known (yet)
  isAsking: boolean;
  failure: string; // the server could not count, in its words
}

/* What was refused: parameter -> the value, and a sentence about it. */
type Refused = Readonly<Record<string, { value: string; text: string }>>;

interface Found extends Omit<FilterCheck, 'errors'> {
  refused: Refused;
}

const NOTHING: Found = { refused: {}, count: null, isAsking: true, failure: '' };

export function useFilterCheck(
  recording: string,
  filter: Readonly<Record<string, string>>,
): FilterCheck {
  const [found, setFound] = useState(NOTHING);
  const key = JSON.stringify(filter);
  useEffect(() => {
    const abort = new AbortController();
    setFound((old) => ({ ...old, isAsking: true }));
    const timer = setTimeout(() => {
      void check(recording, JSON.parse(key) as Record<string, string>, abort.signal, setFound);
    }, DEBOUNCE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [recording, key]);
  /* a refusal is about the value that was refused, not about what stands there by now */
  const errors = Object.entries(found.refused)
    .filter(([name, { value }]) => filter[name] === value)
    .map(([name, { text }]) => [name, text] as const);
  const { count, isAsking, failure } = found;
  return { errors: Object.fromEntries(errors), count, isAsking, failure };
}

async function check(
  recording: string,
  filter: Record<string, string>,
  signal: AbortSignal,
  show: (found: Found) => void,
): Promise<void> {
  const refused: Record<string, { value: string; text: string }> = {};
  for (;;) {
    try {
      const url = apiUrl(`${recording}/groups`, { by: 'stack', count: 0, ...filter });
      const answer = await ask<GroupRows>(url, signal);
      show({ refused, count: answer.total.allocations, isAsking: false, failure: '' });
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      const name = error.answer.parameter ?? '';
      const value = filter[name];
      if (error.status === 400 && value !== undefined) {
        refused[name] = { value, text: refusalText(error.answer) };
        delete filter[name];
        show({ refused: { ...refused }, count: null, isAsking: true, failure: '' });
        continue;
      }
      if (error.isAway) void reportAway();
      show({ refused, count: null, isAsking: false, failure: error.message });
      return;
    }
  }
}
