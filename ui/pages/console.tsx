/* Console: scripts in Lua that ask the recording (docs/SCRIPTING.md).
 *
 * The script and the last run are not of the address: the browser keeps the script (state/console.ts).
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { scriptFileUrl } from '../api/script';
import type { ScriptOutput, ScriptResult } from '../api/types';
import { apiFilter, hasFilter } from '../model/filters';
import { luaPieces } from '../model/lua';
import { SCRIPT_EXAMPLES } from '../model/script_examples';
import {
  cancelScript,
  openInConsole,
  replaceScript,
  runScript,
  scriptBefore,
  scriptRun,
  scriptText,
  setScript,
} from '../state/console';
import { findRecording, recordings } from '../state/recordings';
import { useAddress } from '../state/router';
import { useSignal } from '../state/signal';
import { Menu } from '../widgets/floating';
import { Icon } from '../widgets/icons';

export function ConsolePage() {
  const a = useAddress();
  const recording = findRecording(useSignal(recordings), a.rec);
  const run = useSignal(scriptRun);
  const before = useSignal(scriptBefore);
  const isRunning = run.since > 0;
  if (!recording) return null;
  const start = (): void => void runScript(recording.id);
  const restore = (): void => {
    const text = before;
    scriptBefore.set('');
    setScript(text);
  };
  return (
    <div class="console">
      <div class="toolbar">
        {isRunning ? (
          <button type="button" class="btn" onClick={cancelScript}>
            <Icon name="x" /> Cancel
          </button>
        ) : (
          <button type="button" class="btn primary" onClick={start} title="Ctrl Enter">
            <Icon name="play" /> Run
          </button>
        )}
        <Menu
          label="Examples"
          class="btn"
          button={
            <>
              Examples <Icon name="caret" />
            </>
          }
          items={() =>
            SCRIPT_EXAMPLES.map((e) => ({ label: e.name, act: () => replaceScript(e.code) }))
          }
        />
        <button
          type="button"
          class="btn"
          disabled={!hasFilter(a.params)}
          title="The filters of the other pages as a script"
          onClick={() => void openInConsole(recording.id, apiFilter(a.params))}
        >
          <Icon name="filter" /> Current filter
        </button>
        {before && (
          <button type="button" class="btn" onClick={restore}>
            <Icon name="back" /> Script before
          </button>
        )}
        <span class="push dim m3 hint">
          Lua 5.4. Ctrl Enter runs the script; Esc and Tab leave the editor.
        </span>
      </div>
      <div class="console-parts">
        <Editor line={run.result?.line ?? 0} run={start} />
        <Output />
      </div>
    </div>
  );
}

/* A textarea whose text is transparent, above the same text in colours. Both grow with the text, and the
 * box around them scrolls. */
function Editor({ line, run }: { line: number; run: () => void }) {
  const text = useSignal(scriptText);
  const isLeaving = useRef(false);
  const n = text.split('\n').length;
  const onKeyDown = (e: KeyboardEvent): void => {
    const box = e.currentTarget as HTMLTextAreaElement;
    const leaves = isLeaving.current;
    isLeaving.current = e.key === 'Escape' || (leaves && e.key === 'Shift');
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      run();
    } else if (e.key === 'Tab' && !e.shiftKey && !leaves) {
      e.preventDefault();
      box.setRangeText('\t', box.selectionStart, box.selectionEnd, 'end');
      setScript(box.value);
    }
    e.stopPropagation(); // letters are text here, not keys of the page
  };
  return (
    <div class="editor">
      <div class="editor-lines" aria-hidden="true">
        {Array.from({ length: n }, (_, i) => (
          <div key={i} class={i + 1 === line ? 'bad' : undefined}>
            {i + 1}
          </div>
        ))}
      </div>
      <div class="editor-text">
        <pre aria-hidden="true">
          {luaPieces(text).map((p, i) =>
            p.kind ? (
              <span key={i} class={p.kind}>
                {p.text}
              </span>
            ) : (
              p.text
            ),
          )}
          {'\n'}
        </pre>
        <textarea
          aria-label="Script"
          aria-describedby="script-error"
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          wrap="off"
          value={text}
          onInput={(e) => setScript(e.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
      </div>
    </div>
  );
}

function Output() {
  const run = useSignal(scriptRun);
  const { result } = run;
  return (
    <section
      class="console-output"
      aria-label="Output"
      aria-live="polite"
      aria-busy={run.since > 0}
    >
      {run.since > 0 && <Running since={run.since} />}
      {run.error && <p class="console-error">{run.error}</p>}
      {!run.since && !run.error && !result && (
        <p class="dim">
          What the script prints appears here, with the graphs that it saves. The manual is
          docs/SCRIPTING.md.
        </p>
      )}
      {result && outputParts(result).map((part, i) => <OutputPart key={i} part={part} />)}
      {result?.message && (
        <p class="console-error" id="script-error">
          {result.message}
        </p>
      )}
      {result && <p class="dim console-end">{endWords(result)}</p>}
    </section>
  );
}

function Running({ since }: { since: number }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  return <p class="dim">Running for {Math.max(0, Math.round((now - since) / 1000))} s</p>;
}

function endWords(r: ScriptResult): string {
  const time = `${r.elapsed < 10 ? r.elapsed.toFixed(2) : Math.round(r.elapsed)} s`;
  if (r.status === 'error') return `Failed after ${time}`;
  return r.exit_status === undefined ? `Done in ${time}` : `exit(${r.exit_status}) after ${time}`;
}

/* Lines that follow each other are one text. */
type Part = { text: string } | { file: ScriptOutput };

function outputParts(r: ScriptResult): Part[] {
  const parts: Part[] = [];
  for (const o of r.output) {
    const last = parts[parts.length - 1];
    if (o.kind !== 'println') parts.push({ file: o });
    else if (last && 'text' in last) last.text += `\n${o.value ?? ''}`;
    else parts.push({ text: o.value ?? '' });
  }
  return parts;
}

function OutputPart({ part }: { part: Part }) {
  if ('text' in part) return <pre class="console-text">{part.text}</pre>;
  const { file } = part;
  const url = scriptFileUrl(file.url ?? '');
  return (
    <figure class="console-file">
      {file.kind === 'image' && <img src={url} alt={`Graph ${file.basename ?? ''}`} />}
      <figcaption>
        <a href={url} download={file.basename}>
          <Icon name="download" /> {file.path}
        </a>
      </figcaption>
    </figure>
  );
}
