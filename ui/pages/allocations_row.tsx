/* The cells of a row of Allocations. */
import { allocationDigits, memoryWord, type AllocationColumn } from '../model/allocation_columns';
import { columnClass } from '../model/columns';
import { bytes, duration, exact, group, type ClockText } from '../model/format';
import type { ThreadNames } from '../state/threads';
import { Num } from '../widgets/figures';
import { Sym } from '../widgets/names';
import type { BlamedRow } from './allocation_parts';

export interface AllocationContext {
  columns: readonly AllocationColumn[];
  sortedBy: string;
  clock: ClockText;
  clockTitle: (ns: number) => string;
  runNs: number;
  threads: ThreadNames;
}

export function allocationCells(c: AllocationContext, row: BlamedRow) {
  return c.columns.map((column) => {
    const cell = CELLS[column.id](c, row);
    const cls = [columnClass(column, c.sortedBy), cell.class ?? ''].filter(Boolean).join(' ');
    return (
      <span key={column.id} class={cls} role="gridcell" title={cell.title}>
        {cell.content}
      </span>
    );
  });
}

interface CellContent {
  content: preact.ComponentChildren;
  class?: string;
  title?: string;
}

const LONG_NS = 10e9; // a free later than this is shown in tenths of a second

const size = (value: number, cls?: string): CellContent => ({
  content: <Num value={bytes(value)} />,
  title: exact(value, 'bytes'),
  ...(cls ? { class: cls } : {}),
});

type CellOf = (c: AllocationContext, r: BlamedRow) => CellContent;

const CELLS: Record<AllocationColumn['id'], CellOf> = {
  allocated: (c, r) => ({
    content: c.clock(r.at_ns, allocationDigits(c.runNs)),
    title: c.clockTitle(r.at_ns),
  }),
  lifetime: (_, r) => ({
    class: r.released_ns === undefined ? 'leak' : '',
    content: (
      <>
        {r.released_ns === undefined ? 'never freed' : duration(r.released_ns - r.at_ns)}
        <span
          class="tempmark"
          title={r.is_temporary ? 'Temporary: freed before the thread allocated again' : undefined}
        >
          {r.is_temporary ? 'T' : ''}
        </span>
      </>
    ),
  }),
  freed: (c, r) => {
    if (r.released_ns === undefined) return { content: '' };
    const isLong = r.released_ns - r.at_ns >= LONG_NS;
    return {
      class: 'dim',
      content: c.clock(r.released_ns, isLong ? 1 : allocationDigits(c.runNs)),
      title: c.clockTitle(r.released_ns),
    };
  },
  address: (_, r) => ({ class: 'code', content: r.address.replace(/^0x/, ''), title: r.address }),
  size: (_, r) => size(r.size),
  usable: (_, r) => size(r.usable, 'dim'),
  extra: (_, r) => size(r.usable - r.size, 'dim'),
  thread: (c, r) => {
    const name = c.threads.name(r.thread);
    return { content: name, title: `${name}, id ${c.threads.tid(r.thread) ?? 'not known'}` };
  },
  kind: (_, r) => ({ class: 'dim', content: r.kind }),
  memory: (_, r) => ({ class: 'dim', content: memoryWord(r) }),
  allocator: (_, r) => ({
    class: r.is_crossed ? 'leak' : 'dim',
    content: r.is_crossed ? `${r.allocator} !` : r.allocator,
    title: r.is_crossed
      ? 'Another allocator got the block back: an error of the program'
      : r.allocator,
  }),
  chain: (_, r) => ({
    class: 'dim',
    content: r.chain_length > 1 ? `${r.position_in_chain + 1}/${r.chain_length}` : '',
    title:
      r.chain_length > 1
        ? `Block ${group(r.position_in_chain + 1)} of ${group(r.chain_length)} of its realloc chain`
        : 'No realloc took part in it',
  }),
  chainlife: (_, r) => {
    if (r.chain_lifetime_ns === null) return { class: 'leak', content: 'never freed' };
    return { content: duration(r.chain_lifetime_ns) };
  },
  marker: (_, r) => ({ class: 'dim', content: r.marker ? group(r.marker) : '' }),
  freedby: (c, r) => ({
    content: r.free_thread === undefined ? '' : c.threads.name(r.free_thread),
  }),
  site: (_, r) => ({ content: r.site ? <Sym frame={r.site} /> : noStack(r.stack) }),
  freedat: (_, r) => ({
    content: r.freeSite ? <Sym frame={r.freeSite} hasPath={false} /> : '',
  }),
};

const noStack = (stack: number) => <span class="dim">no stack ({stack})</span>;
