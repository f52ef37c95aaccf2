/* The details panel about a recording: what it is, memory over time, facts, health. */
import type { ComponentChildren } from 'preact';
import { apiUrl } from '../api/client';
import type { Buckets, Health, Recording, Summary } from '../api/types';
import { formatAddress } from '../model/address';
import { bytes, duration, group, join, plural, wallClockShort } from '../model/format';
import { basename, failureText, progressText } from '../model/recording';
import { runningSum } from '../model/strip';
import { useUrl, type Asked } from '../state/query';
import { dataVersion, findRecording, recordings } from '../state/recordings';
import { useSignal } from '../state/signal';
import { Block } from '../widgets/details';
import { HealthList } from '../widgets/health';
import { Icon } from '../widgets/icons';
import { Sparkline } from '../widgets/sparkline';

const POINTS = 120;

/* A question about this recording, which need not be the one of the address. */
function useOf<T>(r: Recording | null, path: string): Asked<T> {
  const url = r?.state === 'ready' ? apiUrl(`${r.id}/${path}`) : null;
  return useUrl<T>(url, dataVersion(r));
}

export function RecordingDetails({ value }: { value: string }) {
  const r = findRecording(useSignal(recordings), value);
  const summary = useOf<Summary>(r, 'summary').data;
  const timeline = useOf<Buckets>(r, `timeline?buckets=${POINTS}&round=true`).data;
  const health = useOf<Health>(r, 'health').data;
  if (!r) return <p class="dim">This recording is not on the server any more.</p>;
  return (
    <>
      <Block>
        <div class="block-title">
          {basename(r)}
          <small>{when(r)}</small>
        </div>
      </Block>
      {r.state === 'loading' && <Block>{progressText(r)}.</Block>}
      {r.state === 'failed' && <Block title="Cannot open">{failureText(r)}</Block>}
      {r.state === 'ready' && <Actions r={r} />}
      {timeline && (
        <Block title="Memory over time" right={`${join(bytes(r.peak_bytes ?? 0))} at most`}>
          <div class="rec-graph">
            <Sparkline
              alive={timeline.max_bytes}
              leaked={r.growing ? null : runningSum(timeline.leaked_bytes)}
              label={`Bytes alive over ${duration(r.duration_ns ?? 0)}, ${join(bytes(r.peak_bytes ?? 0))} at most`}
            />
          </div>
        </Block>
      )}
      <Block title="Facts">
        <Facts r={r} summary={summary} facts={health?.facts ?? []} />
      </Block>
      {health && (
        <Block title="Health">
          <HealthList lines={health.lines} />
        </Block>
      )}
    </>
  );
}

function when(r: Recording): string {
  if (!r.start_ns) return r.file;
  const ran = duration(r.duration_ns ?? 0);
  const start = wallClockShort(r.start_ns);
  const end = wallClockShort(r.start_ns + (r.duration_ns ?? 0));
  if (start === end) return `${start}, ${ran}`;
  const isSameDay = start.slice(0, -5) === end.slice(0, -5);
  return `${start} to ${isSameDay ? end.slice(-5) : end}, ${ran}`;
}

function Actions({ r }: { r: Recording }) {
  const link = (page: 'overview' | 'flame', cost?: string) =>
    formatAddress({ rec: r.id, page, params: cost ? { cost } : {} });
  return (
    <section class="block actions">
      <a class="btn primary" href={link('overview')}>
        Open <Icon name="right" />
      </a>
      <a class="btn" href={link('flame', 'leaked')}>
        Leaks
      </a>
      <a class="btn" href={link('flame', 'peak')}>
        Peak
      </a>
    </section>
  );
}

function Facts(p: {
  r: Recording;
  summary: Summary | null;
  facts: readonly { name: string; value: string }[];
}) {
  const { r, summary: s } = p;
  const rows: [name: string, value: ComponentChildren][] = [];
  if (r.cmdline?.length) rows.push(['Command', <span class="code">{r.cmdline.join(' ')}</span>]);
  if (s) {
    rows.push(['Process', `pid ${s.pid}, ${plural(s.threads, 'thread')}`]);
    rows.push(['Machine', `${s.host}, ${plural(s.cpus, 'core')}, ${join(bytes(s.memory_bytes))}`]);
    rows.push([
      'Stacks',
      `${group(s.stacks)} different, ${plural(s.deepest_stack, 'frame')} at most`,
    ]);
    rows.push(['Folder', s.cwd]);
    rows.push(['Recorder', s.recorder]);
  }
  const known = new Set(['Started', ...rows.map(([name]) => name)]);
  for (const f of p.facts) if (!known.has(f.name)) rows.push([f.name, f.value]);
  rows.push(['File', r.file]);
  return (
    <dl class="kv">
      {rows.map(([name, value]) => [<dt key={name}>{name}</dt>, <dd>{value}</dd>])}
    </dl>
  );
}
