/* Details of a mapping. Its key is its address, and when it was made where that is known: an address
 * may be mapped several times. */
import type { FrameText, Mapping, Mappings } from '../api/types';
import { bytes, clockDigits, duration, exact, join } from '../model/format';
import { addressAfter } from '../model/heap_cells';
import { baseName } from '../model/names';
import { useClock } from '../state/clock';
import { useQuery } from '../state/query';
import { useRecording } from '../state/recordings';
import { hrefPage, useAddress } from '../state/router';
import { useStack } from '../state/stacks';
import { Block } from '../widgets/details';
import { StackList } from '../widgets/names';
import { ErrorNote, Note } from '../widgets/notes';

export const mappingKey = (m: Mapping): string =>
  m.made_ns === null ? m.address : `${m.address}@${m.made_ns}`;

export function MapDetails({ value }: { value: string }) {
  const [address = '', made] = value.split('@');
  const asked = useQuery<Mappings>(
    'maps',
    { address_min: address, address_max: address },
    { isFiltered: false },
  );
  if (asked.error) return <ErrorNote error={asked.error} again={asked.again} />;
  if (!asked.data) return null;
  const m =
    asked.data.maps.find((x) => mappingKey(x) === value) ??
    asked.data.maps.find((x) => x.address === address && !made);
  if (!m) return <Note title="No such mapping.">The recording has none at {address}.</Note>;
  return <MappingBlocks m={m} />;
}

function MappingBlocks({ m }: { m: Mapping }) {
  const a = useAddress();
  const clock = useClock();
  const digits = clockDigits(useRecording()?.duration_ns ?? 1);
  const end = addressAfter(m.address, m.size);
  const lived = m.made_ns !== null && m.removed_ns !== null ? m.removed_ns - m.made_ns : null;
  const filter = { address_min: m.address, address_max: addressAfter(m.address, m.size - 1) };
  return (
    <>
      <Block>
        <div class="block-title">
          {m.name ? baseName(m.name) : 'Anonymous memory'}
          {m.name.includes('/') && <small>{m.name}</small>}
        </div>
        <dl class="kv spaced">
          <dt>From</dt>
          <dd class="code">{m.address}</dd>
          <dt>To</dt>
          <dd class="code">{end}</dd>
          <dt>Size</dt>
          <dd title={exact(m.size, 'bytes')}>{join(bytes(m.size))}</dd>
          <dt>Perms</dt>
          <dd class="code">{m.perms ?? 'not known'}</dd>
          <dt>Made</dt>
          <dd>{m.made_ns === null ? 'not recorded' : clock(m.made_ns, digits)}</dd>
          <dt>Removed</dt>
          <dd>
            {m.removed_ns !== null
              ? clock(m.removed_ns, digits) + (lived === null ? '' : `, after ${duration(lived)}`)
              : m.removed
                ? 'before the end'
                : 'still there at the end'}
          </dd>
          <dt>RSS</dt>
          <dd>{resident(m.rss_bytes)}</dd>
          <dt>Peak RSS</dt>
          <dd>{resident(m.peak_rss_bytes)}</dd>
        </dl>
      </Block>
      <section class="block actions">
        <a class="btn" href={hrefPage(a, 'allocations', filter)}>
          Allocations in it
        </a>
        <a class="btn" href={hrefPage(a, 'flame', filter)}>
          Flame graph
        </a>
      </section>
      <Block title="Made by">
        <MadeBy m={m} />
      </Block>
    </>
  );
}

const resident = (value: number | null): string =>
  value === null ? 'not known' : join(bytes(value));

function MadeBy({ m }: { m: Mapping }) {
  const stack = useStack(m.stack);
  const known: FrameText[] = m.blame ? [m.blame] : [];
  if (m.stack === null)
    return (
      <p class="dim hint">
        No recorded call made it. With <span class="code">MEMORY_PROFILER_GATHER_MMAP_CALLS=1</span>{' '}
        calls of the program are recorded; those inside libc and the loader never are.
      </p>
    );
  return <StackList frames={stack.data?.frames ?? known} blame={m.blame} hasPath={false} />;
}
