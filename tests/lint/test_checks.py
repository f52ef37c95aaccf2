"""Each check of tools/ can fail: toy trees that are wrong in one way, and right ones that pass."""
import contextlib
import io
import os
import pathlib
import shutil
import subprocess
import unittest

from toy import ROOT, TOOLS, Toy

import check_docs  # noqa: E402
import check_layers  # noqa: E402
import check_limits  # noqa: E402
import check_symbols  # noqa: E402
import check_unused  # noqa: E402
import check_words  # noqa: E402
import gen_env_docs  # noqa: E402
import run_tests  # noqa: E402


class Layers(Toy):
    def complaints(self, name, text):
        self.write(name, text)
        return check_layers.check(self.root)

    def test_allowed_include_passes(self):
        self.assertEqual(self.complaints("src/record/ring.c", '#include "base/bits.h"\n'), [])

    def test_recorder_may_not_see_util(self):
        found = self.complaints("src/record/hooks.c", '#include <x.h>\n#include "util/vec.h"\n')
        self.assertEqual(found, ["src/record/hooks.c:2: record/ may not include util/"])

    def test_private_header_of_another_folder(self):
        found = self.complaints("src/query/scan.c", '#include "store/store_i.h"\n')
        self.assertIn("private", found[0])

    def test_c_file_is_not_a_header(self):
        self.assertIn("not a header", self.complaints("src/base/a.c", '#include "base/b.c"\n')[0])

    def test_unqualified_include(self):
        self.write("src/base/b.h", "")
        self.assertIn("folder/file.h", self.complaints("src/base/a.c", '#include "b.h"\n')[0])

    def test_public_header_is_free(self):
        text = '#include "memory_profiler.h"\n'
        self.assertEqual(self.complaints("src/record/control.c", text), [])

    def test_unknown_folder(self):
        self.assertIn("no row", self.complaints("src/misc/a.c", "")[0])

    def test_cpu_name_outside_arch(self):
        found = self.complaints("src/unwind/walk.c", "#ifdef __x86_64__\n#endif\n")
        self.assertIn("CPU names", found[0])
        self.assertEqual(len(found), 1)

    def test_cpu_name_inside_arch_passes(self):
        self.assertEqual(self.complaints("src/arch/x86_64/regs.h", "#ifdef __x86_64__\n"), [])

    def test_header_of_one_cpu_stays_behind_the_contract(self):
        text = '#include "arch/x86_64/regs.h"\n'
        self.assertIn("one CPU", self.complaints("src/unwind/walk.c", text)[0])

    def test_third_party_header_has_named_users(self):
        self.assertEqual(self.complaints("src/format/compress.c", "#include <lz4.h>\n"), [])
        found = self.complaints("src/format/block.c", "#include <lz4hc.h>\n")
        self.assertEqual(found, ["src/format/block.c:1: only src/format/compress.c may include "
                                 "<lz4hc.h>"])

    def test_unit_test_sees_its_folder_and_its_private_header(self):
        self.write("src/unwind/cfi.c", "")
        text = '#include "unwind/tables_i.h"\n#include "harness/test.h"\n#include "base/bits.h"\n'
        self.assertEqual(self.complaints("tests/unit/test_cfi_rows.c", text), [])

    def test_unit_test_of_the_recorder_may_not_see_util(self):
        self.write("src/record/ring.c", "")
        found = self.complaints("tests/unit/test_ring.c", '#include "util/err.h"\n')
        self.assertIn("may not include util/", found[0])

    def test_program_may_not_see_our_sources(self):
        found = self.complaints("tests/programs/leak.c", '#include "base/bits.h"\n')
        self.assertIn("may not include base/", found[0])


