/* Source: a file with the cost of every line, or the list of files.
 *
 * Parameters of the page: file (as the recording names it), line (the selected one), q (part of a file's
 * name, in the list), order=asc.
 */
import { useMemo } from 'preact/hooks';
import type { GroupRows, Source } from '../api/types';
import { costKind, costOf, type CostId, type CostValues } from '../model/costs';
import { plural } from '../model/format';
import { baseName } from '../model/names';
import {
  heat,
  hotRows,
  hottestRow,
  lineValue,
  sourceRows,
  TAB_COLUMNS,
  widestLine,
  type SourceRow,
} from '../model/source_lines';
import { isDetailsOpen } from '../state/details';
import { copyText } from '../state/overlay';
import { useQuery } from '../state/query';
import { hrefWith, setQuietly, useAddress, useCost } from '../state/router';
import { editorLink } from '../state/settings';
import { CostSwitch, Foot } from '../widgets/controls';
import { CostCell } from '../widgets/figures';
import { Grid, type Column } from '../widgets/grid';
import { CopyPath } from '../widgets/copy_path';
import { Icon } from '../widgets/icons';
import { Banner, ErrorNote, Note, Waiting } from '../widgets/notes';
import { FileList } from './source_files';

export function SourcePage() {
  const file = useAddress().params['file'];
  return file ? <FilePage file={file} key={file} /> : <FileList />;
}

function FilePage({ file }: { file: string }) {
  const { params } = useAddress();
  const cost = useCost();
  const asked = useQuery<Source>('source', { file }, { isMain: true });
  /* shares are of all that matches, as everywhere */
  const all = useQuery<GroupRows>('groups', { by: 'stack', count: 0 });
  const source = asked.data?.file === file ? asked.data : null;
  const rows = useMemo(() => (source ? sourceRows(source) : []), [source]);
  const hottest = hottestRow(rows, cost);
  const line = Number(params['line'] ?? 0);
  const at = line ? rows.findIndex((r) => r.line === line) : hottest;
  const choose = (i: number) => {
    const row = rows[i];
    if (row) setQuietly({ line: String(row.line), sel: null });
  };
  return (
    <>
      <FileBar file={file} source={source} line={rows[at]?.line ?? 1} />
      <Waiting asked={asked} what="Adding up lines" />
      {asked.error ? (
        <div class="pad-note">
          {asked.error.status === 404 ? (
            <Note title={`No frame of this recording is in ${baseName(file)}.`} />
          ) : (
            <ErrorNote error={asked.error} again={asked.again} />
          )}
        </div>
      ) : source && rows.length === 0 ? (
        <div class="pad-note">
          <Note title={`No allocation that matches passes through ${baseName(file)}.`}>
            The file is not on this machine either, so there is nothing to show.
          </Note>
        </div>
      ) : (
        <>
          {source && !source.found && <NotHere file={file} reason={source.reason} />}
          {source?.found && source.reason && (
            <div class="banner-slot">
              <Banner kind="warn" mark="warn" title={sentence(source.reason)} />
            </div>
          )}
          <CodeTable
            {...{ rows, cost, at, choose }}
            total={all.data?.total ?? null}
            isKnown={source !== null}
            hasText={source?.found ?? true}
            isStale={asked.isStale && source !== null}
            most={rows[hottest] ? Math.abs(lineValue(rows[hottest], cost)) : 0}
            reveal={`${file}:${line || (rows[hottest]?.line ?? '')}`}
          />
          <CodeFoot rows={rows} cost={cost} at={at} choose={choose} />
        </>
      )}
    </>
  );
}

function FileBar(p: { file: string; source: Source | null; line: number }) {
  const a = useAddress();
  const folder = p.file.slice(0, p.file.length - baseName(p.file).length);
  return (
    <div class="toolbar">
      <a
        class="btn quiet icon"
        href={hrefWith(a, { file: null, line: null })}
        aria-label="All files"
        title="All files"
      >
        <Icon name="back" />
      </a>
      <h1 class="file-name" title={p.file}>
        {baseName(p.file)} <small class="dim">{folder}</small>
      </h1>
      {p.source?.found && (
        <>
          <a class="link wide" href={editorLink(p.source.path ?? p.file, p.line)}>
            Open in editor
          </a>
          <CopyPath path={p.source.path ?? p.file} line={p.line} />
        </>
      )}
      <span class="push">
        <CostSwitch />
      </span>
    </div>
  );
}

const COMMAND = 'memory-profiler-cli server --source DIR FILE';

