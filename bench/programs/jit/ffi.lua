-- malloc and free from traces. usage: ffi.lua TIMES
local ffi = require("ffi")
ffi.cdef[[void *malloc(size_t); void free(void *);]]
local kept = {}
for i = 1, tonumber(arg[1]) do
	local block = ffi.C.malloc(16 + i % 100)
	local old = kept[i % 64]
	if old then ffi.C.free(old) end
	kept[i % 64] = block
end
