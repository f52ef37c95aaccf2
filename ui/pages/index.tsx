/* Which component shows which page, and which one fills the details panel for which selection. */
import type { ComponentType } from 'preact';
import type { PageId } from '../model/address';
import type { SelectionKind } from '../state/details';
import { Note } from '../widgets/notes';
import { AllocationsPage } from './allocations';
import { Chains } from './chains';
import { AllocationDetails } from './details_allocation';
import { MapDetails } from './details_map';
import { SiteDetails } from './details_site';
import { SizeDetails } from './details_size';
import { MemoryMap } from './map';
import { Overview } from './overview';
import { RecordingsPage } from './recordings';
import { RecordingDetails } from './recordings_details';
import { SitesPage } from './sites';
import { Sizes } from './sizes';
import { Threads } from './threads';
import { Timeline } from './timeline';
import { FunctionDetails } from './details_function';
import { FlamePage } from './flame';

const Missing = () => (
  <div class="pad-note">
    <Note title="Not here yet" />
  </div>
);

export const PAGE_COMPONENTS: Record<PageId, ComponentType> = {
  recordings: RecordingsPage,
  overview: Overview,
  timeline: Timeline,
  flame: FlamePage,
  bottomup: Missing,
  topdown: Missing,
  callers: Missing,
  sites: SitesPage,
  allocations: AllocationsPage,
  sizes: Sizes,
  threads: Threads,
  chains: Chains,
  map: MemoryMap,
  source: Missing,
};

export interface DetailsKind {
  title: string;
  component: ComponentType<{ value: string }>;
}

export const DETAILS: Partial<Record<SelectionKind, DetailsKind>> = {
  rec: { title: 'Recording', component: RecordingDetails },
  fn: { title: 'Function', component: FunctionDetails },
  size: { title: 'Size range', component: SizeDetails },
  map: { title: 'Mapping', component: MapDetails },
  site: { title: 'Call site', component: SiteDetails },
  alloc: { title: 'Allocation', component: AllocationDetails },
};
