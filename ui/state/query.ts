/* One request slot per widget: useQuery asks, keeps the old answer while a new one is on its way,
 * and cancels what nobody waits for any more, here and on the server. Of a large recording it asks
 * for an estimate first (model/estimates.ts), which the exact answer replaces.
 */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { apiUrl, ApiError, ask, isExported, type Query } from '../api/client';
import { isCompared } from '../model/compare';
import { firstUrl, readPercent } from '../model/estimates';
import { apiFilter } from '../model/filters';
import { useShownEstimate } from './estimates';
import { usePageRequest } from './page_request';
import { dataVersion, recordings, findRecording, reportAway, connection } from './recordings';
import { address } from './router';
import { settings } from './settings';
import { useSignal } from './signal';

export interface Asked<T> {
  data: T | null; // the newest answer; of an older question while isStale
  error: ApiError | null;
  isStale: boolean; // the question has changed and its answer is not here yet
  since: number; // when the pending request began, Date.now(); 0: nothing is pending
  again: () => void; // ask once more, after an error or a cancellation
  cancel: () => void;
  isCancelled: boolean;
  estimate: number | null; // data is an estimate, from so many percent of the rows
}

/* Answers of this session by URL and version: going back is instant. Large answers (trees of calls)
 * are kept apart, a few of them only. */
const KEEP = 80;
const KEEP_LARGE = 4;
const kept = new Map<string, unknown>();
const keptLarge = new Map<string, unknown>();

function remember(key: string, data: unknown, isLarge: boolean): void {
  const [map, limit] = isLarge ? [keptLarge, KEEP_LARGE] : [kept, KEEP];
  map.delete(key);
  map.set(key, data);
  const oldest = map.keys().next();
  if (map.size > limit && !oldest.done) map.delete(oldest.value);
}

const recall = (key: string): unknown => kept.get(key) ?? keptLarge.get(key);

/* Questions under way, by the same keys: widgets that ask the same share one request, which ends when
 * nobody waits for it any more. */
interface Shared {
  promise: Promise<unknown>;
  controller: AbortController;
  waiters: number;
  estimate: unknown; // undefined: none has come
  onEstimate: Set<(data: unknown) => void>;
}
const underWay = new Map<string, Shared>();

function begin(key: string, url: string, isExact: boolean): Shared {
  const controller = new AbortController();
  const shared: Shared = {
    promise: Promise.resolve(),
    controller,
    waiters: 0,
    estimate: undefined,
    onEstimate: new Set(),
  };
  const promise = isExact
    ? ask(url, controller.signal)
    : askTwice(url, controller.signal, (data) => {
        shared.estimate = data;
        shared.onEstimate.forEach((tell) => tell(data));
      });
  shared.promise = promise;
  const end = () => underWay.get(key) === shared && underWay.delete(key);
  promise.then(end, end);
  underWay.set(key, shared);
  return shared;
}

/* The exact answer; before it the estimate, where the question has one. */
async function askTwice(
  url: string,
  signal: AbortSignal,
  onEstimate: (data: unknown) => void,
): Promise<unknown> {
  const recording = findRecording(recordings.value, url.split('/')[3] ?? '');
  const first = isExported ? null : firstUrl(url, recording?.allocations ?? 0);
  if (first === null) return ask(url, signal);
  const data = await ask(first, signal);
  if (readPercent(data) === null) return data;
  onEstimate(data);
  return ask(url, signal);
}

function askShared<T>(
  key: string,
  url: string,
  isExact: boolean,
  signal: AbortSignal,
  onEstimate: (data: T) => void,
): Promise<T> {
  const shared = underWay.get(key) ?? begin(key, url, isExact);
  shared.waiters++;
  shared.onEstimate.add(onEstimate as (data: unknown) => void);
  if (shared.estimate !== undefined) onEstimate(shared.estimate as T);
  signal.addEventListener('abort', () => {
    shared.onEstimate.delete(onEstimate as (data: unknown) => void);
    if (--shared.waiters > 0) return;
    if (underWay.get(key) === shared) underWay.delete(key);
    shared.controller.abort();
  });
  return shared.promise as Promise<T>;
}

interface Slot<T> {
  key: string;
  data: T | null;
  error: ApiError | null;
  since: number;
  isCancelled: boolean;
}

/* url null: nothing to ask (yet); the slot stays empty. Asked in a layout effect: an effect would wait for the
 * frame to be painted, and the server for the effect. */
