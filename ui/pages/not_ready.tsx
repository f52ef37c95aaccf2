/* Instead of a page: no recording, one that is still read, one that cannot be opened, one without a
 * single allocation. */
import type { ComponentChildren } from 'preact';
import { isExported } from '../api/client';
import type { Recording } from '../api/types';
import type { PageId } from '../model/address';
import { EXPORTED_PAGES } from '../model/exported_questions';
import { duration } from '../model/format';
import { basename, failureText, progressText } from '../model/recording';
import { connection, recordings } from '../state/recordings';
import { goPage, useAddress } from '../state/router';
import { useSignal } from '../state/signal';
import { Note } from '../widgets/notes';
import { NoRecording } from './recordings';

/* Can the page itself be shown? */
export const canShow = (page: PageId, r: Recording | null): boolean =>
  isExported
    ? EXPORTED_PAGES.includes(page) && r !== null
    : page === 'recordings' || (r?.state === 'ready' && r.allocations !== 0);

const ToList = ({ children = 'All recordings' }: { children?: ComponentChildren }) => (
  <button type="button" class="btn" onClick={() => goPage('recordings')}>
    {children}
  </button>
);

export function NotReady({ recording: r }: { recording: Recording | null }) {
  const list = useSignal(recordings);
  if (useSignal(connection).isRefused)
    return (
      <div class="pad-note">
        <Note title="A token is needed.">
          Open the address that the server printed when it started: it ends with{' '}
          <span class="code">?token=…</span>
        </Note>
      </div>
    );
  if (isExported && list !== null)
    return (
      <div class="pad-note">
        <Note title="This page is not part of the exported file.">
          Open the recording itself: <span class="code">memory-profiler-cli server FILE</span>
        </Note>
      </div>
    );
  return (
    <div class="pad-note" aria-busy={list === null}>
      {list !== null && (r ? <StateOf r={r} /> : <NoneOf count={list.length} />)}
    </div>
  );
}

/* The address names a recording that is not there, or there is none at all. */
function NoneOf({ count }: { count: number }) {
  const { rec } = useAddress();
  if (!count) return <NoRecording />;
  return (
    <Note title="This recording is not on the server." actions={<ToList />}>
      The address names <span class="code">{rec}</span>. Start the server with that file, too, or
      choose another recording.
    </Note>
  );
}

function StateOf({ r }: { r: Recording }) {
  if (r.state === 'loading')
    return (
      <Note title={`Reading ${basename(r)}.`} actions={<ToList />}>
        {progressText(r)}. Figures are shown when all of it is read; other recordings can be opened
        meanwhile.
        <span
          class="progress"
          role="progressbar"
          aria-label={`Reading ${basename(r)}`}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.floor(r.percent)}
        >
          <i style={{ width: `${r.percent}%` }} />
        </span>
      </Note>
    );
  if (r.state === 'failed')
    return (
      <Note title={`${r.file} cannot be opened.`} actions={<ToList>Open another</ToList>}>
        {failureText(r)}
      </Note>
    );
  if (r.complete === false && !r.growing)
    return (
      <Note
        title="The recording holds no allocation that can be read."
        actions={<ToList>Open another</ToList>}
      >
        Its end is missing or damaged: the file was cut off or changed, or the program was killed
        before it allocated. <span class="code">memory-profiler-cli info {r.file}</span> lists
        where.
      </Note>
    );
  return r.growing ? (
    <Note title="The program has not allocated anything yet.">
      It has been recorded for {duration(r.duration_ns ?? 0)}. This page follows.
    </Note>
  ) : (
    <Note
      title="The program allocated nothing while it was recorded."
      actions={<ToList>How to record</ToList>}
    >
      It ran {duration(r.duration_ns ?? 0)}. If it starts another program, record that one (
      <span class="code">MEMORY_PROFILER_TRACK_CHILD_PROCESSES=1</span>).
    </Note>
  );
}
