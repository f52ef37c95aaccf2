/* The recordings that the server has: state, figures, memory over time; two of them can be compared.
 *
 * Rows change by themselves while files are read and programs run. In the address: q (text), sort and
 * order, pick (two ids), sel=rec:ID for the details panel.
 */
import type { Recording } from '../api/types';
import { bytes, count, duration, group, plural, wallClock, wallClockShort } from '../model/format';
import {
  basename,
  commandText,
  failureText,
  findRecordings,
  isRecordingOrder,
  progressText,
  sortRecordings,
  stateOf,
} from '../model/recording';
import { select, selectionOf } from '../state/details';
import { copyText } from '../state/overlay';
import { recordings } from '../state/recordings';
import { go, set, setQuietly, useAddress } from '../state/router';
import { useSignal } from '../state/signal';
import { useTableCsv } from '../state/table_csv';
import { FindField, Foot } from '../widgets/controls';
import { Num } from '../widgets/figures';
import { Grid, type Column } from '../widgets/grid';
import { Note } from '../widgets/notes';
import { Sparkline } from '../widgets/sparkline';
import { CompareBar, pickedIds, togglePick } from './recordings_compare';

const COLUMNS: readonly Column[] = [
  { id: 'pick', title: <span class="sr-only">Pick for comparison</span>, class: 'chk' },
  { id: 'name', title: 'Program', sort: 'name' },
  { id: 'state', title: 'State', class: 'pad', sort: 'state' },
  { id: 'started', title: 'Started', class: 'm2', sort: 'started', hint: 'Wall clock, UTC' },
  { id: 'memory', title: 'Memory', class: 'pad m3', hint: 'Bytes alive over the run' },
  { id: 'peak', title: 'Peak', class: 'r', sort: 'peak', hint: 'Most bytes alive at one moment' },
  {
    id: 'leaked',
    title: 'Leaked',
    class: 'r leaked',
    sort: 'leaked',
    hint: 'Not freed when the recording ended; not proof of a mistake',
  },
  { id: 'allocs', title: 'Allocations', class: 'r m3', sort: 'allocs' },
  { id: 'file', title: 'File', class: 'r m2', sort: 'file', hint: 'Size of the file, CPU' },
];

export const openRecording = (r: Recording): void => {
  if (r.state !== 'failed') go({ rec: r.id, page: 'overview', params: {} });
};

export function RecordingsPage() {
  const all = useSignal(recordings);
  const { params } = useAddress();
  const text = params['q'] ?? '';
  const by = isRecordingOrder(params['sort']) ? params['sort'] : 'started';
  const isAscending = params['order'] === 'asc';
  const rows = sortRecordings(findRecordings(all ?? [], text), by, isAscending);
  const picked = pickedIds(params, all ?? []);
  const selection = selectionOf(params);
  const selected = selection?.kind === 'rec' ? rows.findIndex((r) => r.id === selection.key) : -1;
  const at = (i: number): Recording => rows[i] as Recording;
  useTableCsv('recordings.csv', () => csvRows(rows));
  if (all === null) return <div class="pad-note" aria-busy="true" />;
  return (
    <>
      <div class="toolbar">
        <h1>Recordings</h1>
        <span class="dim wide hint">
          {rows.length < all.length
            ? `${group(rows.length)} of ${plural(all.length, 'file')}`
            : plural(all.length, 'file')}
        </span>
        <FindField
          class="push"
          label="Program, command line, state"
          value={text}
          onChange={(q) => setQuietly({ q })}
        />
      </div>
      <Grid
        label="Recordings"
        class="recs"
        columns={COLUMNS}
        rows={rows.length}
        rowHeight={44}
        rowClass="two"
        rowKey={(i) => at(i).id}
        sort={{ by, isAscending }}
        onSort={(s) => set({ sort: s.by, order: s.isAscending ? 'asc' : null })}
        selected={selected}
        onSelect={(i) => select({ kind: 'rec', key: at(i).id })}
        onOpen={(i) => openRecording(at(i))}
        onKey={(i, e) => e.key === ' ' && togglePick(at(i), picked)}
        cells={(i) => <Cells r={at(i)} picked={picked} />}
        after={<After isEmpty={rows.length === 0} isNone={all.length === 0} text={text} />}
      />
      <CompareBar picked={picked} list={all} />
      <Foot
        left={plural(rows.length, 'recording')}
        right="Enter opens, Space picks two for a comparison"
      />
    </>
  );
}

