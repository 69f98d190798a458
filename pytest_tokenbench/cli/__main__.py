"""As the installed command: `python -m pytest_tokenbench.cli`."""

import sys

from pytest_tokenbench.cli import main

sys.exit(main())
