/* Search and commands (Ctrl K): one box for functions, files, modules, addresses, times, pages, commands.
 *
 * The input keeps the focus; arrows move through the answers. Enter shows the chosen one, Ctrl Enter filters
 * by it, Alt Enter excludes it. Until somebody chose an answer, filter and exclude are about the typed text.
 */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { readQuestion } from '../model/search';
import { closeOverlay } from '../state/overlay';
import { set } from '../state/router';
import { Dialog } from '../widgets/dialog';
import { Icon } from '../widgets/icons';
import { useAnswers, type Answer, type Group, type Subject } from './overlay_search_answers';

const DEBOUNCE_MS = 150;

/* The text, once nobody has typed for a moment. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

export function SearchPalette({ text: initial }: { text: string }) {
  const [text, setText] = useState(initial);
  const [chosen, setChosen] = useState<number | null>(null); // null: nobody moved yet
  const [subject, setSubject] = useState<Subject | null>(null); // of the answer chosen last
  const [isEntered, setEntered] = useState(false); // Enter waits for the answers
  const question = useMemo(() => readQuestion(text), [text]);
  const { groups, note, isStale } = useAnswers(question, useSettled(text), subject);
  const answers = groups.flatMap((g) => g.answers);
  const at = Math.min(chosen ?? 0, answers.length - 1);
  const current = answers[at];
  const choose = (next: number) => {
    const index = answers.length ? (next + answers.length) % answers.length : 0;
    setChosen(index);
    const found = answers[index]?.subject;
    if (found) setSubject(found);
  };
  const type = (next: string) => {
    setText(next);
    setEntered(false);
    setChosen(null);
    setSubject(null);
  };
  const filterBy = groups.find((g) => g.subject)?.subject ?? null;
  const enter = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey) apply(filterBy?.only);
    else if (e.altKey) apply(filterBy?.not);
    /* what is listed is not the answer to this text yet: the first one that comes is meant */
    else if (isStale && chosen === null) setEntered(true);
    else if (current) run(current);
  };
  useEffect(() => {
    if (!isEntered || isStale) return;
    setEntered(false);
    if (answers[0]) run(answers[0]);
  }, [isEntered, isStale]);
  const onKeyDown = (e: KeyboardEvent) => {
    if (e.key === 'ArrowDown') choose(chosen === null ? 1 : at + 1);
    else if (e.key === 'ArrowUp') choose(at - 1);
    else if (e.key === 'Enter') enter(e);
    else return;
    e.preventDefault();
  };
  return (
    <Dialog label="Search" class="palette" close={closeOverlay}>
      <div class="ask">
        <Icon name="search" />
        <input
          role="combobox"
          aria-expanded={answers.length > 0}
          aria-controls="answers"
          aria-autocomplete="list"
          aria-activedescendant={current ? `answer-${at}` : undefined}
          aria-label="Search functions, files, addresses, pages and commands"
          placeholder="Functions, files, @addresses, :times, >commands"
          spellcheck={false}
          autocomplete="off"
          value={text}
          onInput={(e) => type(e.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        <kbd>Esc</kbd>
      </div>
      <Answers groups={groups} at={at} choose={choose} isStale={isStale} />
      {note && (
        <p class="none" role="status">
          {note}
        </p>
      )}
      <footer>
        <span>
          <kbd>↑</kbd> <kbd>↓</kbd> choose
        </span>
        {current && (
          <span>
            <kbd>Enter</kbd> {current.verb}
          </span>
        )}
        <span>&gt; commands</span>
        <span>@ addresses</span>
        <span>: time</span>
      </footer>
    </Dialog>
  );
}

/* The palette goes first: a command may open another overlay. */
function run(answer: Answer): void {
  closeOverlay();
  answer.act();
}

function apply(changes: Readonly<Record<string, string>> | undefined): void {
  if (!changes) return;
  closeOverlay();
  set(changes);
}

function Answers(p: {
  groups: readonly Group[];
  at: number;
  choose: (index: number) => void;
  isStale: boolean;
}) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [p.at, p.groups]);
  let index = 0;
  return (
    <div
      class={'answers' + (p.isStale ? ' stale' : '')}
      role="listbox"
      id="answers"
      aria-label="Answers"
      aria-busy={p.isStale}
      ref={list}
    >
      {p.groups.map((group) => (
        <div key={group.title} role="group" aria-label={group.title}>
          <h3 role="presentation">
            {group.title}
            {group.hint && <span class="dim">{group.hint}</span>}
          </h3>
          {group.answers.map((answer) => (
            <AnswerRow key={answer.id} answer={answer} index={index++} {...p} />
          ))}
        </div>
      ))}
    </div>
  );
}

function AnswerRow(p: {
  answer: Answer;
  index: number;
  at: number;
  choose: (index: number) => void;
}) {
  const { answer, index } = p;
  return (
    <div
      class="li"
      role="option"
      id={`answer-${index}`}
      aria-selected={index === p.at}
      onPointerMove={() => index !== p.at && p.choose(index)}
      onClick={(e) => {
        if ((e.ctrlKey || e.metaKey) && answer.subject) apply(answer.subject.only);
        else if (e.altKey && answer.subject) apply(answer.subject.not);
        else run(answer);
      }}
    >
      <Icon name={answer.icon} />
      <span class="what">{answer.what}</span>
      <span class="end">{answer.end}</span>
    </div>
  );
}
