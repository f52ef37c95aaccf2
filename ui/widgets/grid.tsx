/* A table of any length: only the rows on screen exist (model/window.ts), one tab stop, arrows move,
 * Enter opens, the head sorts.
 *
 * The caller draws the cells of a row; the table draws the row itself, with its ARIA, selection and
 * place. A row whose data is on its way is drawn as a skeleton of the right height.
 */
import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import {
  rowTop,
  scrollHeight,
  scrollOfTop,
  topAround,
  topForRow,
  topOfScroll,
  clampTop,
  fullHeight,
  originOf,
  rowsOnScreen,
  visibleRows,
  MAX_HEIGHT,
  type Table,
} from '../model/window';
import { useRowHeight } from '../state/density';
import { useKeys } from '../state/keys';
import { connection } from '../state/recordings';
import { useSignal } from '../state/signal';
import { showTip } from './floating';

export interface Column {
  id: string;
  title: ComponentChildren;
  class?: string; // "r" right-aligned, "m1".."m3" goes when the view is narrow, "pad"
  hint?: string; // the word explained, on hover and focus
  sort?: string; // what sorting by this column is called; none: it does not sort
  isAscendingFirst?: boolean; // the first click sorts from the smallest on
}

export interface Sort {
  by: string;
  isAscending: boolean;
}

export interface GridProps {
  label: string;
  class: string; // names the column widths in CSS (--cols)
  style?: JSX.CSSProperties; // or gives them (model/columns.ts)
  columns: readonly Column[];
  rows: number;
  rowHeight: number; // 26 or 44; density and narrow windows change it (state/density.ts)
  /* cells of a row; null: not here yet */
  cells: (row: number) => ComponentChildren | null;
  rowKey?: (row: number) => string | number; // rows whose elements keep something of their own
  rowProps?: (row: number) => JSX.HTMLAttributes<HTMLDivElement>;
  rowClass?: string;
  isTree?: boolean;
  isMain?: boolean; // the page's only or first table: arrows, J and K act wherever the focus is
  cost?: string; // data-cost: narrow tables keep this column
  sort?: Sort | null;
  onSort?: (sort: Sort) => void;
  selected?: number; // -1: none
  onSelect?: (row: number) => void;
  onOpen?: (row: number) => void; // Enter, double click
  onKey?: (row: number, e: KeyboardEvent) => boolean; // true: done
  onShow?: (first: number, last: number) => void; // rows that exist, those on screen among them
  onView?: (first: number, last: number) => void; // rows on screen
  /* scrolls to a row whenever `turn` changes; -1: stays */
  goTo?: { row: number; turn: unknown };
  openRow?: number; // a row that is open in place
  openContent?: ComponentChildren;
  isStale?: boolean;
  after?: ComponentChildren; // below the last row
}

