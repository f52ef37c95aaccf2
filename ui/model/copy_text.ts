/* What "copy name, location and costs" (Y) puts on the clipboard. Pure. */
import { COSTS, costOf, type CostValues } from './costs';
import { change, exact, figure, join, share } from './format';
import { frameFull, type FrameName } from './names';

/* One line for the name, one for the location, one for each cost: rounded, exact, share. */
export function costLines(
  frame: FrameName,
  cost: CostValues,
  total: CostValues,
  isChange = false,
): string {
  const lines = COSTS.map(({ id, name, unit }) => {
    const value = costOf(cost, id);
    const rounded = join((isChange ? change : figure)(value, unit));
    const precise = exact(value, unit);
    const part = isChange ? '' : share(value, costOf(total, id));
    const both = rounded === precise ? rounded : `${rounded} (${precise})`;
    return [`${name}: ${both}`, part].filter(Boolean).join(', ');
  });
  return [frameFull(frame), ...lines].join('\n');
}