class Circles(Toy):
    def include(self, name, *others):
        self.write(name, "".join(f'#include "{other}"\n' for other in others))

    def test_chain_passes(self):
        self.include("src/util/a.c", "util/a.h")
        self.include("src/util/a.h", "util/b.h", "base/c.h")
        self.include("src/util/b.h", "base/c.h")
        self.include("src/base/c.h")
        self.assertEqual(check_layers.check_cycles(self.root), [])

    def test_circle_of_three_modules_fails(self):
        self.include("src/util/a.h", "util/b.h")
        self.include("src/util/b.h", "util/c.h")
        self.include("src/util/c.h", "util/a.h", "util/d.h")
        self.include("src/util/d.h")  # included by the circle, not part of it
        self.assertEqual(check_layers.check_cycles(self.root),
                         ["src/util/a.h:1: modules include each other in a circle: "
                          "util/a util/b util/c"])

    def test_circle_through_a_source_and_a_private_header_fails(self):
        self.include("src/util/a.h")
        self.include("src/util/a.c", "util/b_i.h")
        self.include("src/util/b_i.h")
        self.include("src/util/b.c", "util/a.h")
        self.assertIn("util/a util/b", check_layers.check_cycles(self.root)[0])

    def test_two_circles_are_two_complaints(self):
        for one, other in (("a", "b"), ("c", "d")):
            self.include(f"src/util/{one}.h", f"util/{other}.h")
            self.include(f"src/util/{other}.h", f"util/{one}.h")
        self.assertEqual(len(check_layers.check_cycles(self.root)), 2)

    def test_only_the_option_looks_for_circles(self):
        self.include("src/util/a.h", "util/b.h")
        self.include("src/util/b.h", "util/a.h")
        command = [TOOLS / "check_layers.py", self.root]
        plain = subprocess.run(command, check=False, capture_output=True)
        cycles = subprocess.run([*command, "--cycles"], check=False, capture_output=True)
        self.assertEqual((plain.returncode, cycles.returncode), (0, 1))


class Words(Toy):
    GLOSSARY = ("# Glossary\n\n## Words\n\n- **lane** (`record/lane.h`): a stream.\n"
                "- **stack id, number** (`docs/a.md`): a number.\n\n"
                "## Retired words\n\n- grub, own_grass: say allocation\n")

    def setUp(self):
        super().setUp()
        self.glossary = self.write("docs/GLOSSARY.md", self.GLOSSARY)
        self.write("src/record/lane.h", "/* a lane */\n")
        self.write("docs/a.md", "an allocation\n")

    def test_right_tree_passes(self):
        self.assertEqual(check_words.check(self.root), [])

    def test_retired_word_fails_in_a_comment_and_in_a_name(self):
        self.write("src/record/lane.h", "/* its grub */\nint grub_ns;\nint own_grass_at;\n")
        self.assertEqual([f.rpartition(":")[0] for f in check_words.check(self.root)],
                         ['src/record/lane.h:1: "grub"', 'src/record/lane.h:2: "grub"',
                          'src/record/lane.h:3: "own_grass"'])

    def test_retired_word_fails_in_a_document(self):
        self.write("docs/a.md", "the grubs of a day: grub\n")
        self.assertEqual(len(check_words.check(self.root)), 1)

    def test_part_of_another_word_passes(self):
        self.write("docs/a.md", "regrub, grubby\n")
        self.assertEqual(check_words.check(self.root), [])

    def test_word_with_two_entries_fails(self):
        self.glossary.write_text(self.GLOSSARY.replace("- **lane**", "- **number**: n.\n- **lane**"))
        self.assertEqual(check_words.check(self.root),
                         ['docs/GLOSSARY.md:7: "number" has an entry in line 5'])

    def test_entry_that_names_no_file_fails(self):
        self.write("src/record/lane.h", "").unlink()
        self.assertEqual(check_words.check(self.root),
                         ["docs/GLOSSARY.md:5: no such file: record/lane.h"])

    def test_this_tree_passes(self):
        self.assertEqual(check_words.check(ROOT), [])


