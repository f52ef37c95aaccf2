/* Where a long table is to scroll: to the row of the address when the page opens, to the top when another
 * order or other filters make it another list, and wherever the page says. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { apiFilter } from '../model/filters';
import { useAddress } from './router';

export interface GoTo {
  row: number; // -1: stay
  turn: number; // changes with every move
}

/* `order`: what distinguishes the lists of the page besides the filters. */
export function useGoTo(order: string): { goTo: GoTo; jump: (row: number) => void } {
  const { params } = useAddress();
  const list = `${order} ${JSON.stringify(apiFilter(params))}`;
  const seen = useRef(list);
  const [goTo, setGoTo] = useState<GoTo>({ row: Number(params['row'] ?? -1), turn: 0 });
  const jump = (row: number) => setGoTo((g) => ({ row, turn: g.turn + 1 }));
  useEffect(() => {
    if (seen.current === list) return;
    seen.current = list;
    jump(0);
  }, [list]);
  return { goTo, jump };
}
