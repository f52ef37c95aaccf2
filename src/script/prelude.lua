-- script/prelude.lua - what scripts see, made from the primitives of core.c, core_list.c and core_facts.c.
-- docs/SCRIPTING.md is the manual. The text is compiled in, and runs once for each script.
--
-- Nothing here is trusted with the bounds of a script (script_bounds.c): a script may change these tables, and
-- then harms only itself. `core` itself stays hidden: the primitives check all that they are given.
local core, arguments, recordings = ...
local parameters = core.parameters()
local format, concat, floor = string.format, table.concat, math.floor
local Data, List, Groups, Backtrace, Series, Graph = {}, {}, {}, {}, {}, {}

-- ---- standard functions that could run for long in C ----

local function plain(t, n_max)
	if getmetatable(t) ~= nil then
		error("a table with a metatable is not possible here", 3)
	end
	if (n_max or #t) > 1 << 26 then
		error("the table is too long", 3)
	end
	return t
end

local lua_insert, lua_remove, lua_sort, lua_move = table.insert, table.remove, table.sort, table.move
local lua_rep = string.rep
function table.insert(t, ...) return lua_insert(plain(t), ...) end
function table.remove(t, ...) return lua_remove(plain(t), ...) end
function table.move(a, from, to, at, b)
	plain(a, to - from)
	return lua_move(a, from, to, at, plain(b or a))
end
-- The hook of the sandbox runs in the function that compares.
function table.sort(t, is_less)
	lua_sort(plain(t), is_less and function(a, b) return is_less(a, b) end
		or function(a, b) return a < b end)
end
function string.rep(s, n, between)
	if #s + #(between or "") == 0 then
		return ""
	end
	return lua_rep(s, n, between)
end

-- As the manual describes it, on top of resume(), which looks at the bounds.
local create, resume = coroutine.create, coroutine.resume
local function results(ok, ...)
	if not ok then
		error((...), 0)
	end
	return ...
end
function coroutine.wrap(f)
	local co = create(f)
	return function(...) return results(resume(co, ...)) end
end

-- ---- units ----

local function unit(factor)
	return function(n)
		if type(n) ~= "number" then
			error("a number is needed, not a " .. type(n), 2)
		end
		return math.type(n) == "integer" and n * factor or floor(n * factor + 0.5)
	end
end

ns, us, ms, s = unit(1), unit(1000), unit(1000000), unit(1000000000)
m, h, d = unit(60 * 1000000000), unit(3600 * 1000000000), unit(86400 * 1000000000)
kb, mb, gb = unit(1000), unit(1000 * 1000), unit(1000 * 1000 * 1000)
kib, mib, gib = unit(1 << 10), unit(1 << 20), unit(1 << 30)

function size(n) return core.human("size", n) end
function duration(n) return core.human("duration", n) end
function count(n) return core.human("count", n) end

-- ---- JSON ----

local escapes = {b = "\b", f = "\f", n = "\n", r = "\r", t = "\t"}

local function decode(text)
	local at = 1
	local value

	local function token(pattern)
		local first, last = text:find(pattern, at)
		if not first then
			error("the answer is not valid JSON", 0)
		end
		at = last + 1
		return text:sub(first, last)
	end

	local function string_value()
		local parts = {}
		at = at + 1
		while true do
			parts[#parts + 1] = token('^[^"\\]*')
			if text:sub(at, at) == '"' then
				at = at + 1
				return concat(parts)
			end
			local c = text:sub(at + 1, at + 1)
			at = at + 2
			if c == "u" then
				parts[#parts + 1] = utf8.char(tonumber(token("^%x%x%x%x"), 16))
			else
				parts[#parts + 1] = escapes[c] or c
			end
		end
	end

	local function members(close, add)
		at = at + 1
		token("^%s*")
		while text:sub(at, at) ~= close do
			add()
			token("^%s*,?%s*")
		end
		at = at + 1
	end

	function value()
		token("^%s*")
		local c = text:sub(at, at)
		if c == "{" then
			local t = {}
			members("}", function()
				local name = string_value()
				token("^%s*:")
				t[name] = value()
			end)
			return t
		elseif c == "[" then
			local t, n = {}, 0
			members("]", function()
				n = n + 1
				t[n] = value()
			end)
			return t
		elseif c == '"' then
			return string_value()
		end
		local word = token("^[%w%.%+%-]+")
		if word == "true" or word == "false" then
			return word == "true"
		end
		return tonumber(word) -- null: nil
	end

	return value()
end

-- ---- output ----

local function is_record(t)
	return type(t) == "table" and next(t) ~= nil and #t == 0
end

local function cell(v)
	if math.type(v) == "float" then
		return format("%.6g", v)
	end
	return (tostring(v):gsub("%c", " "))
end

local first_columns = {name = 1, thread = 2, size = 3, at = 4, id = 5}

local function sorted_keys(t)
	local keys = {}
	for k in next, t do
		keys[#keys + 1] = k
	end
	table.sort(keys, function(a, b)
		local x, y = first_columns[a] or 9, first_columns[b] or 9
		if x ~= y then
			return x < y
		end
		return tostring(a) < tostring(b)
	end)
	return keys
end

-- Rows of equal fields as lines with aligned columns; numbers to the right.
local function table_text(rows, columns)
	if not columns then
		local seen = {}
		for i = 1, #rows do
			for k, v in next, rows[i] do
				if type(v) ~= "table" then
					seen[k] = true
				end
			end
		end
		columns = sorted_keys(seen)
	end
	local width, is_number, lines = {}, {}, {}
	for c = 1, #columns do
		width[c] = utf8.len(tostring(columns[c])) or 0
		is_number[c] = true
	end
	local cells = {columns}
	for i = 1, #rows do
		local line = {}
		for c = 1, #columns do
			local v = rows[i][columns[c]]
			line[c] = v == nil and "" or cell(v)
			is_number[c] = is_number[c] and (v == nil or type(v) == "number")
			width[c] = math.max(width[c], utf8.len(line[c]) or #line[c])
		end
		cells[i + 1] = line
	end
	for i = 1, #cells do
		local line = {}
		for c = 1, #columns do
			local text = tostring(cells[i][c])
			local gap = (" "):rep(width[c] - (utf8.len(text) or #text))
			line[c] = is_number[c] and gap .. text or text .. gap
		end
		lines[i] = concat(line, "  "):gsub("%s+$", "")
	end
	return concat(lines, "\n")
end

local function value_text(v, depth)
	if type(v) ~= "table" then
		return type(v) == "string" and depth > 0 and format("%q", v) or cell(v)
	end
	local meta = getmetatable(v)
	if type(meta) == "table" and meta.__tostring then
		return tostring(v)
	end
	if depth == 0 and #v > 0 and is_record(v[1]) then
		return table_text(v)
	end
	if depth > 4 then
		return "{...}"
	end
	local parts = {}
	for i = 1, #v do
		parts[i] = value_text(v[i], depth + 1)
	end
	local keys = sorted_keys(v)
	for i = 1, #keys do
		local k = keys[i]
		if math.type(k) ~= "integer" or k < 1 or k > #v then
			parts[#parts + 1] = tostring(k) .. " = " .. value_text(v[k], depth + 1)
		end
	end
	return "{" .. concat(parts, ", ") .. "}"
end

function print(...)
	local parts = {}
	for i = 1, select("#", ...) do
		local v = select(i, ...)
		parts[i] = type(v) == "string" and v or value_text(v, 0)
	end
	core.print(concat(parts, "\t") .. "\n")
end

-- println("{} of {}", a, b), println("{1}, {1}", a): {} is the next value, {n} the nth.
function println(text, ...)
	local values, at = {...}, 0
	if text == nil then
		return print("")
	end
	if type(text) ~= "string" then
		return print(text, ...)
	end
	print((text:gsub("{(%d*)}", function(n)
		if n == "" then
			at = at + 1
			n = at
		end
		return value_text(values[tonumber(n)], 0)
	end)))
end

info = println

function print_table(rows, columns)
	local list = {}
	for i, row in ipairs(rows) do
		list[i] = row
	end
	print(#list == 0 and "(no rows)" or table_text(list, columns))
end

function argv()
	return {table.unpack(arguments)}
end

arg = arguments
exit = core.exit

function dirname(path)
	return path:match("^(.*)/[^/]*$") or "."
end

function save(path, text)
	core.save(path, tostring(text))
end

-- ---- recordings ----

local function make_data(ud)
	return setmetatable({_ud = ud, _facts = core.facts(ud)}, Data)
end

Data.__index = function(t, name)
	return Data[name] or rawget(t, "_facts")[name]
end
Data.__name = "data"
Data.__tostring = function(t)
	return format("recording %s (%s)", t.name, duration(t.duration_ns))
end

function open(path)
	return make_data(core.open(path))
end

local data_list = {}
for i = 1, #recordings do
	data_list[i] = make_data(recordings[i])
end

-- data: the recording itself; data(): the same, as bytehound has it; data[2]: the second one.
Data.__call = function(t) return t end
data = data_list[1]
recordings = data_list
_G.recordings = data_list

local function the_data()
	if not data_list[1] then
		error("there is no recording: name one after -d, or use open(path)", 3)
	end
	return data_list[1]
end

local function moment(self, t, default)
	if t == nil then
		return default
	end
	return type(t) == "string" and core.moment(self._ud, t) or floor(t)
end

function Data:runtime()
	return self.duration_ns
end

function Data:time(text)
	return moment(self, text, 0)
end

function Data:markers(value)
	local all, found = core.markers(self._ud), {}
	for i = 1, #all do
		if value == nil or all[i].value == value then
			found[#found + 1] = all[i]
		end
	end
	return found
end

local function encode(text)
	return (tostring(text):gsub("[^%w%-_%.]", function(c)
		return format("%%%02X", c:byte())
	end))
end

-- Parameters of a question as texts: those that filters have as conditions do, others as they are.
local condition_text

function Data:ask(question, options)
	local parts = {}
	for _, name in ipairs(sorted_keys(options or {})) do
		local value = options[name]
		value = parameters[name] and condition_text(name, value) or value
		parts[#parts + 1] = encode(name) .. "=" .. encode(value)
	end
	if #parts > 0 then
		question = question .. (question:find("?", 1, true) and "&" or "?") .. concat(parts, "&")
	end
	return decode(core.ask(self._ud, question))
end

-- Questions whose answer has one list: name of the function -> question, field.
for name, q in next, {
	findings = {"findings", "findings"}, health = {"health", "lines"}, threads = {"threads", "threads"},
	modules = {"modules", "modules"}, samples = {"samples", "samples"}, notes = {"notes", "notes"},
	maps = {"maps", "maps", 100000}, map_calls = {"map_calls", "calls", 100000}, functions = {"functions", "functions"},
	summary = {"summary"}, sizes = {"sizes"}, lifetimes = {"lifetimes"}, chains = {"chains", "rows"},
	fragmentation = {"fragmentation"}, tree = {"tree"},
} do
	Data[name] = function(self, options)
		if q[3] then
			local all = {count = q[3]}
			for k, v in next, options or {} do
				all[k] = v
			end
			options = all
		end
		local answer = self:ask(q[1], options)
		return q[2] and answer[q[2]] or answer
	end
end

-- ---- filters ----

local function ids(value, out)
	if type(value) == "number" then
		out[#out + 1] = format("%d", value)
	elseif getmetatable(value) == Backtrace then
		out[#out + 1] = format("%d", value.id)
	elseif getmetatable(value) == List then
		ids(value:group_by("backtrace"), out)
	elseif type(value) == "table" and value.stack then
		out[#out + 1] = format("%d", value.stack)
	elseif type(value) == "table" then
		for _, v in ipairs(value) do
			ids(v, out)
		end
	else
		error("backtraces: a number, a backtrace, a list, groups, or a table of these", 0)
	end
	return out
end

function condition_text(name, value)
	local p = parameters[name]
	if not p then
		error(format("there is no condition '%s'; docs/SCRIPTING.md has the list", name), 0)
	end
	if p.type == "ids" and type(value) ~= "string" then
		return concat(ids(value, {}), ",")
	end
	if type(value) == "boolean" and p.choices == "yes|no" then
		return value and "yes" or "no"
	end
	if type(value) == "number" then
		if p.type:find("share") and math.type(value) == "float" and p.type:find("count") then
			return format("%.4f%%", value * 100)
		end
		value = floor(value + 0.5)
		return format(p.type == "time" and "+%dns" or p.type:find("^interval") and "%dns" or "%d", value)
	end
	if type(value) ~= "string" then
		error(format("%s: a text or a number is needed, not a %s", name, type(value)), 0)
	end
	return value
end

-- Conditions of one group mean something together, so those of two calls are not put together.
local relation = {
	window_from = "#window", window_to = "#window", allocated = "#window", freed = "#window",
	function_regex = "#frame", source_regex = "#frame", module_regex = "#frame", to = "#time",
}

local function relation_of(name, value)
	if name == "lifetime" and value:find("current_range") then
		return "#time"
	end
	return relation[name] or name
end

-- One filter for both; nil: they must stay apart.
local function merged(a, b)
	local taken, all = {}, {}
	if a.op or b.op then
		return nil
	end
	for name, value in next, a do
		taken[name], taken[relation_of(name, value)] = true, true
		all[name] = value
	end
	for name, value in next, b do
		if taken[name] or taken[relation_of(name, value)] then
			return nil
		end
		all[name] = value
	end
	return all
end

-- ---- lists of allocations ----

List.__name = "allocations"

local function make_list(of, tree)
	return setmetatable({_data = of, _tree = tree}, List)
end

local recent = {} -- the queries that were used last, newest first

local function query_of(list)
	for i = 1, #recent do
		if rawequal(recent[i][1], list) then
			local e = table.remove(recent, i)
			table.insert(recent, 1, e)
			return e[2]
		end
	end
	local q = core.query(list._data._ud, list._tree)
	table.insert(recent, 1, {list, q})
	recent[9] = nil
	return q
end

function Data:allocations(conditions)
	local list = make_list(self, {})
	return conditions and list:where(conditions) or list
end

function allocations(conditions)
	return the_data():allocations(conditions)
end

function List:where(conditions)
	local leaf = {}
	if type(conditions) ~= "table" then
		error("where: write a table of conditions, such as {size_min = 48}", 2)
	end
	for name, value in next, conditions do
		local ok, text = pcall(condition_text, name, value)
		if not ok then
			error(text, 2)
		end
		leaf[name] = text
	end
	return make_list(self._data, merged(self._tree, leaf) or {op = "and", self._tree, leaf})
end

local function join(op)
	return function(a, b)
		if getmetatable(a) ~= List or getmetatable(b) ~= List then
			error("both sides must be lists of allocations", 2)
		end
		if a._data._ud ~= b._data._ud then
			error("lists of different recordings cannot be joined", 2)
		end
		local tree = op == "and" and merged(a._tree, b._tree) or {op = op, a._tree, b._tree}
		return make_list(a._data, tree)
	end
end

List.__add, List.__bor, List.__band, List.__sub = join("or"), join("or"), join("and"), join("without")

local function total(list)
	local t = rawget(list, "_total")
	if not t then
		t = core.total(query_of(list))
		rawset(list, "_total", t)
	end
	return t
end

function List:total()
	local copy = {}
	for k, v in next, total(self) do
		copy[k] = v
	end
	return copy
end

for _, name in ipairs {"allocations", "bytes", "leaked_count", "leaked_bytes", "temporary_count", "temporary_bytes",
	"extra_bytes", "peak_count", "peak_bytes", "peak_ns", "first_ns", "last_ns", "min_size", "max_size"} do
	List[name] = function(self) return total(self)[name] end
end
List.count, List.len = List.allocations, List.allocations
List.__len = List.allocations

function List:peak()
	local t = total(self)
	return {at = t.peak_ns, bytes = t.peak_bytes, count = t.peak_count}
end

List.__tostring = function(list)
	local t = total(list)
	return format("%s allocations, %s, of these %s leaked", count(t.allocations), size(t.bytes), size(t.leaked_bytes))
end

-- bytehound's filters by name: the condition, and what the argument becomes.
local function same(v) return v end
local function over(v) return v + 1 end
local function under(v) return v - 1 end

local filters = {
	only_larger_than = {"size_min", over}, only_larger = {"size_min", over},
	only_larger_or_equal = {"size_min"}, only_smaller = {"size_max", under}, only_smaller_than = {"size_max", under},
	only_smaller_or_equal = {"size_max"},
	only_first_size_larger = {"first_size_min", over}, only_first_size_larger_or_equal = {"first_size_min"},
	only_first_size_smaller = {"first_size_max", under}, only_first_size_smaller_or_equal = {"first_size_max"},
	only_last_size_larger = {"last_size_min", over}, only_last_size_larger_or_equal = {"last_size_min"},
	only_last_size_smaller = {"last_size_max", under}, only_last_size_smaller_or_equal = {"last_size_max"},
	only_address_at_least = {"address_min"}, only_address_at_most = {"address_max"},
	only_allocated_after_at_least = {"from"}, only_allocated_until_at_most = {"to"},
	only_alive_for_at_least = {"lifetime_min"}, only_alive_for_at_most = {"lifetime_max"},
	only_backtrace_length_at_least = {"backtrace_depth_min"}, only_backtrace_length_at_most = {"backtrace_depth_max"},
	only_chain_length_at_least = {"chain_length_min"}, only_chain_length_at_most = {"chain_length_max"},
	only_chain_alive_for_at_least = {"chain_lifetime_min"}, only_chain_alive_for_at_most = {"chain_lifetime_max"},
	only_position_in_chain_at_least = {"position_in_chain_min"}, only_position_in_chain_at_most = {"position_in_chain_max"},
	only_group_allocations_at_least = {"group_allocations_min"}, only_group_allocations_at_most = {"group_allocations_max"},
	only_group_interval_at_least = {"group_interval_min"}, only_group_interval_at_most = {"group_interval_max"},
	only_group_leaked_allocations_at_least = {"group_leaked_allocations_min"},
	only_group_leaked_allocations_at_most = {"group_leaked_allocations_max"},
	only_group_max_total_usage_first_seen_at_least = {"group_max_total_usage_first_seen_min"},
	only_group_max_total_usage_first_seen_at_most = {"group_max_total_usage_first_seen_max"},
	only_passing_through_function = {"function_regex"}, only_not_passing_through_function = {"negative_function_regex"},
	only_passing_through_source = {"source_regex"}, only_not_passing_through_source = {"negative_source_regex"},
	only_passing_through_module = {"module_regex"}, only_not_passing_through_module = {"negative_module_regex"},
	only_matching_frame = {"frame_regex"},
	only_matching_backtraces = {"backtraces"}, only_not_matching_backtraces = {"negative_backtraces"},
	only_matching_deallocation_backtraces = {"deallocation_backtraces"},
	only_with_marker = {"marker"}, only_from_thread = {"thread"}, only_from_maps = {"from_map"},
}
for name, f in next, filters do
	List[name] = function(self, value)
		local convert = type(value) == "number" and f[2] or same
		if value == nil then
			error(name .. ": an argument is missing", 2)
		end
		return self:where {[f[1]] = convert(value)}
	end
end

for name, conditions in next, {
	only_leaked = {lifetime = "only_leaked"}, only_freed = {lifetime = "only_temporary"},
	only_temporary = {lifetime = "only_temporary"}, only_chain_leaked = {lifetime = "only_chain_leaked"},
	only_freed_at_once = {temporary = "yes"}, only_whole_group_leaked = {lifetime = "only_whole_group_leaked"},
	only_ptmalloc_mmaped = {mmaped = "yes"}, only_ptmalloc_not_mmaped = {mmaped = "no"},
	only_ptmalloc_from_main_arena = {arena = "main"}, only_ptmalloc_not_from_main_arena = {arena = "non_main"},
	only_jemalloc = {jemalloc = "yes"}, only_not_jemalloc = {jemalloc = "no"}, only_crossed = {crossed = "yes"},
} do
	List[name] = function(self) return self:where(conditions) end
end

function List:only_not_matching_deallocation_backtraces(x)
	return self - self:where {deallocation_backtraces = x}
end

function List:only_alive_at(times)
	local list = self
	for _, t in ipairs(type(times) == "table" and times or {times}) do
		list = list:where {alive_at = t}
	end
	return list
end

function List:only_deallocated_after_at_least(t)
	return self:where {freed = "inside", window_from = t}
end

function List:only_deallocated_until_at_most(t)
	return self:where {freed = "inside", window_to = t}
end

function List:only_leaked_or_deallocated_after(t)
	return self:only_leaked() + self:only_deallocated_after_at_least(t)
end

local function no_filter_function(_, name)
	if type(name) == "string" and name:find("^only_") then
		error("there is no filter " .. name .. "; docs/SCRIPTING.md has the list", 2)
	end
	return List[name]
end
List.__index = function(t, name)
	return List[name] or no_filter_function(t, name)
end

-- The conditions as a table; an error if several filters are joined.
function List:conditions()
	if self._tree.op then
		error("the list joins several filters, so it has no single table of conditions", 2)
	end
	local copy = {}
	for k, v in next, self._tree do
		copy[k] = v
	end
	return copy
end

-- Questions of the REST API about a list.
for _, name in ipairs {"findings", "sizes", "lifetimes", "chains", "functions", "tree", "summary", "fragmentation"} do
	List[name] = function(self, options)
		local all = self:conditions()
		for k, v in next, options or {} do
			all[k] = v
		end
		return self._data[name](self._data, all)
	end
end

-- ---- backtraces ----

local function make_backtrace(of, id)
	return id and setmetatable({_data = of, id = id}, Backtrace)
end

function Data:backtrace(id)
	return make_backtrace(self, id)
end

local function frames_of(b)
	local f = rawget(b, "_frames")
	if not f then
		f, b._blame = core.frames(b._data._ud, b.id)
		rawset(b, "_frames", f)
	end
	return f
end

Backtrace.__name = "backtrace"
Backtrace.__index = function(b, k)
	return math.type(k) == "integer" and frames_of(b)[k] or Backtrace[k]
end
Backtrace.__len = function(b) return #frames_of(b) end
Backtrace.__eq = function(a, b) return a.id == b.id and a._data == b._data end

function Backtrace:frames()
	return frames_of(self)
end

-- The frame to blame: the innermost one of the program's own code.
function Backtrace:blame()
	return frames_of(self)[rawget(self, "_blame") or 0]
end

-- Without frames of allocators and run-times.
function Backtrace:strip()
	local kept = setmetatable({_data = self._data, id = self.id, _frames = {}}, Backtrace)
	for _, f in ipairs(frames_of(self)) do
		if f.class ~= "allocator" and f.class ~= "runtime" then
			kept._frames[#kept._frames + 1] = f
		end
	end
	return kept
end

Backtrace.__tostring = function(b)
	local lines = {}
	for i, f in ipairs(frames_of(b)) do
		local place = f.source and format(" (%s:%d)", f.source, f.line or 0) or ""
		lines[i] = format("#%02d %s%s", i - 1, f.name, place)
	end
	return #lines > 0 and concat(lines, "\n") or "(no frames)"
end

-- ---- groups ----

local function escape_regex(text)
	return "\\Q" .. text:gsub("\\E", "\\E\\\\E\\Q") .. "\\E"
end

local group_list = {
	backtrace = function(g) return {backtraces = g.key} end,
	free_backtrace = function(g) return g.free_stack and {deallocation_backtraces = g.free_stack} or {lifetime = "only_leaked"} end,
	thread = function(g) return {thread = g.thread} end,
	size = function(g) return {size_min = g.size, size_max = g.size} end,
	["function"] = function(g) return {blame_regex = "^" .. escape_regex(g.name or "") .. "$"} end,
}
group_list.stack = group_list.backtrace

-- What is behind a row of groups, series or growth.
local function row_meta(list, by)
	local index = {}
	function index.allocations_list(g)
		local make = group_list[by]
		if not make then
			error("a group by " .. by .. " has no list; group by backtrace or function", 2)
		end
		return list:where(make(g))
	end
	index.list = index.allocations_list
	function index.backtrace(g)
		return make_backtrace(list._data, g.stack)
	end
	function index.label(g)
		local frame = g.stack and make_backtrace(list._data, g.stack):blame()
		return g.name or g.size and g.size .. " bytes" or g.thread and "thread " .. g.thread
			or frame and frame.name or "(not known)"
	end
	return {__index = index}
end

local function make_groups(list, by, ud)
	local n, all = core.group_count(ud)
	return setmetatable({_list = list, _by = by, _ud = ud, _n = n, _all = all, _meta = row_meta(list, by)}, Groups)
end

function List:group_by(by)
	return make_groups(self, by, core.groups(query_of(self), by))
end

for _, by in ipairs {"backtrace", "function", "package", "thread", "size", "module", "line", "free_backtrace"} do
	List["group_by_" .. by] = function(self) return self:group_by(by) end
end

Groups.__name = "groups"
Groups.__len = function(g) return rawget(g, "_n") end
Groups.__index = function(g, k)
	if math.type(k) == "integer" then
		local row = core.group(rawget(g, "_ud"), k)
		return row and setmetatable(row, rawget(g, "_meta"))
	end
	return Groups[k]
end

function Groups:len() return self._n end
function Groups:by() return self._by end
-- The figures of all groups of the list, whatever was taken of them.
function Groups:total() return self._all end

function Groups:sort_by(figure, order)
	return make_groups(self._list, self._by, core.group_sort(self._ud, figure, order ~= "asc"))
end

function Groups:take(n)
	return make_groups(self._list, self._by, core.group_take(self._ud, n))
end

-- The groups for which f(group) is true.
function Groups:only(f)
	local picked = {}
	for i = 1, self._n do
		if f(self[i]) then
			picked[#picked + 1] = i
		end
	end
	return make_groups(self._list, self._by, core.group_pick(self._ud, picked))
end

function Groups:only_count_at_least(n)
	return self:only(function(g) return g.allocations >= n end)
end

function Groups:only_all_leaked()
	return self:only(function(g) return g.leaked_count == g.allocations end)
end

for name, how in next, {
	sort_by_size = {"bytes"}, sort_by_size_descending = {"bytes"}, sort_by_size_ascending = {"bytes", "asc"},
	sort_by_count = {"allocations"}, sort_by_count_descending = {"allocations"},
	sort_by_count_ascending = {"allocations", "asc"}, sort_by_leaked = {"leaked_bytes"}, sort_by_peak = {"peak_bytes"},
} do
	Groups[name] = function(self) return self:sort_by(how[1], how[2]) end
end

-- The allocations of these groups.
function Groups:ungroup()
	if self._by ~= "backtrace" and self._by ~= "stack" then
		error("ungroup: only groups by backtrace; others: group:list()", 2)
	end
	return self._list:where {backtraces = self}
end

Groups.__tostring = function(g)
	local rows = {}
	for i = 1, math.min(g._n, 50) do
		local group = g[i]
		rows[i] = {name = group:label(), allocations = group.allocations, bytes = group.bytes,
			leaked_bytes = group.leaked_bytes, peak_bytes = group.peak_bytes}
	end
	local more = g._n > 50 and format("\n... and %d more", g._n - 50) or ""
	return g._n == 0 and "(no groups)"
		or table_text(rows, {"name", "allocations", "bytes", "leaked_bytes", "peak_bytes"}) .. more
end

-- ---- single allocations ----

local function allocation_meta(of)
	return {__name = "allocation", __index = {
		backtrace = function(a) return make_backtrace(of, a.stack) end,
		free_backtrace = function(a) return make_backtrace(of, a.free_stack) end,
		is_leaked = function(a) return a.freed_at == nil end,
	}}
end

-- for a in list:rows{limit = 10, sort_by = "size", order = "desc"} do ... end
function List:rows(o)
	o = o or {}
	local sort, descending = o.sort_by or "time", o.order == "desc" or o.order == "dsc"
	local left, skip, first = o.limit or math.maxinteger, o.skip or 0, 0
	local by_row = sort == "time" and not descending
	local q, meta = query_of(self), allocation_meta(self._data)
	local page, at = {}, 0
	return function()
		at = at + 1
		if page and at > #page then
			if left <= 0 or (at > 1 and #page < 4096) then
				page = nil
			else
				page, at = core.rows(q, sort, descending, skip, math.min(left, 4096), first), 1
				left = left - #page
				if by_row and #page > 0 then
					first, skip = page[#page].id + 1, 0
				else
					skip = skip + #page
				end
			end
		end
		local row = page and page[at]
		return row and setmetatable(row, meta)
	end
end

function List:first(o)
	return self:rows(o)()
end

-- ---- over time ----

Series.__name = "series"
Series.__index = Series
Series.__tostring = function(t)
	return format("series of %d points, %s each, from %s to %s", #t, duration(t.width), cell(t:min()), cell(t:max()))
end

function Series:max()
	local most, at = self[1], 1
	for i = 2, #self do
		if self[i] > most then
			most, at = self[i], i
		end
	end
	return most, self.from + (at - 1) * self.width
end

function Series:min()
	local least = self[1]
	for i = 2, #self do
		least = math.min(least, self[i])
	end
	return least
end

function Series:last() return self[#self] end

local function make_series(values, what, from, to, width)
	values.what, values.from, values.to, values.width = what, from, to, width
	return setmetatable(values, Series)
end

-- One series; with `by`: a table of the groups with the greatest values, each with .values, and .others
function List:series(o)
	o = o or {}
	local what, of = o.what or "bytes", self._data
	local from, to = moment(of, o.from, 0), moment(of, o.to, of.duration_ns)
	local points = o.points or 300
	if not o.by then
		local values, width = core.timeline(query_of(self), what, from, to, points)
		return make_series(values, what, from, to, width)
	end
	local groups, others, width = core.series(query_of(self), o.by, what, from, to, points, o.top or 8)
	local meta = row_meta(self, o.by)
	for _, g in ipairs(groups) do
		make_series(g.values, what, from, to, width)
		setmetatable(g, meta)
	end
	groups.others = make_series(others, what, from, to, width)
	return groups
end

-- What is alive at two moments: rows with what grew most first, and .total
function List:growth(o)
	o = o or {}
	local of, by = self._data, o.by or "function"
	local from, to = moment(of, o.from, 0), moment(of, o.to, of.duration_ns)
	local rows, all = core.growth(query_of(self), by, from, to, o.limit or 50)
	local meta = row_meta(self, by)
	for _, row in ipairs(rows) do
		setmetatable(row, meta)
	end
	rows.total = all
	return rows
end

-- ---- files ----

function List:export(name, path, options)
	core.export(query_of(self), name, path, options or {})
	return path
end

local n_files = 0
local function file_name(kind, path)
	n_files = n_files + 1
	return path or format("%s #%d.svg", kind, n_files)
end

function List:save_as_flamegraph(path, options)
	return self:export("flamegraph", file_name("Flamegraph", path), options)
end

function List:save_as_graph(path)
	return graph():add(self):save(path)
end

function formats() return core.formats() end

-- ---- report ----

report = {}
for _, name in ipairs {"findings", "health", "summary", "threads", "maps", "notes"} do
	report[name] = function(options) return the_data()[name](the_data(), options) end
end
function maps(options) return the_data():maps(options) end

-- ---- graphs ----

Graph.__name = "graph"
Graph.__index = Graph

function graph()
	return setmetatable({_items = {}, _what = "bytes", _points = 400, _legend = true, _axes = true, _grid = true}, Graph)
end

-- add(x), add(label, x): a list, groups, a series, or rows of series{by = ...}
function Graph:add(label, x)
	if x == nil then
		label, x = nil, label
	end
	local meta = getmetatable(x)
	if meta ~= List and meta ~= Groups and meta ~= Series and type(x) ~= "table" then
		error("a graph shows lists, groups and series, not a " .. type(x), 2)
	end
	self._items[#self._items + 1] = {label = label, x = x}
	return self
end

for name, what in next, {show_memory_usage = "bytes", show_live_allocations = "count",
	show_new_allocations = "allocations", show_deallocations = "frees", show_leaked = "leaked_bytes"} do
	Graph[name] = function(self)
		self._what = what
		return self
	end
end

for name, field in next, {without_legend = "_legend", without_axes = "_axes", without_grid = "_grid"} do
	Graph[name] = function(self)
		self[field] = false
		return self
	end
end

for name, fields in next, {trim = {"_left", "_right"}, trim_left = {"_left"}, trim_right = {"_right"},
	only_non_empty_series = {"_only_non_empty"}, stacked = {"_stacked"}} do
	Graph[name] = function(self)
		for _, field in ipairs(fields) do
			self[field] = true
		end
		return self
	end
end

function Graph:start_at(t) self._from = t return self end
function Graph:end_at(t) self._to = t return self end
function Graph:points(n) self._points = n return self end
function Graph:title(text) self._title = text return self end
function Graph:with_gradient_color_scheme(from, to) self._gradient = {from, to} return self end

local colors = {"#3b82f6", "#f59e0b", "#10b981", "#ef4444", "#8b5cf6", "#14b8a6", "#f97316", "#64748b", "#ec4899", "#84cc16"}

local function channel(text, i) return tonumber(text:sub(i, i + 1), 16) end

local function color_of(g, i, n)
	local from, to = g._gradient and g._gradient[1], g._gradient and g._gradient[2]
	if not from then
		return colors[(i - 1) % #colors + 1]
	end
	from, to = from:gsub("#", ""), to:gsub("#", "")
	local t, out = n > 1 and (i - 1) / (n - 1) or 0, "#"
	for k = 1, 5, 2 do
		out = out .. format("%02x", floor(channel(from, k) * (1 - t) + channel(to, k) * t + 0.5))
	end
	return out
end

-- {label, values} of everything that was added. Groups are stacked: no allocation is in two of them.
local function graph_lines(g)
	local lines, of, before = {}, nil, nil
	local options = {what = g._what, points = g._points, from = g._from, to = g._to}
	local function put(label, values)
		lines[#lines + 1] = {label = label or "series " .. #lines + 1, values = values}
	end
	for _, item in ipairs(g._items) do
		local x, meta = item.x, getmetatable(item.x)
		if meta == List then
			local list = x
			of = of or x._data
			-- stacked: an allocation that is in several lists counts in the first one
			if g._stacked and before then
				list = x - before
			end
			before = before and before + x or x
			put(item.label, list:series(options))
		elseif meta == Groups then
			for i = 1, math.min(#x, 20) do
				put(x[i]:label(), x[i]:list():series(options))
			end
			g._stacked = true
		elseif meta == Series then
			put(item.label, x)
		else
			for _, row in ipairs(x) do
				put(row:label(), row.values)
			end
			if x.others and x.others:max() > 0 then
				put("others", x.others)
			end
			g._stacked = true
		end
	end
	return lines
end

local function trim_range(g, lines)
	local n = lines[1] and #lines[1].values or 0
	local first, last = 1, n
	local function is_empty(i)
		for _, line in ipairs(lines) do
			if (line.values[i] or 0) ~= 0 then
				return false
			end
		end
		return true
	end
	while g._left and first < last and is_empty(first) do
		first = first + 1
	end
	while g._right and last > first and is_empty(last) do
		last = last - 1
	end
	return first, last
end

local function xml(text)
	return (tostring(text):gsub("[&<>\"%c]", {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;"}))
end

local is_bytes = {bytes = true, bytes_at_end = true, leaked_bytes = true, allocated_bytes = true, freed_bytes = true}

-- A round step for about n lines of a grid up to most: 1, 2 or 5 times a power of the base.
local function grid_step(most, n, base)
	local step = 1
	while most / step > n do
		for _, factor in ipairs(base == 2 and {2} or {2, 2.5, 2}) do
			step = step * factor
			if most / step <= n then
				break
			end
		end
	end
	return step
end

local function path_of(points)
	local parts = {}
	for i, p in ipairs(points) do
		parts[i] = format("%s%.1f %.1f", i == 1 and "M" or "L", p[1], p[2])
	end
	return concat(parts)
end

local function draw(g)
	local lines = graph_lines(g)
	if g._only_non_empty then
		local kept = {}
		for _, line in ipairs(lines) do
			if line.values:max() ~= 0 then
				kept[#kept + 1] = line
			end
		end
		lines = kept
	end
	local first, last = trim_range(g, lines)
	local legend = g._legend and #lines or 0
	local left, top = g._axes and 84 or 8, g._title and 38 or 16
	local width, bottom = 800, top + 320
	local height, right = bottom + (g._axes and 30 or 8) + 20 * legend, width - 16
	local sums, most = {}, 0
	for i = first, last do
		sums[i] = 0
		for _, line in ipairs(lines) do
			local v = line.values[i] or 0
			sums[i] = sums[i] + v
			most = math.max(most, g._stacked and sums[i] or v)
		end
	end
	most = math.max(most, 1)
	local function x_of(i) return left + (right - left) * (i - first) / math.max(last - first, 1) end
	local function y_of(v) return bottom - (bottom - top) * v / most end
	local out = {format('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" '
		.. 'font-family="sans-serif" font-size="14"><rect width="100%%" height="100%%" fill="#fff"/>',
		width, height, width, height)}
	local function put(...) out[#out + 1] = format(...) end
	if g._title then
		put('<text x="%d" y="24" font-size="17" fill="#111">%s</text>', left, xml(g._title))
	end
	local step = grid_step(most, 6, is_bytes[g._what] and 2 or 10)
	for k = 0, floor(most / step) do
		local y = y_of(k * step)
		if g._grid then
			put('<path d="M%d %.1fH%d" stroke="#e5e7eb"/>', left, y, right)
		end
		if g._axes then
			local text = is_bytes[g._what] and size(floor(k * step)) or count(floor(k * step))
			put('<text x="%d" y="%.1f" text-anchor="end" fill="#555">%s</text>', left - 6, y + 4, xml(text))
		end
	end
	local series = lines[1] and lines[1].values
	for k = 0, g._axes and series and 4 or -1 do
		local i = first + (last - first) * k / 4
		put('<text x="%.1f" y="%d" text-anchor="%s" fill="#555">%s</text>', x_of(i), bottom + 18,
			k == 0 and "start" or k == 4 and "end" or "middle",
			xml(duration(floor(series.from + (i - 1) * series.width))))
	end
	local base = {}
	for n, line in ipairs(lines) do
		local color, points, back = color_of(g, n, #lines), {}, {}
		for i = first, last do
			local v = line.values[i] or 0
			local low = g._stacked and base[i] or 0
			points[#points + 1] = {x_of(i), y_of(low + v)}
			back[#back + 1] = {x_of(i), y_of(low)}
			base[i] = low + v
		end
		if g._stacked or #lines == 1 then
			local area = {}
			for i = 1, #points do
				area[i] = points[i]
			end
			for i = #back, 1, -1 do
				area[#area + 1] = back[i]
			end
			put('<path d="%sZ" fill="%s" fill-opacity="%s"/>', path_of(area), color, g._stacked and "0.75" or "0.25")
		end
		put('<path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>', path_of(points), color)
		if g._legend then
			local y = bottom + (g._axes and 44 or 22) + 20 * (n - 1)
			put('<rect x="%d" y="%d" width="12" height="12" fill="%s"/>', left, y - 10, color)
			put('<text x="%d" y="%d" fill="#111">%s</text>', left + 18, y, xml(line.label))
		end
	end
	out[#out + 1] = "</svg>\n"
	return concat(out, "\n")
end

function Graph:svg() return draw(self) end

function Graph:save(path)
	path = file_name("Graph", path)
	core.save(path, draw(self))
	return path
end
