/* What the Export menu offers for the current filter: files, a curl command, a command line. */
import { downloadUrl, queryText } from '../api/client';
import type { Recording } from '../api/types';
import { costOfAddress, type Address } from '../model/address';
import { commandLine, SORT_WORDS } from '../model/command_line';
import { apiFilter, hasFilter } from '../model/filters';
import { copyText } from '../state/overlay';
import type { MenuItem } from './floating';

/* Formats of `export -f`, with the words of the menu. */
const FORMATS: readonly (readonly [format: string, words: string, file: string])[] = [
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
  ['json', 'JSON', 'allocations.json'],
  ['csv', 'CSV', 'allocations.csv'],
  ['replay', 'Replay', 'allocations.replay'],
];

export function exportItems(recording: Recording, a: Address): MenuItem[] {
  const filter = apiFilter(a.params);
  const cost = costOfAddress(a);
  const curl = () => {
    const query = queryText(filter);
    const path = `/data/${recording.id}/allocation_groups${query ? '?' + query : ''}`;
    return `curl '${location.origin}${path}'`;
  };
  return [
    {
      label: hasFilter(a.params) ? 'With the current filter' : 'The whole recording',
      isHeading: true,
    },
    ...FORMATS.map(([format, words, file]) => ({
      label: words,
      href: downloadUrl(`/data/${recording.id}/export/${format}/${file}`, {
        ...filter,
        cost: SORT_WORDS[cost],
      }),
      download: file,
    })),
    { label: 'Copy', isHeading: true },
    { label: 'Copy as curl', act: () => void copyText(curl(), 'curl command') },
    {
      label: 'Copy as command line',
      act: () => void copyText(commandLine(recording.file, filter, cost), 'Command line'),
    },
  ];
}
