/* The list of keys (?). */
import { closeOverlay } from '../state/overlay';
import { Dialog, DialogHead } from '../widgets/dialog';
import { NAV_ENTRIES } from '../widgets/nav';

/* Keys with spaces between them are pressed one after the other or together, as their names say. */
type Row = readonly [keys: string | readonly string[], does: string];

const GROUPS: readonly (readonly [title: string, rows: readonly Row[]])[] = [
  [
    'Everywhere',
    [
      ['Ctrl K', 'Search and commands'],
      ['/', 'Find on this page'],
      ['F', 'Filter panel'],
      ['D', 'Details panel'],
      ['?', 'All keys'],
      ['Esc', 'One step back: popover, search, zoom, selection, range'],
      [['Alt ←', 'Alt →'], 'Back, forward; the zoom, too'],
    ],
  ],
  [
    'Time',
    [
      ['P', 'Pin the peak'],
      [['[', ']'], 'Start, end of the range to the crosshair'],
      ['Backspace', 'Clear the time range'],
      [['←', '→'], 'Timeline in focus: move the range'],
      [['Shift ←', 'Shift →'], 'Timeline in focus: narrow, widen the range'],
      [['Home', 'End'], 'Timeline in focus: range to the start, to the end'],
    ],
  ],
  [
    'On a page',
    [
      [['1', '5'], 'Cost: peak, leaked, allocations, temporary, bytes'],
      ['6', 'Alive at the pinned moment'],
      ['M', 'Just my code'],
      ['B', 'Turn the tree around'],
      ['C', 'Colours of the flame graph'],
      [['J', 'K', '↓', '↑'], 'Next, previous row or frame'],
      [['→', '←'], 'Open, close a row; child, parent frame'],
      ['Enter', 'Zoom, open'],
      ['E', 'Open the heaviest path'],
      [['O', 'X'], 'Only this, not this'],
      ['Y', 'Copy name, location and costs'],
    ],
  ],
];

const GO: readonly Row[] = NAV_ENTRIES.map((e) => [`G ${e.key.toUpperCase()}`, e.name] as const);

function Keys({ text }: { text: string }) {
  return <>{text.split(' ').map((key, i) => [i > 0 && ' ', <kbd key={key}>{key}</kbd>])}</>;
}

function Table({ title, rows }: { title: string; rows: readonly Row[] }) {
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        {rows.map(([keys, does]) => (
          <div key={does}>
            <dt>
              {(typeof keys === 'string' ? [keys] : keys).map((text, i) => (
                <span key={text}>
                  {i > 0 && (title === 'On a page' && keys[0] === '1' ? ' to ' : ', ')}
                  <Keys text={text} />
                </span>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

export function KeysDialog() {
  return (
    <Dialog label="All keys" class="dialog key-list" close={closeOverlay} focus=".dialog-body">
      <DialogHead
        title="Keys"
        hint="No single letter acts while a field has the focus"
        close={closeOverlay}
      />
      <div class="dialog-body" tabIndex={0}>
        {GROUPS.map(([title, rows]) => (
          <Table key={title} title={title} rows={rows} />
        ))}
        <Table title="Go to" rows={GO} />
      </div>
    </Dialog>
  );
}
