/* RSS beside the heap, the address space, or what the allocator holds beside what it handed out, over
 * time. */
import { useMemo } from 'preact/hooks';
import type { AllocatorSamples, Buckets, Samples } from '../api/types';
import { mainAllocator } from '../model/allocator_samples';
import { chartSpan, chartWindow, untimedFilter } from '../model/filters';
import { bytes, join, share } from '../model/format';
import { resample } from '../model/heap_cells';
import { useQuery } from '../state/query';
import { useRecording } from '../state/recordings';
import { set, useAddress } from '../state/router';
import { Segments } from '../widgets/controls';
import { ErrorNote, Note } from '../widgets/notes';
import { crosshairNs } from '../widgets/strip';
import { TimeChart, type ChartLine, type ChartSeries } from '../widgets/time_chart';

const POINTS = 300;

const KINDS = [
  { id: 'rss', name: 'RSS' },
  { id: 'space', name: 'Address space' },
  { id: 'allocator', name: 'Allocator', hint: 'What the allocator holds and what of it is in use' },
] as const;
type Kind = (typeof KINDS)[number]['id'];

interface Drawn {
  title: string;
  note?: string; // below the title
  label: string; // for readers of the screen
  series: ChartSeries[];
  line: ChartLine | null;
  nothing: [title: string, why: string] | null;
}

function useDrawn(kind: Kind) {
  const { params } = useAddress();
  const run = useRecording()?.duration_ns ?? 1;
  const samples = useQuery<Samples>('samples', {}, { isFiltered: false });
  const heap = useQuery<Buckets>(
    'timeline',
    { ...untimedFilter(params), ...chartWindow(params, run), buckets: POINTS, round: true },
    { isFiltered: false },
  );
  const reported = useQuery<AllocatorSamples>(
    'allocator_samples',
    {},
    { isFiltered: false, isReady: kind === 'allocator' },
  );
  const drawn = useMemo((): Drawn | null => {
    if (!heap.data || !samples.data) return null;
    if (kind === 'allocator') return reported.data && drawAllocator(heap.data, reported.data);
    return kind === 'rss' ? drawRss(heap.data, samples.data) : drawSpace(heap.data, samples.data);
  }, [heap.data, samples.data, reported.data, kind]);
  return { drawn, heap, run, asked: [samples, heap, reported].find((a) => a.error) };
}

const NO_SAMPLES: Drawn['nothing'] = [
  'No samples.',
  'The recording holds no figures of the process.',
];

function drawRss(heap: Buckets, samples: Samples): Drawn {
  const { at_ns, rss_bytes } = samples;
  return {
    title: 'RSS (dashed) and heap',
    label: 'RSS and heap over time',
    series: [{ name: 'Heap', values: heap.max_bytes, fill: '--f-peak', line: '--c-peak' }],
    line: { name: 'RSS', at: at_ns, values: rss_bytes },
    nothing: at_ns.length ? null : NO_SAMPLES,
  };
}

function drawSpace(heap: Buckets, samples: Samples): Drawn {
  const { at_ns, virtual_bytes } = samples;
  const { from_ns, bucket_ns, max_bytes } = heap;
  const values = resample(at_ns, virtual_bytes, from_ns, bucket_ns, max_bytes.length);
  return {
    title: 'Address space',
    label: 'Address space over time',
    series: [{ name: 'Address space', values, fill: '--bg-sunken', line: '--c-rss' }],
    line: null,
    nothing: at_ns.length ? null : NO_SAMPLES,
  };
}

/* The gap between both lines is memory that the allocator keeps for later, or cannot give back. */
function drawAllocator(heap: Buckets, reported: AllocatorSamples): Drawn {
  const main = mainAllocator(reported.samples);
  const { from_ns, bucket_ns, max_bytes } = heap;
  const title = 'Held by the allocator';
  if (!main)
    return {
      title,
      label: title,
      series: [],
      line: null,
      nothing: [
        'No figures of an allocator.',
        'None of the allocators in the program reported any.',
      ],
    };
  const values = resample(main.at, main.allocated, from_ns, bucket_ns, max_bytes.length);
  const held = main.held[main.held.length - 1] ?? 0;
  const used = main.allocated[main.allocated.length - 1] ?? 0;
  const idle = Math.max(0, held - used);
  return {
    title: `Held by ${main.name}`,
    note:
      `Dashed: ${main.word}. Area: handed out. At the last sample ` +
      `${join(bytes(idle))}, ${share(idle, held) || '0 %'}, were not in use.`,
    label: `What ${main.name} holds and what it handed out, over time`,
    series: [{ name: 'Handed out', values, fill: '--f-peak', line: '--c-peak' }],
    line: { name: main.word, at: main.at, values: main.held },
    nothing: null,
  };
}

export function MemoryChart() {
  const { params } = useAddress();
  const mem = params['mem'];
  const kind = KINDS.find((k) => k.id === mem)?.id ?? 'rss';
  const { drawn, heap, run, asked } = useDrawn(kind);
  return (
    <section class="card">
      <header>
        <h2>{drawn?.title ?? 'Memory of the process'}</h2>
        <Segments
          label="Chart"
          options={KINDS}
          value={kind}
          onChange={(id) => set({ mem: id === 'rss' ? null : id })}
        />
      </header>
      {drawn?.note && <p class="chart-note dim">{drawn.note}</p>}
      <div class="chartbox">
        {asked?.error && <ErrorNote error={asked.error} again={asked.again} />}
        {drawn?.nothing && (
          <div class="pad-note">
            <Note title={drawn.nothing[0]}>{drawn.nothing[1]}</Note>
          </div>
        )}
        {heap.data && drawn && !drawn.nothing && (
          <TimeChart
            key={kind}
            label={drawn.label}
            fromNs={heap.data.from_ns}
            span={chartSpan(params, run)}
            bucketNs={heap.data.bucket_ns}
            runNs={run}
            series={drawn.series}
            unit="bytes"
            line={drawn.line}
            crosshair={crosshairNs}
          />
        )}
      </div>
    </section>
  );
}
