"""Random requests for a server: half-sensible ones, and bytes that are hardly HTTP."""
import collections
import random
import socket
import urllib.parse

PATHS = (
    "/", "/list", "/nothing", "/data/last/timeline", "/data/last/timeline_leaked",
    "/data/last/timeline_maps", "/data/last/fragmentation_timeline", "/data/last/allocations",
    "/data/last/allocation_groups", "/data/last/raw_allocations", "/data/last/tree",
    "/data/last/mmaps", "/data/last/maps", "/data/last/backtrace/1", "/data/last/backtrace/x",
    "/data/last/backtraces", "/data/last/regions", "/data/last/mallopts",
    "/data/last/allocation_ascii_tree", "/data/last/dynamic_constants",
    "/data/last/dynamic_statics_ascii_tree/x", "/data/last/export/flamegraph",
    "/data/last/export/heaptrack", "/data/last/export/replay", "/data/last/export/pprof",
    "/data/last/export/none", "/data/zzz/timeline", "/api/v1/recordings", "/api/v1/filters",
    "/api/v1/last/summary", "/api/v1/last/allocations", "/api/v1/last/thread_matrix",
    "/api/v1/last/groups", "/api/v1/last/functions",
    "/api/v1/last/callers", "/api/v1/last/tree", "/api/v1/last/timeline", "/api/v1/last/peak",
    "/api/v1/last/fragmentation", "/api/v1/last/threads", "/api/v1/last/modules",
    "/api/v1/last/samples", "/api/v1/last/notes", "/api/v1/openapi.json",
    "/api/v1/last/stack/1", "/api/v1/last/stack/x", "/api/v1/last/search", "/api/v1/last/source",
)
NAMES = (
    "from", "to", "lifetime", "address_min", "address_max", "size_min", "size_max", "first_size_min",
    "last_size_max", "lifetime_min", "lifetime_max", "backtrace_depth_min", "backtraces",
    "deallocation_backtraces", "mmaped", "arena", "jemalloc", "function_regex", "source_regex",
    "negative_function_regex", "negative_source_regex", "marker", "group_interval_min",
    "group_allocations_min", "group_leaked_allocations_min", "chain_length_min", "alive_at",
    "alive_at_2", "from_map", "sort_by", "order", "skip", "count", "by", "graph", "direction",
    "min_share", "function", "at", "buckets", "cost", "resolution", "strip_template_args", "token",
    "under", "depth", "fold", "fold_regex", "hide_regex", "collapse_recursion", "own_regex", "q",
    "module_q", "source_q", "file", "gap", "thread", "allocated", "freed", "window_from", "window_to", "temporary", "module_regex", "x",
)
VALUES = (
    "", "0", "1", "2", "10", "100", "1000", "65536", "4294967295", "4294967296",
    "18446744073709551615", "18446744073709551616", "-1", "1.5", "50%", "0%", "100%", "101%",
    "1e9", "0x10", "yes", "no", "true", "false", "main", "all", "only_leaked", "only_temporary",
    "only_chain_leaked", "only_whole_group_leaked", "size", "address", "asc", "dsc", "desc",
    "all.size", "only_matched.size", "bytes", "peak_bytes", "stack", "thread", "line", "top_down",
    "bottom_up", "inside", "outside", "m.*n", "(", "[", "(a+)+$", "\\", ".*", "%", "%%", "%00",
    "%zz", "%ff%fe", "1s", "1h3m", "5ms", "leaked", "a" * 300, "\u00fc", "'", '"', "<b>", "1,2,3", "runtime",
    "/etc/passwd", "../x.c",
)


class Fuzzer:
    def __init__(self, server, seed):
        self.server = server
        self.random = random.Random(seed)

    def target(self):
        rng = self.random
        path = rng.choice(PATHS)
        pairs = []
        for _ in range(rng.choice((0, 0, 1, 1, 2, 3, 5))):
            value = rng.choice(VALUES)
            if rng.random() < 0.6:
                value = urllib.parse.quote(value)
            pairs.append(f"{rng.choice(NAMES)}={value}")
        return path + ("?" + "&".join(pairs) if pairs else "")

    def sensible(self):
        """A request that is HTTP at least."""
        target = self.target().encode("utf-8", "replace").replace(b" ", b"+")
        headers = b"Host: localhost\r\nConnection: close\r\n"
        if self.random.random() < 0.3:
            headers += b"Accept-Encoding: gzip, zstd\r\n"
        return b"GET " + target + b" HTTP/1.1\r\n" + headers + b"\r\n"

    def mutated(self):
        """The same with some bytes changed, removed, doubled."""
        rng = self.random
        data = bytearray(self.sensible())
        for _ in range(rng.randint(1, 8)):
            at = rng.randrange(len(data)) if data else 0
            kind = rng.randrange(4)
            if kind == 0 and data:
                data[at] = rng.randrange(256)
            elif kind == 1:
                del data[at:at + rng.randrange(1, 20)]
            elif kind == 2:
                data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 20)))
            else:
                data[at:at] = data[at:at + rng.randrange(1, 40)]
        return bytes(data)

    def one(self, data, wild):
        """Sends a request, sometimes hangs up early; the status, or 0 when there was none."""
        rng = self.random
        with socket.create_connection((self.server.host, self.server.port), timeout=120) as s:
            try:
                s.sendall(data)
                if rng.random() < 0.1:
                    return 0
                if wild:
                    s.shutdown(socket.SHUT_WR)  # it may be half a request: there comes no more
                got = s.recv(4096)
                if rng.random() < 0.5:
                    while s.recv(1 << 16):
                        pass
            except (BrokenPipeError, ConnectionResetError, socket.timeout):
                return 0
        if not got.startswith(b"HTTP/1."):
            return 0
        return int(got.split(b" ", 2)[1])

    def run(self, n, sensible=False):
        statuses = collections.Counter()
        for _ in range(n):
            wild = not sensible and self.random.random() < 0.4
            statuses[self.one(self.mutated() if wild else self.sensible(), wild)] += 1
        return statuses
