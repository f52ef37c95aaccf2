"""Reports as JSON, for tests of what they say."""
import json
import subprocess

import mp


def run_report(path, *args, env=None, **how):
    return subprocess.run([mp.CLI, "report", *map(str, args), str(path)], capture_output=True,
                          text=True, check=False, timeout=120,
                          env={**mp.clean_environment(), **(env or {})}, **how)


def report(path, *args, **how):
    """The JSON of a report that must succeed."""
    done = run_report(path, "--json", *args, **how)
    if done.returncode != 0:
        raise AssertionError(f"report {path}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def sites(found, kind):
    """{name of the innermost frame of the program: site}"""
    named = {}
    for site in found["lists"][kind]["sites"]:
        own = [f for f in site["frames"] if f["class"] == "own"]
        name = own[0]["function"] if own else None
        if name in named:  # several stacks: add up what the tests look at
            for key in ("peak", "leaked", "temporary"):
                for figure in ("count", "bytes"):
                    named[name][key][figure] += site[key][figure]
            named[name]["allocations"] += site["allocations"]
            named[name]["bytes"] += site["bytes"]
        else:
            named[name] = json.loads(json.dumps(site))
    return named
