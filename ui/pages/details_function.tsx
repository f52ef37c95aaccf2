/* The details panel of a function: its costs, its memory over time, its lines, its heaviest stacks.
 *
 * `value` is the function's full name. Figures are of what the filters of the address let through; the
 * graph adds a condition on the function's name. The API has one such condition, so a filter on functions,
 * files or modules that is active gives way there, and the panel says so.
 */
import { useState } from 'preact/hooks';
import type { Buckets, Calls, FrameText, GroupRows, LineCost, Source, Stack } from '../api/types';
import type { Params } from '../model/address';
import { largestFirst } from '../model/calls';
import { costKind, costOf, type CostId } from '../model/costs';
import { apiFilter, askedSpanNs, rangeOf } from '../model/filters';
import { change, bytes, exact, figure, group, join } from '../model/format';
import {
  baseName,
  codeName,
  exactRegex,
  frameLocation,
  OWNER_WORDS,
  ownerOf,
  splitName,
} from '../model/names';
import { notFunction, onlyFunction } from '../model/only_this';
import { excerpt, unindent } from '../model/source_excerpt';
import { runningSum } from '../model/strip';
import { select } from '../state/details';
import { useQuery, type Asked } from '../state/query';
import { useRecording } from '../state/recordings';
import { hrefPage, set, useAddress, useCost } from '../state/router';
import { editorLink } from '../state/settings';
import { Block } from '../widgets/details';
import { CostBars } from '../widgets/figures';
import { CopyPath } from '../widgets/copy_path';
import { Icon } from '../widgets/icons';
import { StackList } from '../widgets/names';
import { ErrorNote, Note } from '../widgets/notes';
import { Sparkline } from '../widgets/sparkline';
import { GraphWords } from './graph_words';
import { GRAPH_POINTS } from './site_parts';

/* Stacks with this function. */
const ONE_FRAME = ['source_regex', 'module_regex'];
function onlyIt(params: Params, name: string): Record<string, string | null> {
  const out: Record<string, string | null> = { function_regex: exactRegex(name) };
  for (const key of ONE_FRAME) if (params[key]) out[key] = null;
  return out;
}

/* Does the condition on the name replace one of the reader's? */
function isReplaced(params: Params, name: string): boolean {
  const filter = params['function_regex'];
  return (
    (filter !== undefined && filter !== exactRegex(name)) || ONE_FRAME.some((key) => params[key])
  );
}

export function FunctionDetails({ value: name }: { value: string }) {
  const { params } = useAddress();
  const calls = useQuery<Calls>('callers', { function: name });
  const all = useQuery<GroupRows>('groups', { by: 'stack', count: 0 });
  const frame = calls.data?.function.frame ?? null;
  const cost = useCost();
  return (
    <div class={calls.isStale ? 'stale' : undefined}>
      <Title name={name} frame={frame && atHeaviestLine(frame, calls.data?.lines ?? [], cost)} />
      <Actions name={name} />
      {calls.error ? (
        <Block>
          <CallsError asked={calls} />
        </Block>
      ) : (
        <>
          <Block title="Cost with everything it calls">
            {calls.data && all.data ? (
              <CostBars
                cost={calls.data.function.cost}
                total={all.data.total}
                isChange={!!calls.data.function.before}
              />
            ) : (
              <div class="costs-room" />
            )}
          </Block>
          <AliveOverTime name={name} />
          {frame?.source && <SourceBlock frame={frame} lines={calls.data?.lines ?? []} />}
          <HeaviestStack name={name} key={name} />
          {isReplaced(params, name) && (
            <p class="dim where">
              The graph is of all stacks with this function: other conditions on functions, files
              and modules are left out there.
            </p>
          )}
        </>
      )}
    </div>
  );
}

/* The frame at the line of the function that costs most. */
function atHeaviestLine(frame: FrameText, lines: readonly LineCost[], cost: CostId): FrameText {
  const own = lines.filter((l) => (l.source ?? frame.source) === frame.source);
  const [first] = largestFirst(own, cost);
  return first && costOf(first.cost, cost) > 0 ? { ...frame, line: first.line } : frame;
}

