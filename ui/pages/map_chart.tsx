/* RSS beside the heap, or the address space, over time. */
import { useMemo } from 'preact/hooks';
import type { Buckets, Samples } from '../api/types';
import { chartWindow, untimedFilter } from '../model/filters';
import { resample } from '../model/heap_cells';
import { useQuery } from '../state/query';
import { useRecording } from '../state/recordings';
import { set, useAddress } from '../state/router';
import { Segments } from '../widgets/controls';
import { ErrorNote, Note } from '../widgets/notes';
import { crosshairNs } from '../widgets/strip';
import { TimeChart, type ChartSeries } from '../widgets/time_chart';

const POINTS = 300;

export function MemoryChart() {
  const { params } = useAddress();
  const run = useRecording()?.duration_ns ?? 1;
  const isSpace = params['mem'] === 'space';
  const samples = useQuery<Samples>('samples', {}, { isFiltered: false });
  const heap = useQuery<Buckets>(
    'timeline',
    { ...untimedFilter(params), ...chartWindow(params, run), buckets: POINTS, round: true },
    { isFiltered: false },
  );
  const series = useMemo((): ChartSeries[] => {
    if (!heap.data || !samples.data) return [];
    const { from_ns, bucket_ns, max_bytes } = heap.data;
    if (!isSpace) return [{ name: 'Heap', values: max_bytes, fill: '--f-peak', line: '--c-peak' }];
    const { at_ns, virtual_bytes } = samples.data;
    const values = resample(at_ns, virtual_bytes, from_ns, bucket_ns, max_bytes.length);
    return [{ name: 'Address space', values, fill: '--bg-sunken', line: '--c-rss' }];
  }, [heap.data, samples.data, isSpace]);
  const error = samples.error ?? heap.error;
  return (
    <section class="card">
      <header>
        <h2>{isSpace ? 'Address space' : 'RSS (dashed) and heap'}</h2>
        <Segments
          label="Chart"
          options={[
            { id: 'rss', name: 'RSS' },
            { id: 'space', name: 'Address space' },
          ]}
          value={isSpace ? 'space' : 'rss'}
          onChange={(id) => set({ mem: id === 'space' ? id : null })}
        />
      </header>
      <div class="chartbox">
        {error && <ErrorNote error={error} again={samples.error ? samples.again : heap.again} />}
        {samples.data && samples.data.at_ns.length === 0 && (
          <div class="pad-note">
            <Note title="No samples.">The recording holds no figures of the process.</Note>
          </div>
        )}
        {heap.data && samples.data && samples.data.at_ns.length > 0 && (
          <TimeChart
            key={isSpace ? 'space' : 'rss'}
            label={isSpace ? 'Address space over time' : 'RSS and heap over time'}
            fromNs={heap.data.from_ns}
            bucketNs={heap.data.bucket_ns}
            runNs={run}
            series={series}
            unit="bytes"
            line={
              isSpace
                ? null
                : { name: 'RSS', at: samples.data.at_ns, values: samples.data.rss_bytes }
            }
            crosshair={crosshairNs}
          />
        )}
      </div>
    </section>
  );
}
