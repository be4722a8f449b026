"""The checkout as a stranger finds it: scripts that start, no address of a registry, no path of
somebody's machine.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from scripts.benchmarks.__main__ import HELPERS
from tests.project.tree import ROOT, files
from tests.tables import each_row

SCRIPTS = (
    *(
        "install",
        "chat",
        "serve",
        "lint",
        "check",
        "test",
        "package",
        "build-engine",
        "build-fonts",
        "build-typescript",
        "build-htmlparser",
    ),
    *("bench", "bootstrap", "check-bare", "check-docker", "invoke", "tool", "npm"),
)
REGISTRIES = re.compile(
    "|".join(
        (
            "py" + r"pi\.org",
            r"pythonhosted\.org",
            r"npmjs\.",
            "crates" + r"\.io",
            r"deb\.debian\.org",
        )
    )
)
MACHINE_PATHS = re.compile(r"(?<![\w.])/(?:root|work|Users|home)/[A-Za-z.]")
LOCKED = "uv.lock"


def found(pattern: re.Pattern[str]) -> list[str]:
    """Where a pattern stands in the tree, but for the lock file."""
    return [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files()
        if path.name != LOCKED
        for number, line in enumerate(
            path.read_text(encoding="utf-8", errors="replace").splitlines(), 1
        )
        if pattern.search(line)
    ]


def test_no_file_but_the_lock_names_a_package_registry() -> None:
    own = str(Path(__file__).relative_to(ROOT))

    assert not [place for place in found(REGISTRIES) if not place.startswith(own)]


def test_no_file_names_a_path_of_a_machine() -> None:
    own = str(Path(__file__).relative_to(ROOT))

    assert not [place for place in found(MACHINE_PATHS) if not place.startswith(own)]


@each_row("name", [*(f"scripts/{name}" for name in SCRIPTS), ".ci/run"])
def test_a_script_can_be_started_and_its_shell_understands_it(name: str) -> None:
    path = ROOT / name
    shell = "bash" if "bash" in path.read_text(encoding="utf-8").splitlines()[0] else "sh"

    assert os.access(path, os.X_OK)
    subprocess.run([shell, "-n", path], check=True)


@pytest.mark.parametrize("option", ["--dev", "--packages"])
def test_an_installation_that_stands_is_left_alone(option: str) -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "install", option], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_unknown_option_of_the_installer_is_refused() -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "install", "--nonsense"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stderr.startswith("error: unknown option: --nonsense\nhelp: ")


@each_row(
    ("command", "code", "said"),
    [
        ("check-docker --help", 0, "invoke    calls every function"),
        ("check-docker image kernel", 2, "error: there is no part kernel\nhelp: "),
        (
            "invoke Wroker README.md",
            2,
            "error: there is no function Wroker\nhelp: one of: Webhook, ",
        ),
    ],
)
def test_a_check_says_what_it_takes_before_it_starts_anything(
    command: str, code: int, said: str
) -> None:
    script, *arguments = command.split()
    done = subprocess.run(
        [ROOT / "scripts" / script, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == code
    assert said in done.stdout + done.stderr


def test_without_a_fitting_python_the_installer_says_so(tmp_path: Path) -> None:
    for tool in ("bash", "dirname", "cat", "cksum", "find", "sort", "xargs", "mkdir", "flock"):
        where = next(
            (folder for folder in ("/bin", "/usr/bin") if (Path(folder) / tool).exists()), None
        )
        if where:
            (tmp_path / tool).symlink_to(Path(where) / tool)
    (tmp_path / "checkout" / "scripts").mkdir(parents=True)
    for name in ("install", "surroundings.sh"):
        (tmp_path / "checkout" / "scripts" / name).write_bytes(
            (ROOT / "scripts" / name).read_bytes()
        )

    command = ["/bin/bash", str(tmp_path / "checkout" / "scripts" / "install")]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"PATH": str(tmp_path)}
    )

    assert done.returncode == 1
    assert "no Python 3.11 or newer was found" in done.stderr
    assert "help: " in done.stderr


def test_every_benchmark_has_the_function_that_the_command_calls() -> None:
    benchmarks = [
        path
        for path in (ROOT / "scripts" / "benchmarks").glob("*.py")
        if path.stem not in (*HELPERS, "__init__")
    ]

    assert benchmarks
    assert not [
        path.name
        for path in benchmarks
        if "\ndef run(data: Path | None" not in path.read_text(encoding="utf-8")
    ]
