/* What allocators said of themselves, as lines of a chart. Pure. */

export interface AllocatorSample {
  at_ns: number;
  number: number;
  allocator: string;
  allocated: number | null;
  active: number | null;
  resident: number | null;
  mapped: number | null;
}

export interface AllocatorLines {
  name: string;
  at: number[]; // ns, ascending
  allocated: number[]; // handed out, as the allocator counts it
  held: number[]; // what it keeps of the kernel's memory
  word: string; // "resident" or "mapped": what the allocator knows
}

/* The allocator that holds most at its last sample; null: none says both figures. */
export function mainAllocator(samples: readonly AllocatorSample[]): AllocatorLines | null {
  let best: AllocatorLines | null = null;
  for (const number of new Set(samples.map((s) => s.number))) {
    const lines = linesOf(samples.filter((s) => s.number === number));
    const last = (l: AllocatorLines) => l.held[l.held.length - 1] ?? 0;
    if (lines && (!best || last(lines) > last(best))) best = lines;
  }
  return best;
}

function linesOf(own: readonly AllocatorSample[]): AllocatorLines | null {
  const word = own.some((s) => s.resident !== null) ? 'resident' : 'mapped';
  const known = own.filter((s) => s.allocated !== null && s[word] !== null);
  if (!known.length) return null;
  return {
    name: known[0]?.allocator ?? '',
    at: known.map((s) => s.at_ns),
    allocated: known.map((s) => s.allocated ?? 0),
    held: known.map((s) => s[word] ?? 0),
    word,
  };
}
