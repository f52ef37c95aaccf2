/* What the search box answers: for each kind of question the groups of answers that are listed. */
import type { ComponentChildren } from 'preact';
import type { Found, FrameText, Summary } from '../api/types';
import { apiUrl } from '../api/client';
import { hasFilter } from '../model/filters';
import { bytes, clockDigits, count, group, join } from '../model/format';
import {
  baseName,
  codeName,
  escapeRegex,
  exactRegex,
  frameLocation,
  framePath,
  frameTitle,
} from '../model/names';
import { addressRanges, bestMatches, foundParts, readTimes, type Question } from '../model/search';
import { useClock, useMomentParser } from '../state/clock';
import { useQuery, useUrl } from '../state/query';
import { recordings, useRecording } from '../state/recordings';
import { goPage, set, useAddress } from '../state/router';
import { settings } from '../state/settings';
import { useSignal } from '../state/signal';
import type { IconName } from '../widgets/icons';
import { OwnerMark } from '../widgets/names';
import { commandsOf, type Command } from './commands';

/* What Ctrl Enter and Alt Enter filter by: changes of the address. */
export interface Subject {
  name: ComponentChildren; // "Only stacks with NAME"
  only: Readonly<Record<string, string>>;
  not: Readonly<Record<string, string>>;
}

export interface Answer {
  id: string;
  icon: IconName;
  what: ComponentChildren;
  end?: ComponentChildren;
  verb: string; // what Enter does
  act: () => void;
  subject?: Subject;
}

export interface Group {
  title: string;
  hint?: string;
  answers: readonly Answer[];
  subject?: Subject; // of the group that filters
}

export interface Answers {
  groups: readonly Group[];
  note: string; // when there is nothing to list
  isStale: boolean;
}

const FOUND = 6; // answers of a kind
const COMMANDS = 5; // commands beside what the recording holds

/* text: the input once nobody has typed for a moment; that is what the server is asked. */
export function useAnswers(question: Question, text: string, subject: Subject | null): Answers {
  const commands = useCommands();
  const code = useCode(question, text, subject);
  const addresses = useAddresses(question);
  const times = useTimes(question);
  switch (question.kind) {
    case 'command': {
      const answers = bestMatches(commands, question.text, (c) => c.label).map(commandAnswer);
      return {
        groups: answers.length ? [{ title: 'Commands', answers }] : [],
        note: answers.length ? '' : `No command is called “${question.text}”.`,
        isStale: false,
      };
    }
    case 'address':
      return addresses;
    case 'time':
      return times;
    default:
      return withCommands(code, question.text, commands);
  }
}

function withCommands(code: Answers, text: string, commands: readonly Command[]): Answers {
  if (!text) {
    const answers = commands.map(commandAnswer);
    return { groups: [{ title: 'Pages and commands', answers }], note: '', isStale: false };
  }
  const answers = bestMatches(commands, text, (c) => c.label)
    .slice(0, COMMANDS)
    .map(commandAnswer);
  const more: Group[] = answers.length ? [{ title: 'Pages and commands', answers }] : [];
  return { ...code, groups: [...code.groups, ...more] };
}

/* ---- commands ---- */

function useCommands(): Command[] {
  const { data } = useQuery<Summary>('summary', {}, { isFiltered: false });
  return commandsOf({
    address: useAddress(),
    recording: useRecording(),
    recordings: useSignal(recordings) ?? [],
    peakNs: data ? data.peak_ns : null,
    settings: useSignal(settings),
  });
}

const commandAnswer = (c: Command): Answer => ({
  id: c.label,
  icon: c.icon,
  what: c.label,
  end: c.keys?.split(' ').map((key) => [<kbd key={key}>{key}</kbd>, ' ']),
  verb: 'do it',
  act: c.act,
});

/* ---- functions, files, modules ---- */

const leaked = (cost: { leaked_bytes: number }): string =>
  `${join(bytes(cost.leaked_bytes))} leaked`;

const Marked = ({ text, found }: { text: string; found: string }) => (
  <>
    {foundParts(text, found).map((part, i) =>
      part.isFound ? <mark key={i}>{part.text}</mark> : part.text,
    )}
  </>
);