export function useUrl<T>(
  url: string | null,
  dataKey = '',
  isLarge = false,
  isExact = false,
): Asked<T> {
  const key = url === null ? '' : `${dataKey} ${url}`;
  const [slot, setSlot] = useState<Slot<T>>(() => initial<T>(key));
  const [turn, setTurn] = useState(0);
  const controller = useRef<AbortController | null>(null);
  const away = useSignal(connection).isAway;

  useLayoutEffect(() => {
    if (url === null) return undefined;
    const known = turn === 0 ? (recall(key) as T | undefined) : undefined;
    if (known !== undefined) {
      setSlot({ key, data: known, error: null, since: 0, isCancelled: false });
      return undefined;
    }
    if (away) return undefined;
    const abort = new AbortController();
    controller.current = abort;
    setSlot((s) => ({ ...s, since: Date.now(), isCancelled: false }));
    const show = (data: T) => {
      if (!abort.signal.aborted) setSlot((s) => ({ ...s, key, data, error: null }));
    };
    askShared<T>(key, url, isExact, abort.signal, show).then(
      (data) => {
        remember(key, data, isLarge);
        if (!abort.signal.aborted)
          setSlot({ key, data, error: null, since: 0, isCancelled: false });
      },
      async (error: unknown) => {
        if (abort.signal.aborted) return;
        if (!(error instanceof ApiError)) throw error;
        /* the frame says that the server is away; what was asked is asked again when it is back */
        const isAway = error.isAway && (await reportAway()).isAway;
        if (isAway) setSlot((s) => ({ ...s, since: 0 }));
        else if (!abort.signal.aborted)
          setSlot((s) => ({ ...s, key, error, since: 0, isCancelled: false }));
      },
    );
    return () => abort.abort();
  }, [url, key, turn, away]);

  const estimate = readPercent(slot.data);
  useShownEstimate(url === null || slot.isCancelled ? null : estimate);
  return {
    data: slot.data,
    error: slot.key === key ? slot.error : null,
    isStale: url !== null && slot.key !== key,
    since: slot.since,
    isCancelled: slot.isCancelled,
    estimate,
    again: () => setTurn((n) => n + 1),
    cancel: () => {
      controller.current?.abort();
      setSlot((s) => ({ ...s, since: 0, isCancelled: true }));
    },
  };
}

function initial<T>(key: string): Slot<T> {
  const data = (recall(key) as T | undefined) ?? null;
  return { key: data === null ? '' : key, data, error: null, since: 0, isCancelled: false };
}

export interface QueryOptions {
  isFiltered?: boolean; // default true: the filters of the address come along
  isReady?: boolean; // false: do not ask (yet)
  isLarge?: boolean; // megabytes: few such answers are kept
  isMain?: boolean; // what the page is about: "Copy as curl" copies it
  isExact?: boolean; // no estimate first: something coarser is on screen already
}

/* Makes the address of questions about the recording of the address; null: nothing can be asked yet. */
export function useApiUrl(options: QueryOptions = {}): {
  urlOf: (path: string, query?: Query) => string | null;
  dataKey: string; // changes with the figures of a recording that grows
} {
  const { isFiltered = true, isReady = true } = options;
  const a = useSignal(address);
  const { ownCode } = useSignal(settings);
  const own = isExported ? '' : ownCode; // an exported page has no other answers
  const list = useSignal(recordings);
  const recording = findRecording(list, a.rec);
  const before = a.params['base'] ? findRecording(list, a.params['base']) : null;
  const canAsk = isReady && recording?.state === 'ready';
  const filter = isFiltered ? apiFilter(a.params) : {};
  const base = isFiltered ? a.params['base'] : undefined;
  return {
    urlOf: (path, query = {}) =>
      canAsk
        ? apiUrl(`${recording.id}/${path}`, {
            ...filter,
            base: isCompared(path, query) ? base : undefined,
            ...query,
            own_regex: own,
          })
        : null,
    dataKey: base ? `${dataVersion(recording)} ${dataVersion(before)}` : dataVersion(recording),
  };
}

/* A question about the recording of the address, below /api/v1/{id}/. */
export function useQuery<T>(path: string, query: Query = {}, options: QueryOptions = {}): Asked<T> {
  const { urlOf, dataKey } = useApiUrl(options);
  const url = urlOf(path, query);
  usePageRequest(options.isMain ? url : null);
  return useUrl<T>(url, dataKey, options.isLarge, options.isExact);
}