function CallsError({ asked }: { asked: Asked<unknown> }) {
  if (!asked.error) return null;
  if (asked.error.status === 404)
    return <Note title="No stack of this function matches the filters." />;
  return <ErrorNote error={asked.error} again={asked.again} />;
}

function Title({ name, frame }: { name: string; frame: FrameText | null }) {
  const [path, last] = splitName(name);
  const library = frame?.package ?? (frame?.module ? baseName(frame.module) : '');
  const where = frame
    ? [frameLocation(frame), library, OWNER_WORDS[ownerOf(frame.class)]].filter(Boolean)
    : [];
  return (
    <Block>
      <div class="block-title" title={name}>
        {path && <small>{path}</small>}
        {last}
      </div>
      <div class="dim where" title={frame?.source ?? undefined}>
        {where.join(', ') || '\u00a0'}
      </div>
    </Block>
  );
}

function Actions({ name }: { name: string }) {
  const a = useAddress();
  return (
    <section class="block actions">
      <button
        type="button"
        class="btn"
        title="Only this (O)"
        onClick={() => set(onlyFunction(name))}
      >
        Only this
      </button>
      <button
        type="button"
        class="btn"
        title="Not this (X)"
        onClick={() => set(notFunction(a.params, name))}
      >
        Not this
      </button>
      <a class="btn" href={hrefPage(a, 'sites', onlyFunction(name))}>
        Call sites
      </a>
      <a class="btn" href={hrefPage(a, 'allocations', onlyFunction(name))}>
        Allocations
      </a>
    </section>
  );
}

/* ---- alive over time ---- */

/* For this question from and to are the time that is shown, so the range is asked for as the window in
 * which blocks were allocated. A window of the reader's own stays. */
function timeOf(params: Params): Record<string, string | null> {
  const range = rangeOf(params);
  if (!range || range.meaning === 'end') return { from: null, to: null };
  if (params['window_from'] || params['window_to']) return {};
  const { from = null, to = null } = apiFilter(params);
  return { from, to, window_from: from, window_to: to, allocated: 'inside' };
}

function AliveOverTime({ name }: { name: string }) {
  const a = useAddress();
  const run = useRecording()?.duration_ns ?? 1;
  const time = timeOf(a.params);
  const query = { ...onlyIt(a.params, name), ...time, buckets: GRAPH_POINTS, base: null };
  const { data, isStale } = useQuery<Buckets>('timeline', query);
  const most = data ? Math.max(0, ...data.max_bytes) : 0;
  return (
    <Block
      title={time['from'] ? 'Alive in the range' : 'Alive over time'}
      right={data && <span title={exact(most, 'bytes')}>{join(bytes(most))} at most</span>}
    >
      <a
        class={'alive' + (isStale ? ' stale' : '')}
        href={hrefPage(a, 'timeline', onlyFunction(name))}
        title="Show on the Timeline"
        aria-label={`Memory of this function over time, ${join(bytes(most))} at most`}
      >
        {data ? (
          <Sparkline alive={data.last_bytes} leaked={runningSum(data.leaked_bytes)} />
        ) : (
          <span class="skel" />
        )}
      </a>
      {data && (
        <GraphWords
          of={time['from'] ? 'Of blocks allocated in it, at' : 'At'}
          spanNs={time['from'] ? askedSpanNs(a.params, run) : run}
          shown={Math.max(0, ...data.last_bytes)}
          most={most}
        />
      )}
    </Block>
  );
}

/* ---- source ---- */

