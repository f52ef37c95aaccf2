/* Everything the flame graph shows, computed from the address and the tree: what is asked again only
 * when what it depends on changes. */
import { useMemo } from 'preact/hooks';
import type { Address, Params } from '../model/address';
import { costKind, type CostId } from '../model/costs';
import { momentOf } from '../model/filters';
import { assignPackages, coloursOf, rankPackages, type Colouring } from '../model/flame_colour';
import { isMoment } from '../model/flame_query';
import { layOut, parseView, viewOf, type View } from '../model/flame_layout';
import { search, searchPattern } from '../model/flame_search';
import {
  findNode,
  frameOf,
  heaviestOf,
  nodeId,
  valueColumn,
  widthColumn,
  type FlameTree,
} from '../model/flame_tree';
import {
  change,
  clockDigits,
  figure,
  group,
  join,
  share,
  type ClockText,
  type Figure,
} from '../model/format';
import { codeName } from '../model/names';
import { useClock } from '../state/clock';
import { selectionOf } from '../state/details';
import type { FlameScene } from '../widgets/flame_draw';

export interface FlameCost {
  id: CostId; // the column of the tree
  name: string;
  figure: (value: number) => Figure;
  share: (part: number, whole: number) => string; // empty for changes: their sum says nothing
}

/* The cost that the page shows. What was alive at the pinned moment is the bytes of all blocks that
 * were: the filter keeps no others. */
function flameCost(params: Params, cost: CostId, clock: ClockText): FlameCost {
  const id = isMoment(params) ? 'bytes' : cost;
  const { unit, name } = costKind(id);
  const at = momentOf(params) ?? 0;
  return {
    id,
    name: isMoment(params) ? `Alive at ${clock(at, clockDigits(at))}` : name,
    figure: (value) => (params['base'] ? change : figure)(value, unit),
    share: params['base'] ? () => '' : share,
  };
}

export function colouringOf(params: Params): Colouring {
  const chosen = params['color'];
  if (chosen === 'package' || chosen === 'owner') return chosen;
  return params['base'] ? 'change' : 'owner';
}

/* The next way to colour: C goes through them. */
export function nextColouring(params: Params): Colouring {
  const all: Colouring[] = params['base'] ? ['change', 'owner', 'package'] : ['owner', 'package'];
  return all[(all.indexOf(colouringOf(params)) + 1) % all.length] ?? 'owner';
}

/* Packages keep their colours while this page of the browser is open. */
const slotsOf = new Map<string, string[]>();

function packageSlots(rec: string, t: FlameTree, width: Float64Array): string[] {
  const slots = assignPackages(slotsOf.get(rec) ?? [], rankPackages(t, width));
  slotsOf.set(rec, slots);
  return slots;
}

export interface Shown {
  scene: FlameScene;
  width: Float64Array;
  value: Float64Array;
  cost: FlameCost;
  colouring: Colouring;
  packages: readonly string[]; // that have a colour
  view: View; // where the view is to go
  selected: number; // node; -1: none
}

const rootText = (t: FlameTree, cost: FlameCost): string =>
  `${cost.name}: ${join(cost.figure(t.cost[cost.id][0] ?? 0))} in ${group(t.stacks)} call site` +
  (t.stacks === 1 ? '' : 's');

/* touched: id of the node that was clicked or reached by keys last. */
export function useShown(
  tree: FlameTree | null,
  a: Address,
  costId: CostId,
  touched: string | null,
): Shown | null {
  const { params } = a;
  const cost = flameCost(params, costId, useClock());
  const { id } = cost;
  const colouring = colouringOf(params);
  const laid = useMemo(() => {
    if (!tree) return null;
    const width = widthColumn(tree, id);
    const value = tree.base ? valueColumn(tree, id) : width;
    return { tree, width, value, layout: layOut(tree, width) };
  }, [tree, id]);
  const coloured = useMemo(() => {
    if (!laid) return null;
    const packages = colouring === 'package' ? packageSlots(a.rec, laid.tree, laid.width) : [];
    return { packages, colours: coloursOf(laid.tree, colouring, laid.value, packages) };
  }, [laid, colouring, a.rec]);
  const text = params['q'] ?? '';
  const found = useMemo(
    () => (laid && text ? search(laid.tree, searchPattern(text), laid.value, laid.width) : null),
    [laid, text],
  );
  const zoomed = useMemo(() => (tree ? findNode(tree, params['z']) : 0), [tree, params['z']]);
  const scene = useMemo<FlameScene | null>(() => {
    if (!laid || !coloured) return null;
    const { value } = laid;
    return {
      tree: laid.tree,
      layout: laid.layout,
      colours: coloured.colours,
      found,
      rootText: rootText(laid.tree, cost),
      valueText: (node) => join(cost.figure(value[node] ?? 0)),
      zoomed: laid.layout.position[zoomed] === -1 ? 0 : zoomed,
    };
  }, [laid, coloured, found, zoomed, cost.name, params['base']]);
  if (!scene || !laid || !coloured) return null;
  return {
    scene,
    width: laid.width,
    value: laid.value,
    cost,
    colouring,
    packages: coloured.packages,
    view: parseView(params['v']) ?? viewOf(laid.layout, laid.layout.position[scene.zoomed] ?? 0),
    selected: selectedNode(scene, laid.width, params, touched),
  };
}

/* Which box is selected: the one that was touched last, else the zoomed one, else the heaviest of the
 * selected function. */
function selectedNode(
  scene: FlameScene,
  width: Float64Array,
  params: Params,
  touched: string | null,
): number {
  const { tree, zoomed } = scene;
  const selection = selectionOf(params);
  const name = selection?.kind === 'fn' ? selection.key : null;
  const last = touched === null ? 0 : findNode(tree, touched);
  const functionOf = (node: number) => {
    const frame = frameOf(tree, node);
    return frame ? codeName(frame) : null;
  };
  if (last > 0) return last;
  if (name === null) return -1;
  if (zoomed > 0 && functionOf(zoomed) === name) return zoomed;
  return heaviestOf(tree, name, width);
}

/* The address that zooms into a node. */
export const zoomChanges = (t: FlameTree, node: number): Record<string, string | null> => ({
  z: node > 0 ? nodeId(t, node) : null,
  v: null,
});
