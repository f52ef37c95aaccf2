"""Nested lists, dicts and strings: built, written as JSON, read back, searched. Run with PYTHONMALLOC=malloc."""
import json
import random
import re
import sys


def tree(r, depth):
    if depth == 0:
        return {"id": r.randrange(1 << 40), "name": "n%d" % r.randrange(10 ** 6), "x": r.random()}
    return {"kind": "branch%d" % (r.randrange(20)),
            "children": [tree(r, depth - 1) for _ in range(r.randrange(2, 6))],
            "tags": ["tag-%d" % r.randrange(1000) for _ in range(3)]}


def count(node):
    return 1 + sum(count(c) for c in node.get("children", ()))


def main(rounds):
    r = random.Random(7)
    total = 0
    word = re.compile(r'"(name|kind)": "([a-z]+)(\d+)"')
    for _ in range(rounds):
        forest = [tree(r, 6) for _ in range(4)]
        text = json.dumps(forest)
        back = json.loads(text)
        total += sum(count(t) for t in back)
        names = {}
        for _kind, stem, number in word.findall(text):
            names.setdefault(stem, []).append(int(number))
        total += sum(len(v) for v in names.values())
        lines = [line.strip().upper() for line in re.sub(r"([{}])", r"\1\n", text).split("\n")]
        total += len(set(lines))
    print(total)


main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