export function Grid(props: GridProps) {
  const p = { ...props, rowHeight: useRowHeight(props.rowHeight) };
  const isPale = useIsPale(!!p.isStale);
  const body = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const viewHeight = useViewHeight(body);
  const openRow = p.openRow ?? -1;
  const { openRef, openHeight } = useOpenHeight(openRow);
  const table: Table = { rows: p.rows, rowHeight: p.rowHeight, viewHeight, openRow, openHeight };
  const tall = fullHeight(table) > MAX_HEIGHT;
  const shownTop = clampTop(table, top);
  const [first, last] = visibleRows(table, shownTop);
  const selected = p.selected ?? -1;

  const { onShow, onView } = p;
  useLayoutEffect(() => onShow?.(first, Math.max(first, last)), [onShow, first, last]);
  const [seenFirst, seenLast] = rowsOnScreen(table, shownTop);
  useEffect(() => onView?.(seenFirst, seenLast), [onView, seenFirst, seenLast]);

  const moveTo = (next: number) => {
    setTop(clampTop(table, next));
    if (body.current) body.current.scrollTop = scrollOfTop(table, next);
  };
  const goTo = p.goTo?.row ?? -1;
  const canGo = goTo >= 0 && p.rows > 0;
  useLayoutEffect(() => {
    if (canGo) moveTo(topAround(table, shownTop, Math.min(goTo, p.rows - 1)));
  }, [p.goTo?.turn, canGo]);
  const onScroll = () => {
    const el = body.current;
    if (!el) return;
    /* a tall table's own wheel moves have set scrollTop already: do not round them */
    if (Math.abs(el.scrollTop - scrollOfTop(table, top)) > 1)
      setTop(topOfScroll(table, el.scrollTop));
  };
  const onWheel = (e: WheelEvent) => {
    if (!tall || e.ctrlKey) return;
    e.preventDefault();
    moveTo(shownTop + (e.deltaMode === 1 ? e.deltaY * p.rowHeight : e.deltaY));
  };
  const select = (row: number) => {
    const to = Math.max(0, Math.min(p.rows - 1, row));
    if (p.rows === 0) return;
    moveTo(topForRow(table, shownTop, to));
    p.onSelect?.(to);
  };
  useMainKeys(!!p.isMain, body, (by) => select(selected + by));
  const onKeyDown = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey || isField(e.target)) return;
    const to = keyTarget(e.key, selected, p.rows, Math.floor(viewHeight / p.rowHeight));
    if (selected >= 0 && p.onKey?.(selected, e)) e.preventDefault();
    else if (to !== undefined) {
      e.preventDefault();
      select(to);
    } else if (e.key === 'Enter' && selected >= 0 && !isControl(e.target)) {
      e.preventDefault();
      p.onOpen?.(selected);
    }
  };

  const origin = originOf(shownTop);
  const keyBase = useKeyBase(first, last);
  const drawn = [];
  for (let i = first; i <= last; i++) {
    drawn.push(
      <Row
        key={p.rowKey ? p.rowKey(i) : i - keyBase}
        {...p}
        row={i}
        y={rowTop(table, i) - origin}
        isSelected={i === selected}
      />,
    );
    if (i === openRow)
      drawn.push(
        <div
          key="open"
          ref={openRef}
          class="row-open"
          role="row"
          style={{ transform: `translateY(${rowTop(table, i) + p.rowHeight - origin}px)` }}
        >
          <div role="gridcell" aria-colspan={p.columns.length}>
            {p.openContent}
          </div>
        </div>,
      );
  }
  /* In a tall table rows are placed where the element's own scrolling will put them. */
  const shift = origin + (tall ? scrollOfTop(table, shownTop) - shownTop : 0);
  return (
    <div
      class={`grid ${p.class}${isPale ? ' stale' : ''}`}
      role={p.isTree ? 'treegrid' : 'grid'}
      aria-label={p.label}
      aria-rowcount={p.rows + 1}
      aria-busy={p.isStale}
      data-cost={p.cost}
      style={p.style}
    >
      <Head columns={p.columns} sort={p.sort ?? null} onSort={p.onSort} />
      <div
        class="grid-body"
        role="rowgroup"
        ref={body}
        tabIndex={0}
        aria-label={p.label}
        onScroll={onScroll}
        onWheel={onWheel}
        onKeyDown={onKeyDown}
      >
        <div class="grid-room" style={{ height: scrollHeight(table) }}>
          <div style={{ transform: `translateY(${shift}px)` }}>{drawn}</div>
        </div>
        {p.after && (
          <div role="row">
            <div role="gridcell" aria-colspan={p.columns.length}>
              {p.after}
            </div>
          </div>
        )}
      </div>
    </div>
  );
}

/* Arrows, J and K of the page's main table, wherever the focus is. */
function useMainKeys(isMain: boolean, body: RefObject<HTMLElement>, step: (by: number) => void) {
  const go = (by: number) => () => {
    body.current?.focus();
    step(by);
  };
  useKeys(isMain ? { ArrowDown: go(1), ArrowUp: go(-1), j: go(1), k: go(-1) } : {});
}

/* Old rows are pale until new ones are there; while the server is away they stay for long and must be easy
 * to read. */
function useIsPale(isStale: boolean): boolean {
  const { isAway } = useSignal(connection);
  return isStale && !isAway;
}

