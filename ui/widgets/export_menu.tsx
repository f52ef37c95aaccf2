/* What the Export menu offers for the current filter: files, a curl command, a command line. The commands
 * of the search box are made from the same lists. */
import { apiUrl, ask, curlOf, downloadUrl } from '../api/client';
import type { Recording, Summary } from '../api/types';
import { costOfAddress, type Address, type PageId } from '../model/address';
import { answerRows } from '../model/answer_csv';
import { commandLine, SORT_WORDS } from '../model/command_line';
import { apiFilter, hasFilter } from '../model/filters';
import { copyText, say } from '../state/overlay';
import { openInConsole } from '../state/console';
import { pageRequest } from '../state/page_request';
import { downloadTable, tableCsv } from '../state/table_csv';
import type { MenuItem } from './floating';

/* Formats of `export -f`, all of them, with the words of the menu. */
export const EXPORT_FORMATS: readonly (readonly [format: string, words: string, file: string])[] = [
  ['flamegraph-svg', 'Flame graph (SVG)', 'flamegraph.svg'],
  ['html', 'Report in one file (HTML)', 'report.html'],
  ['collapsed', 'Collapsed stacks', 'stacks.collapsed'],
  ['ascii-tree', 'Tree as text', 'tree.txt'],
  ['heaptrack', 'heaptrack', 'heaptrack.txt'],
  ['pprof', 'pprof', 'profile.pb.gz'],
  ['speedscope', 'speedscope', 'profile.speedscope.json'],
  ['massif', 'massif', 'massif.out'],
  ['dhat', 'DHAT', 'dhat.json'],
  ['jemalloc', 'jemalloc heap profile', 'profile.heap'],
  ['json-groups', 'Call sites (JSON)', 'call-sites.json'],
  ['csv-groups', 'Call sites (CSV)', 'call-sites.csv'],
  ['json', 'Allocations (JSON)', 'allocations.json'],
  ['csv', 'Allocations (CSV)', 'allocations.csv'],
  ['replay', 'Replay', 'allocations.replay'],
];

/* Pages whose table is one of the formats. */
const PAGE_TABLES: Partial<Record<PageId, string>> = { sites: 'csv-groups', allocations: 'csv' };

export interface ExportFile {
  label: string;
  href: string;
  file: string;
}

export function exportFiles(recording: Recording, a: Address): ExportFile[] {
  const query = { ...apiFilter(a.params), cost: SORT_WORDS[costOfAddress(a)] };
  return EXPORT_FORMATS.map(([format, label, file]) => ({
    label,
    file,
    href: downloadUrl(`/data/${recording.id}/export/${format}/${file}`, query),
  }));
}

/* Pages whose table is made of the answer that they show: the member that is the list, if there is one. */
const ANSWERS: Partial<Record<PageId, string | null>> = {
  timeline: null,
  bottomup: null,
  topdown: null,
  callers: 'functions',
  sizes: 'buckets',
  threads: 'groups',
  chains: 'rows',
  map: 'maps',
  source: 'files',
};
const ALL_ROWS = '100000'; // instead of the rows on screen

async function downloadAnswer(url: string, list: string | null, file: string): Promise<void> {
  const all = new URL(url, location.href);
  if (all.searchParams.has('skip')) {
    all.searchParams.set('skip', '0');
    all.searchParams.set('count', ALL_ROWS);
  }
  try {
    const rows = answerRows(await ask<Record<string, unknown>>(all.pathname + all.search), list);
    downloadTable({ file, rows: () => rows });
  } catch {
    say('The table could not be read.');
  }
}

/* The table of the page: made by the server, by the page itself, or of what it asked for. */
function tableItem(recording: Recording, a: Address): MenuItem[] {
  const label = a.page === 'timeline' ? 'These charts (CSV)' : 'This table (CSV)';
  const own = tableCsv.value;
  if (own) return [{ label, act: () => downloadTable(own) }];
  const list = a.page === 'source' && a.params['file'] ? 'lines' : ANSWERS[a.page];
  const url = pageRequest.value;
  if (list !== undefined && url !== null)
    return [{ label, act: () => void downloadAnswer(url, list, `${a.page}.csv`) }];
  const at = EXPORT_FORMATS.findIndex(([format]) => format === PAGE_TABLES[a.page]);
  const file = exportFiles(recording, a)[at];
  return file ? [{ label, href: file.href, download: file.file }] : [];
}

/* Memory that belongs to static initialisers: allocated by constants and by statics of the program. */
const STATICS = [
  ['dynamic_constants_ascii_tree', 'What constants allocate (text)', 'constants.txt'],
  ['dynamic_statics_ascii_tree', 'What statics allocate (text)', 'statics.txt'],
] as const;

const staticItems = (recording: Recording, a: Address): MenuItem[] =>
  STATICS.map(([path, label, file]) => ({
    label,
    href: downloadUrl(`/data/${recording.id}/${path}`, apiFilter(a.params)),
    download: file,
  }));

export interface CopyCommand {
  label: string;
  act: () => void;
}

export function copyCommands(recording: Recording, a: Address): CopyCommand[] {
  const filter = apiFilter(a.params);
  const groups = () => curlOf(`/data/${recording.id}/allocation_groups`, filter);
  const curl = () => (pageRequest.value === null ? groups() : curlOf(pageRequest.value));
  const copyLine = async () => {
    const { suppressions } = await ask<Summary>(apiUrl(`${recording.id}/summary`));
    const patterns = suppressions.map((s) => s.pattern);
    const line = commandLine(recording.file, filter, costOfAddress(a), a.page, patterns);
    await copyText(line, 'Command line');
  };
  const fail = () => say('The server did not say which leaks it leaves out: nothing was copied.');
  return [
    { label: 'Copy as curl', act: () => void copyText(curl(), 'curl command') },
    { label: 'Copy as command line', act: () => void copyLine().catch(fail) },
  ];
}

/* The current filter as a script. */
export const scriptCommand = (recording: Recording, a: Address): CopyCommand => ({
  label: 'Open in console',
  act: () => void openInConsole(recording.id, apiFilter(a.params)),
});

export function exportItems(recording: Recording, a: Address): MenuItem[] {
  return [
    {
      label: hasFilter(a.params) ? 'With the current filter' : 'The whole recording',
      isHeading: true,
    },
    ...tableItem(recording, a),
    ...exportFiles(recording, a).map((f) => ({ label: f.label, href: f.href, download: f.file })),
    { label: 'Static initialisers', isHeading: true },
    ...staticItems(recording, a),
    { label: 'Script', isHeading: true },
    scriptCommand(recording, a),
    { label: 'Copy', isHeading: true },
    ...copyCommands(recording, a),
  ];
}