function useCode(question: Question, settled: string, subject: Subject | null): Answers {
  const recording = useRecording();
  const { params } = useAddress();
  const text = question.kind === 'text' ? question.text : '';
  const asked = useQuery<Found>(
    'search',
    { q: settled.trim(), count: FOUND },
    { isFiltered: false, isReady: text !== '' && settled.trim() !== '' },
  );
  if (!text || recording?.state !== 'ready') return { groups: [], note: '', isStale: false };
  const isStale = asked.isStale || settled.trim() !== text;
  const has = (name: string | null) => !isStale || matches(name ?? '', text);
  const found = asked.data;
  const scope = hasFilter(params) ? 'in the whole recording' : '';
  const of = (shown: number, total: number) =>
    [shown < total ? `${group(shown)} of ${group(total)}` : '', scope].filter(Boolean).join(', ');
  const functions = (found?.functions ?? []).filter((f) => has(f.frame.function));
  const files = (found?.files ?? []).filter((f) => has(f.source));
  const modules = (found?.modules ?? []).filter((m) => has(m.module));
  const groups: Group[] = [
    {
      title: 'Functions',
      hint: of(functions.length, isStale ? 0 : (found?.total_functions ?? 0)),
      answers: functions.map((f) => functionAnswer(f.frame, leaked(f.cost), text)),
    },
    {
      title: 'Files',
      hint: of(files.length, isStale ? 0 : (found?.total_files ?? 0)),
      answers: files.map((f) => fileAnswer(f.source, leaked(f.cost), text)),
    },
    {
      title: 'Modules',
      hint: of(modules.length, isStale ? 0 : (found?.total_modules ?? 0)),
      answers: modules.map((m) => moduleAnswer(m.module, leaked(m.cost), text)),
    },
  ].filter((g) => g.answers.length > 0);
  const isNothing = groups.length === 0 && !isStale && found !== null;
  return {
    groups: isNothing ? [] : [...groups, filterGroup(subject ?? textSubject(text))],
    note:
      asked.error?.message ??
      (isNothing ? `No function, file or module has “${text}” in its name.` : ''),
    isStale: isStale && !asked.error,
  };
}

const matches = (name: string, text: string): boolean =>
  name.toLowerCase().includes(text.toLowerCase());

function functionAnswer(frame: FrameText, end: string, text: string): Answer {
  const name = codeName(frame);
  const title = frameTitle(frame);
  const rest = [frameLocation(frame), framePath(frame)].filter(Boolean).join('\u2002');
  return {
    id: `fn ${name} ${frame.address}`,
    icon: 'fn',
    what: (
      <span class="sym" title={name}>
        <OwnerMark frame={frame} />
        <span class="fn">
          <Marked text={title} found={text} />
        </span>
        <span class="rest">
          <Marked text={rest} found={matches(title, text) ? '' : text} />
        </span>
      </span>
    ),
    end,
    verb: 'show in flame graph',
    act: () => goPage('flame', { q: title, sel: `fn:${name}` }),
    subject: {
      name: title,
      only: { function_regex: exactRegex(name) },
      not: { negative_function_regex: exactRegex(name) },
    },
  };
}

function fileAnswer(source: string, end: string, text: string): Answer {
  return {
    id: `file ${source}`,
    icon: 'code',
    what: <Marked text={source} found={text} />,
    end,
    verb: 'show the source',
    act: () => goPage('source', { file: source }),
    subject: {
      name: baseName(source),
      only: { source_regex: exactRegex(source) },
      not: { negative_source_regex: exactRegex(source) },
    },
  };
}

function moduleAnswer(module: string, end: string, text: string): Answer {
  const subject = {
    name: baseName(module),
    only: { module_regex: exactRegex(module) },
    not: { negative_module_regex: exactRegex(module) },
  };
  return {
    id: `module ${module}`,
    icon: 'stack',
    what: <Marked text={module} found={text} />,
    end,
    verb: 'show in flame graph',
    act: () => goPage('flame', subject.only),
    subject,
  };
}