function SourceBlock({ frame, lines }: { frame: FrameText; lines: readonly LineCost[] }) {
  const a = useAddress();
  const cost = useCost();
  const file = frame.source ?? '';
  /* only its text: what lines cost is known, and the text stays whatever the filters */
  const { data } = useQuery<Source>('source', { file }, { isFiltered: false });
  const kind = costKind(cost);
  const values = new Map(
    lines.filter((l) => (l.source ?? file) === file).map((l) => [l.line, costOf(l.cost, cost)]),
  );
  const source = data?.file === file ? data : null;
  const hasText = source !== null && source.found && source.first_line === 1;
  const shown = excerpt(values, hasText ? source.text : null);
  const texts = unindent(shown.map((l) => l.text));
  const heaviest = shown.reduce((best, l) => (l.value > best.value ? l : best), {
    line: frame.line ?? 1,
    value: 0,
  });
  const href = (line: number) => hrefPage(a, 'source', { file, line: String(line) });
  const write = a.params['base'] ? change : figure;
  return (
    <Block
      title={`Source, ${kind.name.toLowerCase()} per line`}
      right={
        <a class="link" href={editorLink(source?.path ?? file, heaviest.line)}>
          Open in editor
        </a>
      }
    >
      {shown.length > 0 ? (
        <div class={`source c-${cost}`}>
          {shown.map((l, i) => (
            <a
              key={l.line}
              class={(l.value ? 'hot' : '') + (l.isAfterGap ? ' gap' : '')}
              href={href(l.line)}
              title={`${texts[i] ?? ''}\nClick to show the file`}
            >
              <span>{l.line}</span>
              <span>{texts[i] ?? ''}</span>
              {l.value !== 0 && (
                <b title={exact(l.value, kind.unit)}>{join(write(l.value, kind.unit))}</b>
              )}
            </a>
          ))}
        </div>
      ) : (
        <p class="dim where">No line of it has this cost.</p>
      )}
      <p class="where links">
        <a class="link" href={href(heaviest.line)}>
          Show file
        </a>
        <CopyPath path={source?.path ?? file} line={heaviest.line} />
      </p>
      {source && !source.found && (
        <p class="dim where">
          {baseName(file)} is not on this machine.{' '}
          <a class="link" href={href(heaviest.line)}>
            Set where sources are
          </a>
        </p>
      )}
    </Block>
  );
}

/* ---- heaviest stack ---- */

/* The stacks with this function, of those that the page adds up: a search in figures that the server has
 * already. At the peak they go by what was alive at the moment of the peak of everything that matches, not
 * at the peak of this function. */
function useStacks(name: string, cost: CostId, skip: number): Asked<GroupRows> {
  return useQuery<GroupRows>('groups', {
    by: 'stack',
    find_regex: exactRegex(name),
    sort_by: costKind(cost).field,
    order: 'dsc',
    skip,
    count: 1,
    base: null,
  });
}

function HeaviestStack({ name }: { name: string }) {
  const cost = useCost();
  const { params } = useAddress();
  const filter = JSON.stringify([apiFilter(params), cost]);
  const [chosen, setChosen] = useState({ filter, index: 0 });
  const index = chosen.filter === filter ? chosen.index : 0;
  const { data, isStale } = useStacks(name, cost, index);
  const row = data?.groups[0];
  const stack = useQuery<Stack>(
    `stack/${row?.key ?? 0}`,
    {},
    {
      isFiltered: false,
      isReady: row !== undefined,
    },
  );
  const total = data?.total_count ?? 0;
  const frames = row ? (stack.data?.frames ?? []) : [];
  const go = (to: number) => setChosen({ filter, index: to });
  if (data && !row) return null;
  return (
    <Block
      title="Heaviest stack"
      right={
        data && (
          <>
            {group(index + 1)} of {group(total)}
            <Step label="Heavier stack" icon="back" to={index > 0 ? () => go(index - 1) : null} />
            <Step
              label="Next stack"
              icon="right"
              to={index + 1 < total ? () => go(index + 1) : null}
            />
          </>
        )
      }
    >
      <div class={isStale || stack.isStale ? 'stale' : undefined}>
        <StackList
          frames={frames}
          blame={frames.find((f) => codeName(f) === name) ?? null}
          cost={cost}
          hasPath={false}
          onFrame={(f) => select({ kind: 'fn', key: codeName(f) })}
        />
        {row && stack.data?.truncated && (
          <p class="dim where">The stack ends here: {stack.data.truncated}</p>
        )}
      </div>
    </Block>
  );
}

function Step(p: { label: string; icon: 'back' | 'right'; to: (() => void) | null }) {
  return (
    <button
      type="button"
      class="btn quiet icon step"
      aria-label={p.label}
      title={p.label}
      disabled={p.to === null}
      onClick={() => p.to?.()}
    >
      <Icon name={p.icon} />
    </button>
  );
}
