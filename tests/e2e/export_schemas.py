"""JSON schemas of the foreign formats that test_export.py checks, written from their definitions.

speedscope: src/lib/file-format-spec.ts of speedscope. DHAT: the comment above the writer in
dhat/dh_main.c of Valgrind ("File format", version 2). Both without what we never write.
"""

COUNT = {"type": "integer", "minimum": 0}
TEXT = {"type": "string"}


def record(required, optional=None):
    return {"type": "object", "properties": {**required, **(optional or {})},
            "required": list(required), "additionalProperties": False}


SPEEDSCOPE = record({
    "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
    "shared": record({"frames": {"type": "array", "items": record(
        {"name": TEXT}, {"file": TEXT, "line": COUNT, "col": COUNT})}}),
    "profiles": {"type": "array", "minItems": 1, "items": record({
        "type": {"const": "sampled"},
        "name": TEXT,
        "unit": {"enum": ["none", "nanoseconds", "microseconds", "milliseconds", "seconds",
                          "bytes"]},
        "startValue": COUNT,
        "endValue": COUNT,
        "samples": {"type": "array", "items": {"type": "array", "items": COUNT, "minItems": 1}},
        "weights": {"type": "array", "items": COUNT},
    })},
}, {"name": TEXT, "exporter": TEXT, "activeProfileIndex": COUNT})

DHAT = record({
    "dhatFileVersion": {"const": 2},
    "mode": TEXT,
    "verb": TEXT,
    "bklt": {"const": True},
    "bkacc": {"const": False},
    "tu": TEXT,
    "Mtu": TEXT,
    "tuth": COUNT,
    "cmd": TEXT,
    "pid": COUNT,
    "tg": COUNT,
    "te": COUNT,
    "pps": {"type": "array", "items": record({
        **{name: COUNT for name in ("tb", "tbk", "tl", "mb", "mbk", "gb", "gbk", "eb", "ebk")},
        "fs": {"type": "array", "items": COUNT, "minItems": 1},
    })},
    "ftbl": {"type": "array", "items": TEXT, "minItems": 1},
})
