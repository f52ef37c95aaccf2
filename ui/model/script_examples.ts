/* Scripts to start from, for the console. docs/SCRIPTING.md explains what they use. */
export interface ScriptExample {
  name: string;
  code: string;
}

export const SCRIPT_EXAMPLES: readonly ScriptExample[] = [
  {
    name: 'What leaked, by function',
    code: `local leaked = allocations():only_leaked()
print(leaked)
print(leaked:group_by("function"):sort_by("leaked_bytes"):take(20))
`,
  },
  {
    name: 'Long-lived blocks of one size, by thread, as a graph',
    code: `local list = allocations{ size_min = 48, size_max = 48, lifetime_min = "10%" }
print(list)
graph():add(list:series{ by = "thread" }):title("blocks of 48 bytes"):save("48.svg")
`,
  },
  {
    name: 'What grew in the second half',
    code: `local rows = allocations():growth{ by = "function", from = "50%", limit = 15 }
for _, row in ipairs(rows) do
\tprintln("{}  {}  ({} blocks)", size(row.change_bytes), row:label(), row.change_count)
end
`,
  },
  {
    name: 'Which call sites grow every time marker 3 passes',
    code: `local passes, grew = data:markers(3), {}
for i = 2, #passes do
\tlocal span = { by = "backtrace", from = passes[i - 1].at, to = passes[i].at, limit = 1000 }
\tfor _, row in ipairs(allocations():growth(span)) do
\t\tif row.change_bytes > 0 then
\t\t\tgrew[row.key] = (grew[row.key] or 0) + 1
\t\tend
\tend
end
println("marker 3 passed {} times", #passes)
for key, n in pairs(grew) do
\tif n == #passes - 1 then
\t\tprint(data:backtrace(key):strip())
\tend
end
`,
  },
  {
    name: 'The largest blocks that were never freed',
    code: `for a in allocations():only_leaked():rows{ sort_by = "size", order = "desc", limit = 5 } do
\tprintln("{} at {}, thread {}", size(a.size), duration(a.allocated_at), a.thread)
\tprint(a:backtrace():strip())
end
`,
  },
  {
    name: 'Memory over time: leaked, and the rest',
    code: `local all = allocations()
graph():add("leaked", all:only_leaked()):add("the rest", all):stacked():save("memory.svg")
`,
  },
  {
    name: 'What stands out',
    code: `for _, finding in ipairs(report.findings()) do
\tprintln("{}: {}", finding.kind, finding.title)
end
print(report.health())
`,
  },
];