class Unused(Toy):
    """check_unused.py reads object files: the toy trees are compiled."""

    USED = "int used(void)\n{\n\treturn 1;\n}\n"
    MAIN = "int used(void);\nint main(void)\n{\n\treturn used();\n}\n"

    def complaints(self, **sources):
        self.write("src/record/exports.map", "")
        for name, text in sources.items():
            path = self.write(f"src/base/{name}.c", text)
            target = self.root / f"build/core.p/src_base_{name}.c.o"
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([os.environ.get("CC", "cc"), "-c", "-w", "-o", target, path], check=True)
        return check_unused.check(self.root, self.root / "build")

    def test_called_by_another_file_passes(self):
        self.assertEqual(self.complaints(a=self.USED, main=self.MAIN), [])

    def test_called_by_nothing_fails(self):
        text = self.USED + "int idle(void) /* not used() */\n{\n\treturn 2;\n}\n"
        self.assertEqual(self.complaints(a=text, main=self.MAIN),
                         ["src/base/a.c:1: idle(): nothing calls it"])

    def test_called_by_tests_only_fails(self):
        self.write("tests/unit/test_a.c", "int idle(void);\nint f(void)\n{\n\treturn idle();\n}\n")
        text = self.USED + "int idle(void)\n{\n\treturn 2;\n}\n"
        self.assertIn("only tests call it", self.complaints(a=text, main=self.MAIN)[0])

    def test_called_by_its_own_file_only_fails(self):
        text = "int inner(void)\n{\n\treturn 2;\n}\nint used(void)\n{\n\treturn inner();\n}\n"
        self.assertIn("make it static", self.complaints(a=text, main=self.MAIN)[0])

    def test_called_in_code_that_the_build_leaves_out_passes(self):
        self.write("src/base/a.h", "int slow(void);\nstatic inline int f(void)\n{\n"
                                   "\treturn CONFIG_SLOW ? slow() : 0;\n}\n")
        text = self.USED + "int slow(void)\n{\n\treturn 2;\n}\n"
        self.assertEqual(self.complaints(a=text, main=self.MAIN), [])
        self.write("src/base/a.h", "int slow(void);\n")
        self.assertIn("slow(): nothing calls it", self.complaints(a=text, main=self.MAIN)[0])

    def test_this_tree_passes(self):
        self.assertEqual(check_unused.check(ROOT, pathlib.Path(os.environ["MP_BUILD"])), [])

    def test_exception_with_a_reason_passes_while_it_is_needed(self):
        allow = self.write("tools/unused.allow", "# why\nidle: called by a debugger\n")
        text = self.USED + "int idle(void)\n{\n\treturn 2;\n}\n"
        self.assertEqual(self.complaints(a=text, main=self.MAIN), [])
        allow.write_text("used: no reason\n")
        self.assertEqual(self.complaints(a=self.USED, main=self.MAIN),
                         ["tools/unused.allow:1: used needs no exception"])


class Limits(Toy):
    def complaints(self, name, text):
        self.write(name, text)
        return check_limits.check(self.root)

    def function(self, body, signature="int f(void)"):
        return f"{signature}\n{{\n{body}}}\n"

    def test_small_file_passes(self):
        self.assertEqual(self.complaints("src/base/a.c", self.function("\treturn 0;\n")), [])

    def test_long_files(self):
        self.assertEqual(self.complaints("src/base/a.c", "\n" * 1000), [])
        self.assertIn("1001 lines", self.complaints("src/base/a.c", "\n" * 1001)[0])
        self.assertIn("401 lines", self.complaints("src/base/a.h", "\n" * 401)[-1])

    def test_long_function(self):
        self.assertEqual(self.complaints("src/base/a.c", self.function("\tx();\n" * 100)), [])
        found = self.complaints("src/base/a.c", self.function("\tx();\n" * 101))
        self.assertEqual(found, ["src/base/a.c:2: function of 101 lines (at most 100)"])

    def test_many_parameters(self):
        six = "int f(int a, int b, void (*c)(int, int, int), int d,\n      int e, int g{})"
        self.assertEqual(self.complaints("src/base/a.c", self.function("", six.format(""))), [])
        found = self.complaints("src/base/a.c", self.function("", six.format(", int h")))
        self.assertIn("7 parameters", found[0])

    def test_raw_system_call_has_seven(self):
        signature = "long s(long n, long a, long b, long c, long d, long e, long f)"
        text = self.function("", signature)
        self.assertEqual(self.complaints("src/arch/x86_64/syscall.h", text), [])

    def test_deep_nesting(self):
        def nest(n):
            opening = "".join("\t" * (i + 1) + "if (x) {\n" for i in range(n))
            closing = "".join("\t" * (i + 1) + "}\n" for i in reversed(range(n)))
            return opening, closing
        opening, closing = nest(4)
        shallow = self.function(opening + "\t\t\t\t\tstruct a b = {0, {1}};\n" + closing)
        self.assertEqual(self.complaints("src/base/a.c", shallow), [])
        deep = self.function(opening + "\t\t\t\t\tif (y)\n\t\t\t\t\t\tz();\n" + closing)
        self.assertIn("nesting of 5", self.complaints("src/base/a.c", deep)[0])
        opening, closing = nest(5)
        self.assertIn("nesting of 5",
                      self.complaints("src/base/a.c", self.function(opening + closing))[0])

    def test_braces_in_text_do_not_count(self):
        text = self.function('\tputs("{{{{{{"); /* {{{{{{ */\n')
        self.assertEqual(self.complaints("src/base/a.c", text), [])

    def test_same_name_twice(self):
        self.write("src/base/list.h", "")
        self.assertIn("already", self.complaints("src/util/list.h", "")[0])

    def test_same_name_in_two_cpus_passes(self):
        self.write("src/arch/arm/regs.h", "")
        self.assertEqual(self.complaints("src/arch/x86_64/regs.h", ""), [])

    def test_allow_list(self):
        self.write("tools/limits.allow", "# why\nsrc/base/a.c:file\n")
        self.assertEqual(self.complaints("src/base/a.c", "\n" * 1001), [])

    def test_our_own_allow_list_is_empty(self):
        self.assertEqual((TOOLS / "limits.allow").read_text().strip(), "")


