/* The cards of the Overview: what to look at first. */
import type { Finding, Findings } from '../api/types';
import { hasFilter, rangeOf } from '../model/filters';
import { codeName, frameLocation, frameTitle } from '../model/names';
import type { PageId } from '../model/address';
import { unbroken } from '../model/unbroken';
import { useQuery, type Asked } from '../state/query';
import { useRecording } from '../state/recordings';
import { isDetailsOpen } from '../state/details';
import { hasPage, hrefPage, useAddress } from '../state/router';
import { ErrorNote, Note, Waiting } from '../widgets/notes';
import { Sparkline } from '../widgets/sparkline';

const KIND_WORDS: Record<string, string> = {
  unrecorded: 'Not recorded',
  held: 'Held at the end',
  leak: 'Likely leak',
  owner: 'Kept by',
  growth: 'Grows to the end',
  peak: 'Makes the peak',
  churn: 'Churn',
  outside: 'Outside the heap',
  copying: 'Copying',
};
const N_CARDS = 3;

/* What the cards and figures are about when it is not the whole recording. */
export function useWhat(): string {
  const { params } = useAddress();
  const range = rangeOf(params);
  if (!range) return hasFilter(params) ? 'of what matches' : '';
  return RANGE_WORDS[range.meaning];
}

const RANGE_WORDS = {
  in: 'of blocks allocated in the range',
  kept: 'of blocks allocated in the range and kept',
  end: 'of blocks alive at its end',
  grew: 'of blocks allocated in the range and kept',
};

export function FindingCards() {
  const asked = useQuery<Findings>('findings');
  const { data } = asked;
  const what = useWhat();
  if (!data && asked.error)
    return (
      <section class="findings none" aria-label="What stands out">
        <ErrorNote error={asked.error} again={asked.again} />
      </section>
    );
  if (!data) return <FindingsToCome asked={asked} />;
  const cards = data.findings.slice(0, N_CARDS);
  if (!cards.length)
    return (
      <section class="findings none" aria-label="What stands out">
        {what ? (
          <Note title={`Nothing stands out, ${what}.`} />
        ) : (
          <Note title="Nothing stands out.">Memory is flat and little is left at the end.</Note>
        )}
      </section>
    );
  return (
    <section class="findings" aria-label="What stands out">
      {what && <p class="about dim">What stands out, {what}</p>}
      {cards.map((f, i) => (
        <FindingCard key={i} finding={f} n={cards.length} />
      ))}
    </section>
  );
}

/* The room of the cards, and what is being done, until they are here. */
function FindingsToCome({ asked }: { asked: Asked<Findings> }) {
  return (
    <section class="findings" aria-label="What stands out" aria-busy="true">
      {Array.from({ length: N_CARDS }, (_, i) => (
        <div class="finding of-3" key={i}>
          <span class="skel" />
          <span class="skel" />
          <span class="skel" />
        </div>
      ))}
      <Waiting asked={asked} what="Looking for what stands out" />
    </section>
  );
}

/* `n`: how many cards share the line. */
function FindingCard({ finding: f, n }: { finding: Finding; n: number }) {
  const a = useAddress();
  const selection = f.blame ? `fn:${codeName(f.blame)}` : null;
  const page = f.page as PageId;
  const href = hrefPage(a, hasPage(page) ? page : 'flame', {
    ...(f.filter as Record<string, string>),
    cost: f.cost,
    sel: selection,
  });
  return (
    <div class={`finding of-${n}`}>
      <span class={`kind c-${f.cost}`}>
        <span class="tick" />
        {KIND_WORDS[f.kind] ?? f.kind}
        {f.blame && <span class="dim">{frameLocation(f.blame)}</span>}
      </span>
      <a class="whole" href={href} title={f.title} onClick={() => isDetailsOpen.set(true)}>
        <b>{shortTitle(f)}</b>
      </a>
      <span class="dim">
        {unbroken(f.text)}
        {['held', 'leak', 'owner', 'growth'].includes(f.kind) && hasPage('timeline') && (
          <>
            {'. '}
            <GrewLink text="What grew" />
          </>
        )}
      </span>
      <span class="mini">
        {f.kind === 'churn' ? (
          <ChurnSquares part={f.share} />
        ) : (
          <Sparkline alive={f.timeline} leaked={f.leaked_timeline} />
        )}
      </span>
    </div>
  );
}

/* The proof of a leak: what grew between two moments. Without a range: the middle half of the run,
 * behind the start and before the end. */
export function GrewLink({ text }: { text: string }) {
  const a = useAddress();
  const run = useRecording()?.duration_ns ?? 0;
  const range: Record<string, string> = rangeOf(a.params)
    ? {}
    : { t0: String(Math.round(run / 4)), t1: String(Math.round((run / 4) * 3)) };
  return (
    <a
      class="link"
      title="What grew between two moments: the table below the charts of the Timeline"
      href={hrefPage(a, 'timeline', { ...range, tm: 'grew' })}
    >
      {text}
    </a>
  );
}

/* The title with the function's name as all pages have it: a card has little room. */
function shortTitle(f: Finding): string {
  const name = f.blame ? frameTitle(f.blame) : '';
  return unbroken(f.name && name ? f.title.replace(f.name, () => name) : f.title);
}

/* The share of temporary allocations as squares. */
function ChurnSquares({ part }: { part: number }) {
  return (
    <svg class="spark" viewBox="0 0 92 42" aria-hidden="true">
      {Array.from({ length: 40 }, (_, i) => (
        <rect
          key={i}
          x={(i % 10) * 9 + 2}
          y={Math.floor(i / 10) * 9 + 4}
          width="7"
          height="7"
          rx="1.5"
          class={i < part * 40 ? 'churned' : 'kept'}
        />
      ))}
    </svg>
  );
}