/* The typed text in the name of a function, in upper or lower case. */
const textSubject = (text: string): Subject => ({
  name: (
    <>
      /<mark>{text}</mark>/i
    </>
  ),
  only: { function_regex: `(?i)${escapeRegex(text)}` },
  not: { negative_function_regex: `(?i)${escapeRegex(text)}` },
});

function filterGroup(subject: Subject): Group {
  const key = (name: string) => (
    <>
      <kbd>{name}</kbd> <kbd>Enter</kbd>
    </>
  );
  return {
    title: 'Filter by it',
    subject,
    answers: [
      {
        id: 'only',
        icon: 'filter',
        what: <>Only stacks with {subject.name}</>,
        end: key('Ctrl'),
        verb: 'filter',
        act: () => set(subject.only),
      },
      {
        id: 'not',
        icon: 'filter',
        what: <>Only stacks without {subject.name}</>,
        end: key('Alt'),
        verb: 'filter',
        act: () => set(subject.not),
      },
    ],
  };
}

/* ---- addresses ---- */

const EMPTY = (note: string): Answers => ({ groups: [], note, isStale: false });

function useAddresses(question: Question): Answers {
  const recording = useRecording();
  const isReady = question.kind === 'address' && recording?.state === 'ready';
  const ranges = isReady ? addressRanges(question.text) : [];
  const url = (i: number) => {
    const r = ranges[i];
    return r && recording
      ? apiUrl(`${recording.id}/summary`, { address_min: r.from, address_max: r.to })
      : null;
  };
  const counts = [useUrl<Summary>(url(0)), useUrl<Summary>(url(1))];
  if (question.kind !== 'address') return EMPTY('');
  if (!ranges.length) return EMPTY('An address in hexadecimal digits, such as @7f1a2c003f10.');
  const answers = ranges.map((r, i): Answer => {
    const asked = counts[i];
    const n = asked && !asked.isStale ? asked.data?.matched?.allocations : undefined;
    const isExact = r.from === r.to;
    return {
      id: r.from + r.to,
      icon: 'list',
      what: (
        <span class="code">
          {isExact ? `Allocations at ${r.from}` : `Allocations from ${r.from} to ${r.to}`}
        </span>
      ),
      end: n === undefined ? '' : `${join(count(n))} allocation${n === 1 ? '' : 's'}`,
      verb: 'show allocations',
      act: () => goPage('allocations', { address_min: r.from, address_max: r.to }),
    };
  });
  return { groups: [{ title: 'Addresses', answers }], note: '', isStale: false };
}

/* ---- times ---- */

function useTimes(question: Question): Answers {
  const recording = useRecording();
  const clock = useClock();
  const parse = useMomentParser();
  if (question.kind !== 'time' || !recording) return EMPTY('');
  const runNs = recording.duration_ns ?? 0;
  const digits = clockDigits(runNs);
  const times = readTimes(question.text, runNs, parse);
  if (!times) return EMPTY('A moment such as :04:52, :80 % or :250ms, or a range such as :1m-2m.');
  if ('at' in times) {
    if (!times.at.length) return EMPTY(`The recording ends at ${clock(runNs, digits)}.`);
    const answers = times.at.flatMap((ns) => momentAnswers(ns, clock(ns, digits)));
    return { groups: [{ title: 'Moments', answers }], note: '', isStale: false };
  }
  const text = `${clock(times.fromNs, digits)} to ${clock(times.toNs, digits)}`;
  const range: Answer = {
    id: 'range',
    icon: 'chart',
    what: `Select ${text}`,
    verb: 'select the range',
    act: () => set({ t0: String(times.fromNs), t1: String(times.toNs) }),
  };
  return { groups: [{ title: 'Range', answers: [range] }], note: '', isStale: false };
}

const momentAnswers = (ns: number, text: string): Answer[] => [
  {
    id: `pin ${ns}`,
    icon: 'pin',
    what: `Pin ${text}`,
    verb: 'pin the moment',
    act: () => set({ at: String(ns) }),
  },
  {
    id: `alive ${ns}`,
    icon: 'filter',
    what: `Only what was alive at ${text}`,
    verb: 'filter',
    act: () => set({ alive_at: `+${ns}ns` }),
  },
];
