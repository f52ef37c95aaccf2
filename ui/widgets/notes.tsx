/* States in words: an empty place, an error, a banner, progress. Never a bare code, a spinner without
 * a number or a blank area. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Asked } from '../state/query';
import type { ApiError } from '../api/client';
import { fieldOf } from '../model/filter_draft';
import { refusalText } from '../model/filter_input';
import { namesText } from '../model/recording';
import { useCancel } from '../state/estimates';
import { copyText, overlay } from '../state/overlay';
import { useRecording } from '../state/recordings';

/* In place of what cannot be shown: a title, a sentence, what to do. */
export function Note(p: {
  title: ComponentChildren;
  children?: ComponentChildren;
  actions?: ComponentChildren;
}) {
  return (
    <div class="note" role="status">
      <h2>{p.title}</h2>
      {p.children && <p>{p.children}</p>}
      {p.actions && <div class="actions">{p.actions}</div>}
    </div>
  );
}

export type BannerKind = '' | 'warn' | 'bad';

export function Banner(p: {
  kind: BannerKind;
  mark: 'ok' | 'warn' | 'bad' | 'live' | 'busy';
  isAbove?: boolean; // lies above the page instead of pushing it down
  title: ComponentChildren;
  children?: ComponentChildren;
  actions?: ComponentChildren;
}) {
  return (
    <div class={`banner ${p.kind}${p.isAbove ? ' above' : ''}`} role="status">
      <span class={`state ${p.mark}`}>
        <b>{p.title}</b>
      </span>
      <span>{p.children}</span>
      {p.actions}
    </div>
  );
}

/* What the server refused, in words for people. A filter that cannot be read leads to its field in the
 * filter panel. */
export function ErrorNote(p: {
  error: ApiError;
  again?: () => void;
  edit?: () => void; // default: opens the filter panel at the field, or the settings
}) {
  const { error, again } = p;
  const copy = () => void copyText(JSON.stringify(error.answer, null, 1), 'Details');
  const details = (
    <button type="button" class="btn quiet" onClick={copy}>
      Copy details
    </button>
  );
  if (error.status === 400) return <Unreadable error={error} details={details} edit={p.edit} />;
  return (
    <Note
      title={error.isAway ? 'The server does not answer.' : 'The server could not answer this.'}
      actions={
        <>
          {again && (
            <button type="button" class="btn" onClick={again}>
              Try again
            </button>
          )}
          {details}
        </>
      }
    >
      {error.isAway ? 'What you see stays usable.' : error.message}
    </Note>
  );
}

function Unreadable(p: { error: ApiError; details: ComponentChildren; edit?: () => void }) {
  const { error } = p;
  const { parameter = '', value } = error.answer;
  const field = fieldOf(parameter);
  const key = field?.keys.find((k) => k === parameter) ?? field?.keys[0];
  const isOwnCode = parameter === 'own_regex';
  const what = field || isOwnCode ? `“${field?.label ?? 'Own code'}” ` : '';
  const byDefault = () =>
    overlay.set(isOwnCode ? { kind: 'settings' } : { kind: 'filter', field: key });
  return (
    <Note
      title={field ? 'This filter cannot be read.' : 'This cannot be read.'}
      actions={
        <>
          {(field || isOwnCode) && (
            <button type="button" class="btn" onClick={p.edit ?? byDefault}>
              {isOwnCode ? 'Settings' : 'Edit filter'}
            </button>
          )}
          {p.details}
        </>
      }
    >
      {value && (
        <>
          {what}
          <span class="code">{value}</span>
          <br />
        </>
      )}
      {refusalText(error.answer)}
    </Note>
  );
}

/* Above a table whose first rows are there, when later ones could not be read. */
export function RowsError({ error, again }: { error: ApiError | null; again: () => void }) {
  if (!error) return null;
  return (
    <Banner
      kind="bad"
      mark="bad"
      title="Some rows could not be read."
      actions={
        <button type="button" class="btn" onClick={again}>
          Try again
        </button>
      }
    >
      {error.message}
    </Banner>
  );
}

const LINE_AFTER_MS = 300;
const WORDS_AFTER_MS = 1000;

/* How long a request has been under way, in steps that people notice: 0, 1 (line), 2 (words). */
function useWaiting(since: number): 0 | 1 | 2 {
  const [, tick] = useState(0);
  const waited = since ? Date.now() - since : 0;
  useEffect(() => {
    if (!since) return undefined;
    const timers = [LINE_AFTER_MS, WORDS_AFTER_MS].map((ms) =>
      setTimeout(() => tick((n) => n + 1), ms + 5),
    );
    return () => timers.forEach(clearTimeout);
  }, [since]);
  if (!since || waited < LINE_AFTER_MS) return 0;
  return waited < WORDS_AFTER_MS ? 1 : 2;
}

/* Under a toolbar: a thin line while figures are an estimate (the words are beside the filters); else after 300 ms, words and Cancel after a second; "Stopped." when
 * somebody cancelled. Takes no room. */
type Waited = Pick<Asked<unknown>, 'since' | 'isCancelled' | 'again' | 'cancel'> &
  Partial<Pick<Asked<unknown>, 'estimate'>>;

export function Waiting({ asked, what }: { asked: Waited; what: string }) {
  const step = useWaiting(asked.since);
  const names = namesText(useRecording());
  const isEstimate = typeof asked.estimate === 'number';
  const isMarked = isEstimate && asked.since > 0 && !asked.isCancelled;
  useCancel(isMarked, asked.cancel);
  if (asked.isCancelled)
    return (
      <div class="waiting words" role="status">
        <b>Stopped.</b>{' '}
        {isEstimate ? 'These figures are an estimate.' : 'These figures are of the filter before.'}
        <button type="button" class="link" onClick={asked.again}>
          Count again
        </button>
      </div>
    );
  if (isMarked)
    return (
      <div class="waiting">
        <i />
      </div>
    );
  if (step === 0) return null;
  return (
    <div class={'waiting' + (step === 2 ? ' words' : '')} role="status">
      <i />
      {step === 2 && (
        <>
          <b>{what}</b>
          {names && <span class="dim">{names}</span>}
          <button type="button" class="link" onClick={asked.cancel}>
            Cancel
          </button>
        </>
      )}
    </div>
  );
}
