/* The details panel of one allocation: exact figures, its realloc chain, both stacks. */
import type { AllocationRows } from '../api/types';
import { chainShown, memoryText } from '../model/allocation_columns';
import { bytes, duration, group, join, share } from '../model/format';
import { useClock, useClockTitle } from '../state/clock';
import { select } from '../state/details';
import { useQuery } from '../state/query';
import { hrefPage, set, useAddress } from '../state/router';
import { useThreads } from '../state/threads';
import { Block } from '../widgets/details';
import { Num } from '../widgets/figures';
import { ErrorNote, Note } from '../widgets/notes';
import {
  onlyFreeStack,
  onlyStack,
  sameAddress,
  sameSize,
  SHAPE,
  type BlamedRow,
} from './allocation_parts';
import { SiteStack } from './site_parts';

const EXACT_DIGITS = 6;

export function AllocationDetails({ value }: { value: string }) {
  const id = Number(value);
  /* rows lie in the order of time: the number of an allocation is its place in the whole recording */
  const asked = useQuery<AllocationRows>(
    'allocations',
    { skip: id, count: 1 },
    { isFiltered: false, isReady: Number.isInteger(id) && id >= 0 },
  );
  if (asked.error) return <ErrorNote error={asked.error} again={asked.again} />;
  if (!asked.data) return <div aria-busy="true" />;
  const row = SHAPE.rows(asked.data)[0];
  if (!row || row.id !== id)
    return (
      <Note title={`There is no allocation ${value}.`}>
        This recording has {group(asked.data.total_count)} of them.
      </Note>
    );
  return (
    <>
      <Facts row={row} />
      <Block>
        <Actions row={row} />
      </Block>
      {row.chain_length > 1 && <Chain row={row} />}
      <Block
        title="Allocated at"
        right={
          <button type="button" class="link" onClick={() => set(onlyStack(row.stack))}>
            Only this stack
          </button>
        }
      >
        <SiteStack stack={row.stack} hasPath={false} most={16} />
      </Block>
      <FreedAt row={row} />
    </>
  );
}

function Facts({ row }: { row: BlamedRow }) {
  const clock = useClock();
  const title = useClockTitle();
  const threads = useThreads();
  const extra = row.usable - row.size;
  const freed = row.released_ns;
  const byWhom =
    row.free_thread === undefined
      ? ''
      : row.free_thread === row.thread
        ? ', freed by the same'
        : `, freed by ${threads.name(row.free_thread)}`;
  return (
    <Block>
      <div class="block-title">
        {join(bytes(row.size))}
        {row.size >= 1024 && <span class="exact dim"> {group(row.size)} bytes</span>}
      </div>
      <dl class="kv">
        <dt>Address</dt>
        <dd class="code">{row.address}</dd>
        <dt>Allocated</dt>
        <dd title={title(row.at_ns)}>{clock(row.at_ns, EXACT_DIGITS)}</dd>
        <dt>Freed</dt>
        {freed === undefined ? (
          <dd class="leak">never</dd>
        ) : (
          <dd title={title(freed)}>
            {clock(freed, EXACT_DIGITS)}, after {duration(freed - row.at_ns)}
            {row.is_temporary && ', temporary'}
          </dd>
        )}
        <dt>Usable</dt>
        <dd>
          {exactBytes(row.usable)}, {extra ? `${exactBytes(extra)} more than asked` : 'as asked'}
        </dd>
        <dt>Threads</dt>
        <dd>
          {threads.name(row.thread)}
          {byWhom}
        </dd>
        <dt>Made by</dt>
        <dd>
          {row.kind}
          {row.allocator === 'libc' && `, ${memoryText(row)}`}
        </dd>
        {row.allocator && (
          <>
            <dt>Allocator</dt>
            <dd class={row.is_crossed ? 'leak' : undefined}>
              {row.allocator}
              {row.is_crossed && '; another one got the block back, an error of the program'}
            </dd>
          </>
        )}
        {row.chain_length > 1 && (
          <>
            <dt>Chain</dt>
            <dd class={row.chain_lifetime_ns === null ? 'leak' : undefined}>
              {row.chain_lifetime_ns === null
                ? 'never freed'
                : `lived ${duration(row.chain_lifetime_ns)}`}
            </dd>
          </>
        )}
        {row.marker > 0 && (
          <>
            <dt>Marker</dt>
            <dd>{group(row.marker)}</dd>
          </>
        )}
        <dt>Number</dt>
        <dd>{group(row.id)}, by time from 0</dd>
      </dl>
    </Block>
  );
}

