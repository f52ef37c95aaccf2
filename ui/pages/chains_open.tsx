/* An open row of Realloc chains: the stack, the figures, and the longest chain as an example. */
import type { AllocationRow, AllocationRows, ChainSite, FrameText } from '../api/types';
import { advice, chainFilter, growthPattern, sampleChain } from '../model/chains';
import { bytes, count, group, join, plural } from '../model/format';
import { useQuery } from '../state/query';
import { hrefPage, useAddress } from '../state/router';
import { useStack } from '../state/stacks';
import { StackList } from '../widgets/names';
import { Value } from '../widgets/figures';

const SHOWN = 8; // blocks of the example

export function ChainOpen({ site }: { site: ChainSite }) {
  const a = useAddress();
  const stack = useStack(site.stack);
  const known = [site.blame, ...site.callers].filter((f): f is FrameText => f !== null);
  const text = advice(site);
  return (
    <div class="site-open">
      <div>
        <h2 class="dim">First allocated at</h2>
        <StackList frames={stack.data?.frames ?? known} blame={site.blame} cost="bytes" />
      </div>
      <div class="side">
        <div class="actions">
          <a class="btn" href={hrefPage(a, 'allocations', chainFilter(site.stack))}>
            Allocations
          </a>
          <a class="btn" href={hrefPage(a, 'flame', { backtraces: String(site.stack) })}>
            Flame graph
          </a>
        </div>
        <dl class="kv">
          <dt>Advice</dt>
          <dd>{text || 'Nothing that was copied would be saved by a larger first block.'}</dd>
          <dt>Reallocs</dt>
          <dd>
            {join(count(site.reallocations))} in {plural(site.chains, 'chain')},{' '}
            {join(count(site.moved))} moved the block
            {site.remapped ? `, ${join(count(site.remapped))} remapped without copying` : ''}
          </dd>
          <dt>Last size</dt>
          <dd>
            {join(bytes(site.last_bytes))} in the mean, {join(bytes(site.max_last_bytes))} at most
          </dd>
          <Example site={site} />
        </dl>
      </div>
    </div>
  );
}

/* The longest chain that begins here, block by block. */
function Example({ site }: { site: ChainSite }) {
  const found = useQuery<AllocationRows>('allocations', {
    ...chainFilter(site.stack),
    position_in_chain_max: 0,
    sort_by: 'chain_length',
    order: 'dsc',
    count: 1,
  });
  const id = found.data?.allocations[0]?.id;
  const chain = useQuery<AllocationRows>(
    `chain/${id ?? 0}`,
    { count: 10_000 },
    { isFiltered: false, isReady: id !== undefined },
  );
  const blocks = chain.data?.allocations;
  if (!blocks || blocks.length < 2) return null;
  return (
    <>
      <dt>Growth</dt>
      <dd>
        {growthPattern(blocks.map((b) => b.size))}; the longest chain has{' '}
        {plural(blocks.length, 'block')}:
        <ChainBars blocks={blocks} />
      </dd>
    </>
  );
}

function ChainBars({ blocks }: { blocks: readonly AllocationRow[] }) {
  const most = Math.max(1, ...blocks.map((b) => b.size));
  return (
    <ol class="chain">
      {sampleChain(blocks.length, SHOWN).map((i) => {
        const b = blocks[i];
        return b ? (
          <li key={i}>
            <span title={`Block ${group(i + 1)} of ${group(blocks.length)}`}>{i + 1}</span>
            <span class="bar c-bytes">
              <i style={{ width: `${((100 * b.size) / most).toFixed(1)}%` }} />
            </span>
            <Value value={b.size} unit="bytes" />
          </li>
        ) : null;
      })}
    </ol>
  );
}
