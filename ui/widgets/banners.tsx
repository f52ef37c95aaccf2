/* The banner under the chips: the server is away, the recording is growing, was killed, or has lost
 * something. At most one, the most urgent. A banner is gone when its cause is; those about the recording's
 * past can be closed. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Notes, Recording, Summary } from '../api/types';
import { stateOf } from '../model/recording';
import { missingSentence } from '../model/gaps';
import { bytes, clockDigits, duration, join, plural } from '../model/format';
import { useClock } from '../state/clock';
import { connection, isPaused, refresh } from '../state/recordings';
import { useQuery } from '../state/query';
import { goPage } from '../state/router';
import { Signal, useSignal } from '../state/signal';
import { Banner } from './notes';

/* Banners that the reader closed, by recording and kind. */
const closed = new Signal<ReadonlySet<string>>(new Set());

/* recording null: the page is not about one. */
export function Banners({ recording }: { recording: Recording | null }) {
  const { isAway } = useSignal(connection);
  const hidden = useSignal(closed);
  const { data } = useQuery<Summary>('summary', {}, { isFiltered: false });
  return (
    <>
      {isAway && <AwayBanner />}
      {recording?.state === 'ready' && (
        <Past recording={recording} summary={data} hidden={hidden} />
      )}
    </>
  );
}

function Past(p: { recording: Recording; summary: Summary | null; hidden: ReadonlySet<string> }) {
  const { recording: r, summary: s } = p;
  if (r.growing) return <LiveBanner recording={r} />;
  const isKilled = stateOf(r).word === 'Killed';
  if ((r.complete !== false && !isKilled) || p.hidden.has(r.id)) return null;
  /* something is wrong, what it is the summary says: keep the room */
  if (!s) return <div class="banner kept" aria-hidden="true" />;
  const close = () => closed.set(new Set(closed.value).add(r.id));
  const kind = lossKind(s);
  if (kind) return <LossBanner summary={s} kind={kind} close={close} />;
  if (isKilled) return <KilledBanner recording={r} summary={s} close={close} />;
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
      isAbove
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
      {paused
        ? 'Paused: the program runs on, figures stay those of this moment until you ask for others.'
        : 'New data every 2 s. Figures stand still while you select or filter.'}
    </Banner>
  );
}

type Loss = 'lost' | 'damaged';

function lossKind(s: Summary): Loss | null {
  if (s.lost_events || s.lost_blocks) return 'lost';
  return s.damaged_bytes ? 'damaged' : null;
}

/* Why the recorder lost events, in its own words: "File too large". */
function useReason(isAsked: boolean): string {
  const { data } = useQuery<Notes>('notes', {}, { isFiltered: false, isReady: isAsked });
  for (const note of data?.notes ?? []) {
    const found = /could not write: (.*)$/.exec(note.text);
    if (found?.[1]) return found[1];
  }
  return '';
}

function LossBanner(p: { summary: Summary; kind: Loss; close: () => void }) {
  const s = p.summary;
  const reason = useReason(p.kind === 'lost');
  const clock = useClock();
  const digits = clockDigits(s.duration_ns);
  const where = missingSentence(s.gaps, (ns) => clock(ns, digits));
  const why = reason ? `The recorder could not write: ${reason}. ` : '';
  return (
    <Banner
      kind="warn"
      mark="warn"
      title={p.kind === 'lost' ? lostTitle(s) : damagedTitle(s)}
      actions={
        <Actions close={p.close}>
          <button type="button" class="btn" onClick={() => goPage('overview')}>
            Details
          </button>
        </Actions>
      }
    >
      {why}
      {where || (p.kind === 'damaged' && 'Events in that part are missing.')} Totals are too low,
      and what was freed then may be shown as leaked.
    </Banner>
  );
}

const lostTitle = (s: Summary): string =>
  s.lost_events
    ? `${plural(s.lost_events, 'event')} ${s.lost_events === 1 ? 'was' : 'were'} lost.`
    : `${plural(s.lost_blocks, 'block')} of events ${s.lost_blocks === 1 ? 'was' : 'were'} lost.`;

/* Bytes that the file had before it was cut off count as damaged, too. */
const damagedTitle = (s: Summary): string =>
  s.damaged_bytes < s.file_bytes
    ? `${join(bytes(s.damaged_bytes))} of ${join(bytes(s.file_bytes))} are damaged.`
    : `${join(bytes(s.damaged_bytes))} are missing or damaged.`;

function KilledBanner(p: { recording: Recording; summary: Summary; close: () => void }) {
  const { recording, summary, close } = p;
  const by = /^killed (by \S+)$/.exec(recording.ended ?? '')?.[1];
  const why = summary.out_of_memory ? ', most likely out of memory,' : by ? ` ${by}` : '';
  const grew = { tm: 'grew', t0: '0', t1: String(summary.duration_ns) };
  return (
    <Banner
      kind="bad"
      mark="bad"
      title={`Killed${why} after ${duration(summary.duration_ns)}.`}
      actions={
        <Actions close={close}>
          <button type="button" class="btn" onClick={() => goPage('timeline', grew)}>
            Show growth
          </button>
        </Actions>
      }
    >
      Nothing is lost: every event up to the kill is here. “Leaked” counts what was alive at that
      moment, so look at growth rather than at the total.
    </Banner>
  );
}

function Actions({ close, children }: { close: () => void; children: ComponentChildren }) {
  return (
    <>
      {children}
      <button type="button" class="btn quiet" onClick={close}>
        Close
      </button>
    </>
  );
}