/* Exact: bytes in full, with the short form where that is easier to read. */
const exactBytes = (n: number): string =>
  n < 1024 ? join(bytes(n)) : `${group(n)} bytes (${join(bytes(n))})`;

function Actions({ row }: { row: BlamedRow }) {
  const a = useAddress();
  return (
    <div class="actions">
      <a class="btn" href={hrefPage(a, 'sites', { backtraces: String(row.stack) })}>
        Call site
      </a>
      <button type="button" class="btn" onClick={() => set(sameSize(row))}>
        Same size
      </button>
      <button type="button" class="btn" onClick={() => set(sameAddress(row))}>
        Same address
      </button>
    </div>
  );
}

const MOST_OF_CHAIN = 1000; // blocks that are asked for; of a longer chain those around this one

/* The realloc chain as bars: each block with its size; a click shows the block. */
function Chain({ row }: { row: BlamedRow }) {
  const half = MOST_OF_CHAIN / 2;
  const skip = row.chain_length > MOST_OF_CHAIN ? Math.max(0, row.position_in_chain - half) : 0;
  const asked = useQuery<AllocationRows>(
    `chain/${row.id}`,
    { skip, count: MOST_OF_CHAIN },
    { isFiltered: false },
  );
  const blocks = new Map(
    (asked.data?.allocations ?? []).map((b) => [b.position_in_chain, b] as const),
  );
  const largest = Math.max(1, ...[...blocks.values()].map((b) => b.size));
  const shown = chainShown(row.chain_length, row.position_in_chain);
  return (
    <Block
      title="Realloc chain"
      right={`block ${group(row.position_in_chain + 1)} of ${group(row.chain_length)}`}
    >
      {asked.error && <ErrorNote error={asked.error} again={asked.again} />}
      <ol class="chain">
        {shown.map((position, i) => {
          const block = position === null ? undefined : blocks.get(position);
          if (position === null || !block)
            return (
              <li key={`gap ${i}`} class="gap">
                <span>…</span>
              </li>
            );
          const isThis = block.id === row.id;
          return (
            <li key={position} class={isThis ? 'on' : undefined}>
              <span>{position + 1}</span>
              <button
                type="button"
                class="bar c-bytes"
                aria-label={`Block ${position + 1}: ${join(bytes(block.size))}`}
                aria-current={isThis}
                onClick={() => select({ kind: 'alloc', key: String(block.id) })}
              >
                <i style={{ width: `${((100 * block.size) / largest).toFixed(1)}%` }} />
              </button>
              <Num value={bytes(block.size)} title={chainTitle(block.size, largest)} />
            </li>
          );
        })}
      </ol>
    </Block>
  );
}

const chainTitle = (size: number, largest: number): string =>
  `${group(size)} bytes, ${share(size, largest)} of the largest`;

function FreedAt({ row }: { row: BlamedRow }) {
  const { free_stack: stack } = row;
  if (row.released_ns === undefined) return null;
  return (
    <Block
      title="Freed at"
      right={
        !!stack && (
          <button type="button" class="link" onClick={() => set(onlyFreeStack(stack))}>
            Only this stack
          </button>
        )
      }
    >
      {stack ? (
        <SiteStack stack={stack} hasPath={false} most={16} />
      ) : (
        <p class="dim hint">The recorder was not asked to take stacks of frees.</p>
      )}
    </Block>
  );
}
