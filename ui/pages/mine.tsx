/* "Just my code" on pages that list functions or files: only those of the program's own code. */
import type { Params } from '../model/address';
import { set } from '../state/router';
import { Note } from '../widgets/notes';
import { isMine } from './tree_data';

export const toggleMine = (params: Params): void =>
  set({ mine: isMine(params) ? '0' : null, row: null });

export function MineButton({ params, title }: { params: Params; title: string }) {
  return (
    <button
      type="button"
      class="btn"
      aria-pressed={isMine(params)}
      title={title}
      onClick={() => toggleMine(params)}
    >
      Just my code
    </button>
  );
}

/* Own code has nothing to show; other code may. */
export function NoneOfMine({ what }: { what: 'function' | 'file' }) {
  return (
    <div class="pad-note">
      <Note
        title={`No ${what} of your code is here.`}
        actions={
          <button type="button" class="btn" onClick={() => set({ mine: '0' })}>
            Show all {what}s
          </button>
        }
      >
        An expression in Settings says what your code is.
      </Note>
    </div>
  );
}