/* The words of the design, and how to make it better. */
function NotHere({ file, reason }: { file: string; reason: string | null }) {
  const isAway = !reason || reason.startsWith('it is not on this machine');
  return (
    <div class="pad-note not-here">
      <Note
        title={`${baseName(file)} ${isAway ? 'is not on this machine' : 'cannot be shown'}.`}
        actions={
          isAway && (
            <button type="button" class="btn" onClick={() => void copyText(COMMAND, 'The command')}>
              <Icon name="copy" /> Copy the command
            </button>
          )
        }
      >
        {isAway ? (
          <>
            Set where sources are: <span class="code">{COMMAND}</span>, or{' '}
            <span class="code">--source FROM=DIR</span> for paths that begin with FROM.
          </>
        ) : (
          sentence(reason)
        )}{' '}
        Below are the lines that are known.
      </Note>
    </div>
  );
}

/* "it was changed" -> "It was changed." */
const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1) + '.';

/* ---- the table ---- */

const ROW_PX = 20;

interface TableProps {
  rows: readonly SourceRow[];
  cost: CostId;
  at: number;
  choose: (row: number) => void;
  total: CostValues | null;
  isKnown: boolean;
  hasText: boolean;
  isStale: boolean;
  most: number;
  reveal: string;
}

function CodeTable(p: TableProps) {
  const kind = costKind(p.cost);
  const columns: readonly Column[] = [
    { id: 'line', title: 'Line', class: 'r' },
    { id: 'cost', title: kind.name, class: 'r', hint: kind.hint },
    { id: 'text', title: p.hasText ? 'Source' : 'Function', class: 'pad' },
  ];
  const columnsWide = useMemo(() => widestLine(p.rows), [p.rows]);
  const cells = (i: number) => {
    const row = p.rows[i];
    if (!row) return null;
    const value = lineValue(row, p.cost);
    const warmth = heat(row, p.cost, p.most);
    const warm = { '--warmth': `${(100 * warmth).toFixed(1)}%` };
    return (
      <>
        {warmth > 0 && <i class={`heat c-${p.cost}`} style={{ opacity: warmth.toFixed(3) }} />}
        <span class={`fixed ln r c-${p.cost}`} style={warm} role="gridcell">
          {row.line}
        </span>
        <span class={`fixed c-${p.cost}`} style={warm} role="gridcell">
          {row.known && (
            <CostCell
              class={value ? '' : 'none'}
              cost={p.cost}
              value={value}
              total={p.total ? costOf(p.total, p.cost) : 0}
              hasShare
              isBare
            />
          )}
        </span>
        {row.text === null ? (
          <span class="text dim" role="gridcell">
            {row.known?.function ?? ''}
          </span>
        ) : (
          <span class="text" role="gridcell">
            {row.text}
          </span>
        )}
      </>
    );
  };
  return (
    <div class="code-table" style={{ '--columns': columnsWide, '--tab': TAB_COLUMNS }}>
      <Grid
        label="Source"
        class="code-rows"
        isMain
        cost={p.cost}
        columns={columns}
        rows={p.isKnown ? p.rows.length : 30}
        rowHeight={ROW_PX}
        rowProps={(i) => ({
          onClick: () => {
            if (p.rows[i]?.known) isDetailsOpen.set(true);
            p.choose(i);
          },
        })}
        cells={cells}
        selected={p.at}
        goTo={{ row: p.at, turn: p.reveal }}
        onSelect={p.choose}
        isStale={p.isStale}
      />
    </div>
  );
}

const HOT_WORDS: Record<CostId, string> = {
  peak: 'bytes at the peak',
  leaked: 'leaked bytes',
  allocs: 'allocations',
  temp: 'temporary allocations',
  bytes: 'allocated bytes',
};

/* Leads from one line with a cost to the next. */
function CodeFoot(p: {
  rows: readonly SourceRow[];
  cost: CostId;
  at: number;
  choose: (row: number) => void;
}) {
  const hot = hotRows(p.rows, p.cost);
  const before = hot.filter((i) => i < p.at);
  const after = hot.filter((i) => i > p.at);
  const step = (to: number | undefined, label: string, icon: 'back' | 'right') => (
    <button
      type="button"
      class="btn quiet icon tiny"
      aria-label={label}
      title={label}
      disabled={to === undefined}
      onClick={() => to !== undefined && p.choose(to)}
    >
      <Icon name={icon} />
    </button>
  );
  return (
    <Foot
      left={
        <span class="hot-steps">
          {plural(hot.length, 'line')} with {HOT_WORDS[p.cost]}
          {step(before[before.length - 1], 'Line with a cost before', 'back')}
          {step(after[0], 'Next line with a cost', 'right')}
        </span>
      }
      right="A line has the cost of everything that it calls; shares are of all that matches"
    />
  );
}
