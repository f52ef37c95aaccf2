/* Search and commands, the filter panel, the list of keys, settings: whichever is open. */
import { overlay } from '../state/overlay';
import { useRecording } from '../state/recordings';
import { useSignal } from '../state/signal';
import { FilterPanel } from './overlay_filter';
import { KeysDialog } from './overlay_keys';
import { SearchPalette } from './overlay_search';
import { SettingsDialog } from './overlay_settings';

export function Overlays() {
  const open = useSignal(overlay);
  const recording = useRecording();
  switch (open?.kind) {
    case 'filter':
      return recording?.state === 'ready' ? (
        <FilterPanel recording={recording} field={open.field} />
      ) : null;
    case 'search':
      return <SearchPalette text={open.text} />;
    case 'keys':
      return <KeysDialog />;
    case 'settings':
      return <SettingsDialog recording={recording} />;
    default:
      return null;
  }
}