class Symbols(Toy):
    MAP = "MP_1 {\nglobal: /* hooks */\n\tmalloc;\n\tmemory_profiler_*;\nlocal:\n\t*;\n};\n"
    CODE = ("int memory_profiler_start(void) { return 0; }\n"
            "void *malloc(unsigned long n) { return 0; }\n")

    def run_check(self, code, exports=MAP, imports="# none\n"):
        source = self.write("a.c", code)
        library = self.root / "a.so"
        cc = os.environ.get("CC", "cc")
        subprocess.run([cc, "-shared", "-fPIC", "-w", "-fno-builtin", "-fno-stack-protector",
                        "-o", library, source], check=True)
        lists = [str(self.write("exports.map", exports)), str(self.write("imports.allow", imports))]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            code = check_symbols.main(["", str(library), *lists])
        return code, out.getvalue()

    def test_as_listed_passes(self):
        self.assertEqual(self.run_check(self.CODE), (0, ""))

    def test_unlisted_export(self):
        code, out = self.run_check(self.CODE + "int helper(void) { return 1; }\n")
        self.assertEqual(code, 1)
        self.assertIn("exports helper", out)

    def test_missing_export(self):
        code, out = self.run_check(self.CODE.replace("*malloc", "*my_malloc"))
        self.assertEqual(code, 1)
        self.assertIn("does not define malloc", out)

    def test_unlisted_import(self):
        code, out = self.run_check(self.CODE.replace("return 0; }\nvoid", "return puts(); }\nvoid"))
        self.assertEqual(code, 1)
        self.assertIn("uses puts", out)

    def test_listed_import_passes(self):
        code, _ = self.run_check(self.CODE.replace("return 0; }\nvoid", "return puts(); }\nvoid"),
                                 imports="puts # said so\n")
        self.assertEqual(code, 0)


class Format(Toy):
    def run_check(self, text):
        self.write("src/base/a.c", text)
        shutil.copy(ROOT / ".clang-format", self.root)
        return subprocess.run([TOOLS / "check_format.py", self.root], check=False,
                              capture_output=True).returncode

    def setUp(self):
        super().setUp()

    def test_formatted_passes(self):
        self.assertEqual(self.run_check("int f(void)\n{\n\treturn 0;\n}\n"), 0)

    def test_unformatted_fails(self):
        self.assertNotEqual(self.run_check("int f(void) { return 0; }\n"), 0)


