"""The supervisor of `c2s up` lives as long as the service, so it holds little."""

import subprocess
import sys


def test_the_supervisor_loads_neither_database_nor_web_framework():
    said = "import sys, app.embedded; print({'sqlalchemy', 'alembic', 'fastapi', 'numpy'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
