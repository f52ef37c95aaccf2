/* Which component shows which page, and which one fills the details panel for which selection. */
import type { ComponentType } from 'preact';
import type { PageId } from '../model/address';
import type { SelectionKind } from '../state/details';
import { AllocationsPage } from './allocations';
import { Chains } from './chains';
import { ConsolePage } from './console';
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
import { CallersPage } from './callers';
import { SourcePage } from './source';
import { LineDetails } from './source_details';
import { BottomUpPage, TopDownPage } from './tree';
import { RowStacks } from './tree_stacks';

export const PAGE_COMPONENTS: Record<PageId, ComponentType> = {
  recordings: RecordingsPage,
  overview: Overview,
  timeline: Timeline,
  flame: FlamePage,
  bottomup: BottomUpPage,
  topdown: TopDownPage,
  callers: CallersPage,
  sites: SitesPage,
  allocations: AllocationsPage,
  sizes: Sizes,
  threads: Threads,
  chains: Chains,
  map: MemoryMap,
  source: SourcePage,
  console: ConsolePage,
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

/* What a page adds to the panel: below the selected thing, while the page's own parameter is set. */
export interface PageDetails {
  parameter: string;
  title: string; // of the panel, where nothing else is selected
  component: ComponentType;
}

export const PAGE_DETAILS: Partial<Record<PageId, PageDetails>> = {
  bottomup: { parameter: 'row', title: 'Function', component: RowStacks },
  topdown: { parameter: 'row', title: 'Function', component: RowStacks },
  source: { parameter: 'line', title: 'Line', component: LineDetails },
};
