/* Long lists by pages: only the pages near what is on screen are asked for and kept.
 *
 * rows(i) gives a row or undefined while its page is on its way. `show(first, last)` says what is on
 * screen; requests for pages that nobody looks at any more are cancelled. When the question changes
 * (filter, sort), old rows stay until the first new page is here. `since`, `cancel` and
 * `isCancelled` are those of useQuery, so that a page shows <Waiting> for them.
 */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { apiUrl, ApiError, ask, type Query } from '../api/client';
import { isCompared } from '../model/compare';
import { firstUrl, readPercent } from '../model/estimates';
import { apiFilter } from '../model/filters';
import { useShownEstimate } from './estimates';
import { usePageRequest } from './page_request';
import { connection, dataVersion, findRecording, recordings, reportAway } from './recordings';
import { address } from './router';
import { settings } from './settings';
import { useSignal } from './signal';

export const PAGE_ROWS = 100;
const KEEP_PAGES = 12;

export interface Paged<T> {
  row: (index: number) => T | undefined;
  find: (test: (row: T) => boolean) => number; // index of a row that is loaded, or -1
  first: unknown; // the answer that holds the first page: totals beside the rows
  count: number | null; // of all rows; null: not known yet
  error: ApiError | null;
  isStale: boolean;
  since: number; // when the oldest pending request began, Date.now(); 0: nothing is pending
  isCancelled: boolean;
  show: (first: number, last: number) => void;
  again: () => void;
  cancel: () => void;
  estimate: number | null; // rows are an estimate, from so many percent of the rows of the recording
}

export interface PagesOptions {
  firstRow?: number; // the row to begin with; default 0
  isReady?: boolean; // false: do not ask (yet)
  isMain?: boolean; // default true: what the page is about, as in QueryOptions
  /* rows may come as an estimate first; not for call sites: a part of the rows has a few of each, which
   * tells neither their order nor their costs */
  hasEstimate?: boolean;
}

interface Loaded<T> {
  key: string; // of the question and the version of its data
  base: string; // of the question alone
  count: number | null;
  first: unknown;
  pages: Map<number, T[]>;
  estimates: Map<number, number>; // pages that the exact answer is still to replace: percent read
  error: ApiError | null;
}

interface Shape<T> {
  rows: (answer: never) => T[];
  count: (answer: never) => number;
}

const empty = <T>(key: string, base = ''): Loaded<T> => ({
  key,
  base,
  count: null,
  first: null,
  pages: new Map(),
  estimates: new Map(),
  error: null,
});

const pageUrl = (base: string, page: number): string =>
  `${base}${base.includes('?') ? '&' : '?'}skip=${page * PAGE_ROWS}&count=${PAGE_ROWS}`;

/* path and query as for useQuery; the server's skip and count are added here. */
export function usePages<T, A>(
  path: string,
  query: Query,
  shape: { rows: (answer: A) => T[]; count: (answer: A) => number },
  options: PagesOptions = {},
): Paged<T> {
  const a = useSignal(address);
  const own = useSignal(settings).ownCode;
  const recording = findRecording(useSignal(recordings), a.rec);
  const away = useSignal(connection).isAway;
  const isReady = (options.isReady ?? true) && recording?.state === 'ready';
  const base = isReady
    ? apiUrl(`${recording.id}/${path}`, {
        ...apiFilter(a.params),
        base: isCompared(path, query) ? a.params['base'] : undefined,
        ...query,
        own_regex: own,
      })
    : '';
  const key = `${dataVersion(recording)} ${base}`;
  const isMain = (options.isMain ?? true) && base !== '';
  usePageRequest(isMain ? pageUrl(base, 0) : null);
  const [loaded, setLoaded] = useState<Loaded<T>>(() => empty(''));
  const [range, setRange] = useState<readonly [number, number]>(() => {
    const page = Math.floor((options.firstRow ?? 0) / PAGE_ROWS);
    return [page, page];
  });
  const [turn, setTurn] = useState(0);
  const [since, setSince] = useState(0);
  const [cancelledKey, setCancelledKey] = useState('');
  const pending = useRef(new Map<string, AbortController>());
  const shapeRef = useRef<Shape<T>>(shape as Shape<T>);
  shapeRef.current = shape as Shape<T>;

  useLayoutEffect(() => {
    if (!base || away || cancelledKey === key) return;
    const wanted = new Set<number>();
    const have = loaded.key === key ? loaded.pages : new Map<number, T[]>();
    for (let p = range[0]; p <= range[1]; p++)
      if (!have.has(p) || loaded.estimates.has(p)) wanted.add(p);
    for (const [name, controller] of pending.current) {
      const [itsKey, itsPage] = [name.slice(name.indexOf(' ') + 1), Number(name.split(' ')[0])];
      if (itsKey !== key || !wanted.has(itsPage)) {
        controller.abort();
        pending.current.delete(name);
      }
    }
    for (const page of wanted) {
      const name = `${page} ${key}`;
      if (pending.current.has(name)) continue;
      const abort = new AbortController();
      pending.current.set(name, abort);
      const take = (got: Got<T>) => {
        if (got.error || readPercent(got.answer) === null) pending.current.delete(name);
        setLoaded((old) => merge(old, { key, base }, page, got));
      };
      const rows = options.hasEstimate ? (recording?.allocations ?? 0) : 0;
      void loadPage(pageUrl(base, page), rows, abort.signal, shapeRef, take).then(() => {
        if (pending.current.get(name) === abort) pending.current.delete(name);
      });
    }
    setLoaded((old) => withoutLeft(old, range));
    setSince((old) => (pending.current.size ? old || Date.now() : 0));
  }, [base, key, range, turn, loaded, away, cancelledKey]);

  useEffect(() => {
    const controllers = pending.current;
    return () => controllers.forEach((c) => c.abort());
  }, []);

  const show = useCallback((first: number, last: number) => {
    const next = [
      Math.floor(first / PAGE_ROWS),
      Math.floor(Math.max(first, last) / PAGE_ROWS),
    ] as const;
    setRange((old) => (old[0] === next[0] && old[1] === next[1] ? old : next));
  }, []);

  const estimate = loaded.estimates.size ? Math.min(...loaded.estimates.values()) : null;
  const isCancelled = cancelledKey === key && (loaded.key !== key || loaded.estimates.size > 0);
  useShownEstimate(base && !isCancelled ? estimate : null);
  return {
    estimate,
    row: (i) => loaded.pages.get(Math.floor(i / PAGE_ROWS))?.[i % PAGE_ROWS],
    find: (test) => {
      for (const [page, rows] of loaded.pages) {
        const at = rows.findIndex(test);
        if (at >= 0) return page * PAGE_ROWS + at;
      }
      return -1;
    },
    first: loaded.first,
    count: loaded.count,
    error: loaded.key === key ? loaded.error : null,
    isStale: loaded.base !== base, // more data of a growing recording is no other question
    show,
    since,
    isCancelled,
    again: () => {
      if (cancelledKey !== key) setLoaded(empty(''));
      setCancelledKey('');
      setTurn((n) => n + 1);
    },
    cancel: () => {
      setCancelledKey(key);
      setSince(0);
      pending.current.forEach((c) => c.abort());
      pending.current.clear();
    },
  };
}

