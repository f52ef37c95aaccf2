/* Who frees whose blocks: how the server's matrix is drawn. Pure. */

export type Measure = 'count' | 'bytes';

/* How strong a cell is tinted, 0 to 100. The root keeps small values visible beside large ones. */
export const heat = (value: number, max: number): number =>
  max > 0 && value > 0 ? Math.max(6, Math.round(100 * Math.sqrt(value / max))) : 0;