function Cells({ r, picked }: { r: Recording; picked: readonly string[] }) {
  const state = stateOf(r);
  const isReady = r.state === 'ready';
  const second = r.state === 'failed' ? failureText(r) : commandText(r) || r.file;
  return (
    <>
      <span class="chk" role="gridcell">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={`Pick ${basename(r)} for comparison`}
          checked={picked.includes(r.id)}
          disabled={!isReady}
          onClick={(e) => {
            e.stopPropagation();
            togglePick(r, picked);
          }}
        />
      </span>
      <span class="two-l prog" role="gridcell" title={[r.cmdline?.join(' '), r.file].join('\n')}>
        <span>
          <b>{basename(r)}</b> {r.file !== basename(r) && <span class="dim">{r.file}</span>}
        </span>
        <span class={'dim' + (isReady ? ' code' : '')} title={second}>
          {second}
        </span>
      </span>
      <span class="two-l pad" role="gridcell">
        <span class={`state ${state.mark}`}>{state.word}</span>
        {state.note && <span class="dim sub">{state.note}</span>}
      </span>
      <span class="two-l m2" role="gridcell" title={r.start_ns ? wallClock(r.start_ns) : undefined}>
        <span>{r.start_ns ? wallClockShort(r.start_ns) : ''}</span>
        <span class="dim">{r.duration_ns !== undefined ? duration(r.duration_ns) : ''}</span>
      </span>
      {isReady ? <Figures r={r} /> : <Progress r={r} />}
      <span class="two-l r m2" role="gridcell">
        <span>{r.file_bytes !== undefined && <Num value={bytes(r.file_bytes)} />}</span>
        <span class="dim">{r.architecture ?? ''}</span>
      </span>
    </>
  );
}

function Figures({ r }: { r: Recording }) {
  return (
    <>
      <span class="graph m3" role="gridcell">
        {r.timeline && <Sparkline alive={r.timeline} />}
      </span>
      <span class="r" role="gridcell">
        <Num value={bytes(r.peak_bytes ?? 0)} />
      </span>
      <span class="r leaked" role="gridcell">
        {r.growing ? (
          <span class="dim" title="Known when the program has ended">
            not yet
          </span>
        ) : (
          <Num value={bytes(r.leaked_bytes ?? 0)} />
        )}
      </span>
      <span class="r m3" role="gridcell">
        <Num value={count(r.allocations ?? 0)} />
      </span>
    </>
  );
}

/* Across the figures: how far reading the file has come. Nothing for a file that cannot be opened. */
function Progress({ r }: { r: Recording }) {
  return (
    <span class="loading" role="gridcell" aria-colspan={4}>
      {r.state === 'loading' && (
        <>
          <span class="dim">
            <span>{progressText(r)}</span>
          </span>
          <span class="progress">
            <i style={{ width: `${r.percent}%` }} />
          </span>
        </>
      )}
    </span>
  );
}

const RECORD = 'memory-profiler-cli run -- ./your-program --its --options';

/* Below the last row: nothing found, nothing there, and how to record another program. */
function After(p: { isEmpty: boolean; isNone: boolean; text: string }) {
  return (
    <>
      {p.isEmpty && (
        <div class="pad-note">
          {p.isNone ? (
            <NoRecording />
          ) : (
            <Note
              title="No recording matches."
              actions={
                <button type="button" class="btn" onClick={() => set({ q: null })}>
                  Remove “{p.text}”
                </button>
              }
            >
              No program, command line, file or state contains “{p.text}”.
            </Note>
          )}
        </div>
      )}
      <section class="howto" id="how-to-record" aria-label="Record another program">
        <h2>Record another program</h2>
        <div class="command">
          <pre class="code" tabIndex={0}>
            {RECORD}
          </pre>
          <button type="button" class="btn quiet" onClick={() => void copyText(RECORD, 'Command')}>
            Copy
          </button>
        </div>
        <p class="dim">
          The file can be opened at once, while the program runs. A program that is killed loses
          nothing.
        </p>
      </section>
    </>
  );
}

export const NoRecording = () => (
  <Note title="No recording is loaded.">
    Start the server with one: <span class="code">memory-profiler-cli server FILE...</span>
  </Note>
);

const csvRows = (rows: readonly Recording[]) => [
  [
    'program',
    'command_line',
    'file',
    'state',
    'started_at',
    'duration_ns',
    'peak_bytes',
    'leaked_bytes',
    'allocations',
    'file_bytes',
    'architecture',
  ],
  ...rows.map((r) => [
    basename(r),
    r.cmdline?.join(' '),
    r.file,
    stateOf(r).word,
    r.started_at,
    r.duration_ns,
    r.peak_bytes,
    r.leaked_bytes,
    r.allocations,
    r.file_bytes,
    r.architecture,
  ]),
];
