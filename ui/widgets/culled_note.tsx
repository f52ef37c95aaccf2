/* "Without 21.9 M short-lived ones (culled)": on pages that show single allocations only. */
import type { Summary } from '../api/types';
import { withoutCulled } from '../model/culled';
import { useQuery } from '../state/query';

export function CulledNote() {
  const { data } = useQuery<Summary>('summary', {}, { isFiltered: false });
  const text = withoutCulled(data);
  return text ? <span class="dim hint culled">{text}</span> : null;
}