function useViewHeight(body: RefObject<HTMLElement>): number {
  const [height, setHeight] = useState(600);
  useEffect(() => {
    const el = body.current;
    if (!el) return undefined;
    const observer = new ResizeObserver(() => setHeight(el.clientHeight));
    observer.observe(el);
    return () => observer.disconnect();
  }, [body]);
  return height;
}

/* What is subtracted from a row's index to get its key. While somebody scrolls by a few rows it stays, and
 * rows keep their elements. A jump moves it along with the rows, so that the new rows get the elements of
 * the old ones, in the same order: nothing is made anew, nothing changes its place in the document. */
function useKeyBase(first: number, last: number): number {
  const seen = useRef({ first, last, base: 0 });
  const { current: old } = seen;
  const common = Math.min(last, old.last) - Math.max(first, old.first) + 1;
  if (common * 2 < last - first + 1) old.base += first - old.first;
  old.first = first;
  old.last = last;
  return old.base;
}

/* The open row may grow while its content arrives; out of sight it keeps its height. */
function useOpenHeight(openRow: number) {
  const [openHeight, setOpenHeight] = useState(0);
  const observer = useRef<ResizeObserver | null>(null);
  const openRef = useCallback((el: HTMLDivElement | null) => {
    observer.current?.disconnect();
    if (!el) return;
    const measure = () => el.isConnected && setOpenHeight(el.offsetHeight);
    observer.current = new ResizeObserver(measure);
    observer.current.observe(el);
    measure();
  }, []);
  return { openRef, openHeight: openRow >= 0 ? openHeight : 0 };
}

/* The row that a key leads to; undefined: the key does not move. */
function keyTarget(key: string, from: number, rows: number, onScreen: number): number | undefined {
  const page = Math.max(1, onScreen - 1);
  const moves: Record<string, number> = {
    ArrowDown: from + 1,
    ArrowUp: from - 1,
    j: from + 1,
    k: from - 1,
    PageDown: from + page,
    PageUp: from - page,
    Home: 0,
    End: rows - 1,
  };
  return moves[key];
}

export const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');

const isControl = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('button, a') !== null;

function Row(p: GridProps & { row: number; y: number; isSelected: boolean }) {
  const cells = p.cells(p.row);
  return (
    <div
      class={`tr ${p.rowClass ?? ''}`}
      role="row"
      aria-rowindex={p.row + 2}
      aria-selected={p.isSelected}
      style={{ transform: `translateY(${p.y}px)`, height: p.rowHeight }}
      onClick={() => p.onSelect?.(p.row)}
      onDblClick={() => p.onOpen?.(p.row)}
      {...p.rowProps?.(p.row)}
    >
      {cells ??
        p.columns.map((c) => (
          <span key={c.id} class={c.class} role="gridcell">
            <span class="skel" />
          </span>
        ))}
    </div>
  );
}

/* What a title says to the pointer, for those who come by keys. */
function showHint(head: HTMLElement, hint: string | undefined): void {
  if (!hint || !head.matches(':focus-visible')) return;
  const { left, bottom } = head.getBoundingClientRect();
  showTip(hint, { clientX: left - 14, clientY: bottom - 12 });
}

function Head(p: { columns: readonly Column[]; sort: Sort | null; onSort?: (s: Sort) => void }) {
  return (
    <div class="tr head" role="row">
      {p.columns.map((c) => {
        const isSorted = !!c.sort && p.sort?.by === c.sort;
        const order = p.sort?.isAscending ? 'ascending' : 'descending';
        return (
          <span
            key={c.id}
            role="columnheader"
            class={c.class}
            title={c.hint}
            {...(isSorted ? { 'aria-sort': order } : {})}
          >
            {c.sort && p.onSort ? (
              <button
                type="button"
                onFocus={(e) => showHint(e.currentTarget, c.hint)}
                onBlur={() => showTip(null)}
                onClick={() =>
                  p.onSort?.({
                    by: c.sort ?? '',
                    isAscending: isSorted ? !p.sort?.isAscending : !!c.isAscendingFirst,
                  })
                }
              >
                {c.title}
              </button>
            ) : (
              c.title || <span class="sr-only">Menu</span>
            )}
          </span>
        );
      })}
    </div>
  );
}
