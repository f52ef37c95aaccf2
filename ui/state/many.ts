/* Several questions at once, for parts that come when they are needed.
 *
 * A question that is no longer wanted is cancelled, here and on the server. Answers are kept until `group`
 * changes (another filter, newer figures). Those of the group before stay in place of the same questions
 * until the new ones are here: figures of a recording that grows do not flicker.
 */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, ask } from '../api/client';
import { reportAway } from './recordings';

export interface AskedMany<T> {
  answers: ReadonlyMap<string, T>; // by URL; also of questions that are no longer wanted
  errors: ReadonlyMap<string, ApiError>;
  want: (urls: readonly string[]) => void; // from an effect: all that is needed now
  again: (url: string) => void; // after an error
}

interface Slots<T> {
  group: string;
  answers: ReadonlyMap<string, T>;
  fresh: ReadonlySet<string>; // URLs of answers that are of this group
  errors: ReadonlyMap<string, ApiError>;
}

const nextGroup = <T>(group: string, before: Slots<T> | null): Slots<T> => ({
  group,
  answers: new Map([...(before?.answers ?? [])].filter(([url]) => before?.fresh.has(url))),
  fresh: new Set(),
  errors: new Map(),
});

export function useMany<T>(group: string): AskedMany<T> {
  const [slots, setSlots] = useState<Slots<T>>(() => nextGroup(group, null));
  const pending = useRef(new Map<string, AbortController>());
  const next = useMemo(() => nextGroup(group, slots), [group]);
  const now = slots.group === group ? slots : next;

  const load = async (key: string, url: string): Promise<void> => {
    const abort = new AbortController();
    pending.current.set(key, abort);
    const result = await answerOf<T>(url, abort.signal);
    if (abort.signal.aborted) return;
    pending.current.delete(key);
    setSlots((s) => withResult(s.group === group ? s : nextGroup(group, s), url, result));
  };
  const want = (urls: readonly string[]) => {
    const missing = urls.filter((u) => !now.fresh.has(u) && !now.errors.has(u));
    const keys = new Map(missing.map((url) => [`${group}\n${url}`, url]));
    for (const [key, controller] of pending.current) {
      if (keys.has(key)) continue;
      controller.abort();
      pending.current.delete(key);
    }
    for (const [key, url] of keys) if (!pending.current.has(key)) void load(key, url);
  };
  useEffect(() => {
    const controllers = pending.current;
    return () => controllers.forEach((c) => c.abort());
  }, []);

  const again = (url: string) =>
    setSlots((s) => ({ ...s, errors: new Map([...s.errors].filter(([u]) => u !== url)) }));
  return { answers: now.answers, errors: now.errors, want, again };
}

async function answerOf<T>(url: string, signal: AbortSignal): Promise<T | ApiError> {
  try {
    return await ask<T>(url, signal);
  } catch (error) {
    if (signal.aborted) return new ApiError('cancelled', 0);
    if (!(error instanceof ApiError)) throw error;
    if (error.isAway) reportAway();
    return error;
  }
}

function withResult<T>(s: Slots<T>, url: string, result: T | ApiError): Slots<T> {
  return result instanceof ApiError
    ? { ...s, errors: new Map(s.errors).set(url, result) }
    : { ...s, answers: new Map(s.answers).set(url, result), fresh: new Set(s.fresh).add(url) };
}
