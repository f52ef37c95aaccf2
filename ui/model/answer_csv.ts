/* An answer of the server as the rows of a table, for CSV: the first row names the columns. Pure.
 *
 * Three forms: a list of objects (functions, chains, mappings), lists of equal length that are points over
 * time, and a tree whose nodes name their parent.
 */
import type { Cell } from './csv';

type Row = Readonly<Record<string, unknown>>;
type Rows = (readonly Cell[])[];

const isObject = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isNumbers = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every((v) => typeof v === 'number');

/* { cost: { bytes: 1 }, blame: { line: 2 }, key: 3 } -> bytes 1, blame_line 2, key 3; lists are left out. */
function flat(row: Row, prefix = ''): [name: string, cell: Cell][] {
  return Object.entries(row).flatMap(([key, value]) => {
    if (Array.isArray(value)) return [];
    if (isObject(value)) return flat(value, key === 'cost' ? prefix : `${prefix}${key}_`);
    return [[prefix + key, typeof value === 'boolean' ? String(value) : (value as Cell)]];
  });
}

function ofObjects(list: readonly Row[]): Rows {
  const cells = list.map((row) => new Map(flat(row)));
  const names = [...new Set(cells.flatMap((row) => [...row.keys()]))];
  return [names, ...cells.map((row) => names.map((name) => row.get(name)))];
}

interface Series {
  name: string;
  blame: { function: string | null } | null;
  values: readonly number[];
}

/* Points over time, with those of each function, package or thread behind them. */
function ofPoints(answer: Row): Rows {
  const columns = Object.entries(answer).filter((e): e is [string, number[]] => isNumbers(e[1]));
  const series = (answer['series'] ?? []) as readonly Series[];
  const names = series.map((s) => s.blame?.function ?? s.name);
  const [from, step] = [Number(answer['from_ns']), Number(answer['bucket_ns'])];
  const n = columns[0]?.[1].length ?? 0;
  return [
    ['from_ns', ...columns.map(([name]) => name), ...names],
    ...Array.from({ length: n }, (_, i) => [
      from + i * step,
      ...columns.map(([, values]) => values[i]),
      ...series.map((s) => s.values[i]),
    ]),
  ];
}

/* Nodes in the order of the answer; node 0 is the whole. */
function ofTree(answer: Row): Rows {
  const names = answer['names'] as readonly Row[];
  const name = answer['name'] as readonly number[];
  const parent = answer['parent'] as readonly number[];
  const columns = Object.entries(answer).filter(
    (e): e is [string, number[]] =>
      isNumbers(e[1]) && e[1].length === name.length && e[0] !== 'name' && e[0] !== 'parent',
  );
  const of = ['function', 'source', 'line', 'module'];
  return [
    ['node', 'parent', ...of, ...columns.map(([title]) => title)],
    ...name.map((at, i) => [
      i,
      i ? parent[i] : null,
      ...of.map((key) => (i ? (names[at]?.[key] as Cell) : null)),
      ...columns.map(([, values]) => values[i]),
    ]),
  ];
}

/* `list`: the member of the answer that is the table, where it is a list of objects. */
export function answerRows(answer: Row, list: string | null): Rows {
  if (list !== null) return ofObjects((answer[list] ?? []) as readonly Row[]);
  return Array.isArray(answer['names']) ? ofTree(answer) : ofPoints(answer);
}
