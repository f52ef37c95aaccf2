/* "Copy path", beside "Open in editor": no page learns whether an editor answered the link. */
import { copyText } from '../state/overlay';

export function CopyPath({ path, line }: { path: string; line: number }) {
  return (
    <button
      type="button"
      class="link"
      title={`${path}:${line}`}
      onClick={() => void copyText(`${path}:${line}`, 'Path')}
    >
      Copy path
    </button>
  );
}
