/* Settings: what belongs to the reader. They act at once and are kept in this browser. */
import { useEffect, useState } from 'preact/hooks';
import type { Recording } from '../api/types';
import { useFilterCheck } from '../state/filter_check';
import { closeOverlay } from '../state/overlay';
import { change, settings, type Settings } from '../state/settings';
import { useSignal } from '../state/signal';
import { Segments } from '../widgets/controls';
import { Dialog, DialogHead } from '../widgets/dialog';

const DEBOUNCE_MS = 300;

export function SettingsDialog({ recording }: { recording: Recording | null }) {
  const s = useSignal(settings);
  const isReady = recording?.state === 'ready';
  return (
    <Dialog label="Settings" class="dialog" close={closeOverlay} focus="#setting-own">
      <DialogHead title="Settings" hint="kept in this browser" close={closeOverlay} />
      <div class="dialog-body">
        <div class="form">
          <OwnCode s={s} recording={isReady ? recording.id : null} />
          <Editor s={s} />
          <span class="label">Moments</span>
          <Segments
            label="Moments"
            value={s.wallClock ? 'wall' : 'start'}
            options={[
              { id: 'start', name: 'Since the start' },
              { id: 'wall', name: 'Wall clock (UTC)' },
            ]}
            onChange={(id) => change({ wallClock: id === 'wall' })}
          />
          <span class="label">Theme</span>
          <Segments
            label="Theme"
            value={s.theme}
            options={[
              { id: 'system', name: 'System' },
              { id: 'light', name: 'Light' },
              { id: 'dark', name: 'Dark' },
            ]}
            onChange={(theme) => change({ theme })}
          />
          <span class="label">Density</span>
          <Segments
            label="Density"
            value={s.density}
            options={[
              { id: 'normal', name: 'Normal' },
              { id: 'compact', name: 'Compact' },
            ]}
            onChange={(density) => change({ density })}
          />
          <span class="label">Sources</span>
          <span class="dim text">
            The server reads them: start it with <span class="code unbroken">--source FOLDER</span>
          </span>
        </div>
      </div>
    </Dialog>
  );
}

/* Which frames are the reader's own code. The expression counts once the server can read it: a wrong one
 * would make every figure of every page fail. */
function OwnCode({ s, recording }: { s: Settings; recording: string | null }) {
  const [text, setText] = useState(s.ownCode);
  const error = useOwnCodeError(text, recording);
  const isSettled = error !== null;
  useEffect(() => {
    if (text === s.ownCode || (isSettled && error)) return undefined;
    if (recording && !isSettled) return undefined;
    const timer = setTimeout(() => change({ ownCode: text }), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [text, error, isSettled, recording, s.ownCode]);
  return (
    <>
      <label for="setting-own">Own code</label>
      <span class={'field' + (error ? ' bad' : '')}>
        <input
          id="setting-own"
          class="code"
          value={text}
          placeholder="/home/me/|^mycrate::"
          aria-invalid={!!error}
          aria-describedby={error ? 'error-own' : undefined}
          spellcheck={false}
          autocomplete="off"
          onInput={(e) => setText(e.currentTarget.value)}
        />
      </span>
      {error ? (
        <span class="err" id="error-own" role="status">
          {error}
        </span>
      ) : (
        <span class="hint">
          Regular expression for file or function. Empty: what is neither a library nor the
          system’s.
        </span>
      )}
    </>
  );
}

/* null: not judged yet; '': fine. */
function useOwnCodeError(text: string, recording: string | null): string | null {
  /* function_regex takes the same expressions, and its answer names what is wrong */
  const check = useFilterCheck(recording ?? 'last', text ? { function_regex: text } : {});
  if (!recording || !text) return '';
  if (check.errors['function_regex']) return check.errors['function_regex'];
  return check.isAsking ? null : '';
}

/* What is wrong with an editor's link; '': nothing. */
function editorError(link: string): string {
  if (/^\s*(javascript|data|vbscript):/i.test(link))
    return 'A link that runs a script is not an editor.';
  const isLink = /^[a-z][a-z0-9+.-]*:/i.test(link) && link.includes('%f');
  return isLink ? '' : 'A link with %f for the file (and %l for the line) is needed.';
}

/* The link counts while it can be one. */
function Editor({ s }: { s: Settings }) {
  const [text, setText] = useState(s.editor);
  const error = editorError(text);
  const type = (next: string) => {
    setText(next);
    if (!editorError(next)) change({ editor: next });
  };
  return (
    <>
      <label for="setting-editor">Editor link</label>
      <span class={'field' + (error ? ' bad' : '')}>
        <input
          id="setting-editor"
          class="code"
          value={text}
          aria-invalid={!!error}
          aria-describedby={error ? 'error-editor' : undefined}
          spellcheck={false}
          autocomplete="off"
          onInput={(e) => type(e.currentTarget.value)}
        />
      </span>
      {error ? (
        <span class="err" id="error-editor" role="status">
          {error}
        </span>
      ) : (
        <span class="hint">%f: file, %l: line. For example vscode://file/%f:%l</span>
      )}
    </>
  );
}
