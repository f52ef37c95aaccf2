#!/usr/bin/env python3
"""1 000 kills of the target, the writer, both, or their group, at random moments (MP_KILLS)."""
import os

os.environ.setdefault("MP_KILLS", "1000")

import mp  # noqa: E402
import test_manners  # noqa: E402


class Kills(test_manners.Kills):
    pass


if __name__ == "__main__":
    mp.main()
