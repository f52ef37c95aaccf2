"""Fetches Debian source packages, for their test suites: once, into a folder of the build.

The lists of source packages are read with a configuration of its own, so that the system's stays.
"""
import pathlib
import re
import subprocess

SYSTEM_LISTS = ("/etc/apt/sources.list", "/etc/apt/sources.list.d")


def debian_entries():
    """The system's Debian archives, as entries for source packages."""
    found = []
    paths = [pathlib.Path(SYSTEM_LISTS[0]), *sorted(pathlib.Path(SYSTEM_LISTS[1]).glob("*"))]
    for path in paths:
        if not path.is_file():
            continue
        for part in re.split(r"\n\s*\n", path.read_text()):
            if path.suffix == ".sources" and "debian-archive-keyring" in part:
                found.append(re.sub(r"^Types:.*$", "Types: deb-src", part, flags=re.M))
            elif path.suffix != ".sources":
                found += entries_of_line_format(part)
    return found


def entries_of_line_format(text):
    lines = re.findall(r"^deb\s+(?:\[[^]]*\]\s+)?(\S*debian\S*)\s+(\S+)\s+(.+)$", text, re.M)
    return [f"Types: deb-src\nURIs: {uri}\nSuites: {suite}\nComponents: {components}"
            for uri, suite, components in lines]


def apt_options(folder):
    return ["-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={folder}/apt/sources.d",
            "-o", f"Dir::State::lists={folder}/apt/lists", "-o", f"Dir::Cache={folder}/apt/cache"]


def update(folder):
    """Reads the lists of source packages, once."""
    for name in ("sources.d", "lists/partial", "cache"):
        (folder / "apt" / name).mkdir(parents=True, exist_ok=True)
    lists = folder / "apt/sources.d/debian.sources"
    if not lists.exists():
        lists.write_text("\n\n".join(debian_entries()) + "\n")
        subprocess.run(["apt-get", "-q", *apt_options(folder), "update"], check=True,
                       stdout=subprocess.DEVNULL)


def fetch(package, folder):
    """folder/<package> is then the unpacked source of the package."""
    link = folder / package
    if link.exists():
        return
    update(folder)
    own = folder / f"{package}.tmp"
    own.mkdir(exist_ok=True)
    subprocess.run(["apt-get", "-q", *apt_options(folder), "source", "--only-source", package],
                   cwd=own, check=True, stdout=subprocess.DEVNULL)
    unpacked = [p for p in own.iterdir() if p.is_dir()]
    if len(unpacked) != 1:
        raise AssertionError(f"source package {package} gave {unpacked}")
    link.symlink_to(unpacked[0])
