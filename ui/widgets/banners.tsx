/* The banner under the chips: the server is away, the recording is loading, growing, was killed, or
 * has lost something. At most one, the most urgent. */
import { useEffect, useState } from 'preact/hooks';
import type { Recording, Summary } from '../api/types';
import { stateOf } from '../model/recording';
import { count, duration, join, plural } from '../model/format';
import { connection, isPaused, refresh } from '../state/recordings';
import { useQuery } from '../state/query';
import { goPage } from '../state/router';
import { Signal, useSignal } from '../state/signal';
import { Banner } from './notes';

/* Banners that the reader closed, by recording and kind. */
const closed = new Signal<ReadonlySet<string>>(new Set());
const close = (key: string) => closed.set(new Set(closed.value).add(key));

export function Banners({ recording }: { recording: Recording | null }) {
  const { isAway } = useSignal(connection);
  const hidden = useSignal(closed);
  const { data } = useQuery<Summary>('summary', {}, { isFiltered: false });
  if (isAway) return <AwayBanner />;
  if (!recording || recording.state !== 'ready' || !data) return null;
  if (recording.growing) return <LiveBanner recording={recording} />;
  const kind = lossKind(data);
  if (kind && !hidden.has(recording.id + kind))
    return <LossBanner summary={data} kind={kind} close={() => close(recording.id + kind)} />;
  if (stateOf(recording).word === 'Killed' && !hidden.has(recording.id + 'killed'))
    return <KilledBanner summary={data} close={() => close(recording.id + 'killed')} />;
  return null;
}

function AwayBanner() {
  const { retryAt } = useSignal(connection);
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 500);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.ceil((retryAt - Date.now()) / 1000));
  return (
    <Banner
      kind="warn"
      mark="warn"
      title="The server does not answer."
      actions={
        <button type="button" class="btn" onClick={() => void refresh()}>
          Try now
        </button>
      }
    >
      What you see stays usable. {seconds > 0 ? `Trying again in ${seconds} s.` : 'Trying again.'}
    </Banner>
  );
}

function LiveBanner({ recording }: { recording: Recording }) {
  const paused = useSignal(isPaused);
  return (
    <Banner
      kind=""
      mark="live"
      title={`Recording now, ${duration(recording.duration_ns ?? 0)}.`}
      actions={
        <button type="button" class="btn" onClick={() => isPaused.set(!paused)}>
          {paused ? 'Go to now' : 'Pause'}
        </button>
      }
    >
      {paused ? 'Figures stand still.' : 'New data every 2 s.'}
    </Banner>
  );
}

type Loss = 'lost' | 'damaged';

function lossKind(s: Summary): Loss | null {
  if (s.lost_events || s.lost_blocks) return 'lost';
  return s.damaged_bytes ? 'damaged' : null;
}

function LossBanner(p: { summary: Summary; kind: Loss; close: () => void }) {
  const s = p.summary;
  const title =
    p.kind === 'lost'
      ? `${join(count(s.lost_events))} events were lost.`
      : `${plural(s.damaged_bytes, 'byte')} of the file are damaged.`;
  const text =
    p.kind === 'lost'
      ? 'Totals are too low, and some frees may be missing.'
      : 'Events in the damaged part are missing; everything else is exact.';
  return (
    <Banner
      kind="warn"
      mark="warn"
      title={title}
      actions={
        <>
          <button type="button" class="btn" onClick={() => goPage('overview')}>
            Details
          </button>
          <button type="button" class="btn quiet" onClick={p.close}>
            Close
          </button>
        </>
      }
    >
      {text}
    </Banner>
  );
}

function KilledBanner({ summary, close: onClose }: { summary: Summary; close: () => void }) {
  return (
    <Banner
      kind="bad"
      mark="bad"
      title={`Killed after ${duration(summary.duration_ns)}.`}
      actions={
        <>
          <button
            type="button"
            class="btn"
            onClick={() =>
              goPage('timeline', { tm: 'grew', t0: '0', t1: String(summary.duration_ns) })
            }
          >
            Show growth
          </button>
          <button type="button" class="btn quiet" onClick={onClose}>
            Close
          </button>
        </>
      }
    >
      Nothing is lost: every event up to the kill is here. “Leaked” counts what was alive at that
      moment, so look at growth rather than at the total.
    </Banner>
  );
}