interface Got<T> {
  answer: never | null;
  shape: Shape<T>;
  error: ApiError | null;
}

/* What a page's question leads to, in the order in which it comes: an estimate, where the question has one,
 * and the exact answer. */
async function loadPage<T>(
  url: string,
  rows: number,
  signal: AbortSignal,
  shape: { current: Shape<T> },
  take: (got: Got<T>) => void,
): Promise<void> {
  const first = firstUrl(url, rows);
  for (const one of first === null ? [url] : [first, url]) {
    const got = await load<T>(one, signal, shape);
    if (!got || signal.aborted) return;
    take(got);
    if (readPercent(got.answer) === null) return;
  }
}

async function load<T>(
  url: string,
  signal: AbortSignal,
  shape: { current: Shape<T> },
): Promise<Got<T> | null> {
  try {
    const answer = await ask<never>(url, signal);
    return { answer, shape: shape.current, error: null };
  } catch (error) {
    if (signal.aborted) return null;
    if (!(error instanceof ApiError)) throw error;
    /* asked again when the server is back */
    if (error.isAway && (await reportAway()).isAway) return null;
    return { answer: null, shape: shape.current, error };
  }
}

/* Estimates that the exact answer will not replace, because nobody looks at them any more, go. */
function withoutLeft<T>(old: Loaded<T>, range: readonly [number, number]): Loaded<T> {
  const left = [...old.estimates.keys()].filter((p) => p < range[0] || p > range[1]);
  if (left.length === 0) return old;
  const isKept = ([p]: [number, unknown]) => !left.includes(p);
  return {
    ...old,
    pages: new Map([...old.pages].filter(isKept)),
    estimates: new Map([...old.estimates].filter(isKept)),
  };
}

/* A page joins its list; pages farthest from the newest one go when there are too many. */
function merge<T>(
  old: Loaded<T>,
  { key, base }: { key: string; base: string },
  page: number,
  got: Got<T>,
): Loaded<T> {
  const next: Loaded<T> =
    old.key === key ? { ...old, pages: new Map(old.pages), error: null } : empty<T>(key, base);
  next.estimates = new Map([...next.estimates].filter(([p]) => p !== page));
  if (got.answer === null) return { ...next, error: got.error, pages: next.pages.set(page, []) };
  next.count = got.shape.count(got.answer);
  next.pages.set(page, got.shape.rows(got.answer));
  if (next.first === null || readPercent(next.first) !== null) next.first = got.answer;
  const percent = readPercent(got.answer);
  if (percent !== null) next.estimates.set(page, percent);
  while (next.pages.size > KEEP_PAGES) {
    const far = [...next.pages.keys()].sort((a, b) => Math.abs(b - page) - Math.abs(a - page))[0];
    if (far === undefined) break;
    next.pages.delete(far);
    next.estimates.delete(far);
  }
  return next;
}