class Docs(Toy):
    DEF = ('/* OPTION(not, an, "entry", "x") */\n#ifndef OPTION\n#endif\n'
           'OPTION(output, STRING, "a_%e.dat", "Where to, with (brackets), commas "\n'
           '       "and \\"quotes\\".\\n\\n   * `%p` -> pid")\n'
           'OPTION(LOG, LEVEL, NULL, "Level.") // OPTION(\n')

    def test_entries_are_read(self):
        first, second = gen_env_docs.parse_options(self.DEF)
        self.assertEqual(first, ("MEMORY_PROFILER_OUTPUT", "string", "a_%e.dat",
                                 'Where to, with (brackets), commas and "quotes".\n\n'
                                 "   * `%p` -> pid"))
        self.assertEqual(second, ("MEMORY_PROFILER_LOG", "level", None, "Level."))

    def test_broken_entries_are_refused(self):
        for text in ('OPTION(a, b, "c"', 'OPTION(a, b, "c")', 'OPTIN(a, b, "c", "d")'):
            with self.assertRaises(gen_env_docs.BadEntry):
                gen_env_docs.parse_options(text)

    def quiet_check(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            return check_docs.check(self.root), out.getvalue()

    def test_stale_document_fails_until_written(self):
        source = self.write("src/record/options.def", self.DEF)
        target = self.write("docs/ENVIRONMENT.md", "old")
        failed, out = self.quiet_check()
        self.assertTrue(failed)
        self.assertIn("run tools/gen_env_docs.py", out)
        self.assertEqual(gen_env_docs.main(["", str(source), str(target)]), 0)
        self.assertEqual(self.quiet_check(), (False, ""))
        source.write_text(self.DEF.replace("Level.", "Other."))
        self.assertTrue(self.quiet_check()[0])

    def test_default_may_be_a_macro_of_an_included_header(self):
        self.write("src/format/name.h", '#define NAME "a_%e.dat"\n')
        source = self.write("src/record/options.def",
                            '#include "format/name.h"\nOPTION(OUTPUT, TEXT, NAME, "Where to.")\n')
        target = self.write("docs/ENVIRONMENT.md", "")
        self.assertEqual(gen_env_docs.main(["", str(source), str(target)]), 0)
        self.assertIn("Default: `a_%e.dat`\n", target.read_text())

    def test_example_that_its_file_does_not_hold_fails(self):
        self.write("src/record/options.def", "")
        gen_env_docs.main(["", str(self.root / "src/record/options.def"),
                           str(self.write("docs/ENVIRONMENT.md", ""))])
        self.write("docs/a.md", "A\n\n<!-- from src/a.c -->\n```c\nint a;\n\tint b;\n```\n")
        source = self.write("src/a.c", "int a;\nint b;\nint c;\n")
        self.assertEqual(self.quiet_check(), (False, ""))
        source.write_text("int b;\nint a;\n")
        self.assertEqual(self.quiet_check(),
                         (True, "docs/a.md:3: not in src/a.c: copy the example again\n"))

    def test_broken_link_fails(self):
        self.write("src/record/options.def", "")
        gen_env_docs.main(["", str(self.root / "src/record/options.def"),
                           str(self.write("docs/ENVIRONMENT.md", ""))])
        self.write("README.md", "[a](docs/ENVIRONMENT.md#x) [b](https://example.org) [c](no.md)\n")
        failed, out = self.quiet_check()
        self.assertTrue(failed)
        self.assertEqual(out, "README.md:1: no such file: no.md\n")

    def test_version_that_the_code_does_not_have_fails(self):
        self.write("src/format/format.h", "#define FORMAT_VERSION_MAJOR 4\n#define FORMAT_VERSION_MINOR 0\n")
        text = "# The recording format, version 4\n| version_major: 4. |\n| version_minor: 0. |\n| 4.0 | this page |\n"
        self.write("docs/FORMAT.md", text)
        self.write("docs/man/a.1.md", "a format version (text), and format version **4**\n")
        self.assertEqual(check_docs.wrong_versions(self.root), [])
        self.write("docs/FORMAT.md", text.replace("4.0 |", "3.0 |"))
        self.assertEqual(check_docs.wrong_versions(self.root),
                         ["docs/FORMAT.md: states FORMAT_VERSION_MAJOR as 3, src/format/format.h has 4"])
        self.write("docs/FORMAT.md", text)
        self.write("docs/man/a.1.md", "format version **3**\n")
        self.assertEqual(len(check_docs.wrong_versions(self.root)), 1)


class DefaultBuild(unittest.TestCase):
    """What `make` builds, it builds on a machine that has the packages of group build only."""

    def test_needs_no_package_of_the_benchmarks(self):
        inputs = subprocess.run(["ninja", "-C", os.environ["MP_BUILD"], "-t", "inputs", "all"],
                                check=True, capture_output=True, text=True).stdout.split()
        self.assertTrue(any(path.endswith("src/cli/main.c") for path in inputs))
        users = [path for path in inputs if path.endswith("bench/unwind.c")]  # libunwind-dev
        self.assertEqual(users, [])


class Totals(unittest.TestCase):
    def test_sums_over_runs_and_names_what_was_skipped(self):
        results = [("a", {"name": "x", "result": "OK"}), ("b", {"name": "x", "result": "TIMEOUT"}),
                   ("b", {"name": "y", "result": "FAIL"}),
                   ("b", {"name": "z", "result": "SKIP", "stdout": "no\nroot needed\n"})]
        line, notes, failed = run_tests.summary(results)
        self.assertEqual(line, "1 passed, 2 failed, 1 skipped")
        self.assertEqual(notes, ["skipped: z (b): root needed"])
        self.assertEqual(failed, 2)


if __name__ == "__main__":
    unittest.main()
