"""What is built from the checkout: every folder of code, typed, under the one name `rankproof`."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import rankproof

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = PYPROJECT["tool"]["setuptools"]
FOLDER_OF: dict[str, str] = SETUPTOOLS["package-dir"]


def modules_in_checkout() -> dict[str, Path]:
    """Each Python file of the rooms, by its path once installed (such as `rankproof/model/words.py`)."""
    return {
        "/".join((*package.split("."), *path.relative_to(ROOT / folder).parts)): path
        for package, folder in FOLDER_OF.items()
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, built without the network from a copy: what earlier builds left in the checkout cannot slip in."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, copy)
    for folder in FOLDER_OF.values():
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", "dist", "."]
    done = subprocess.run(build, cwd=copy, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = (copy / "dist").glob("*.whl")
    return built


def test_every_folder_of_code_is_a_listed_package() -> None:
    on_disk = {path.rpartition("/")[0].replace("/", ".") for path in modules_in_checkout()}
    assert sorted(SETUPTOOLS["packages"]) == sorted(on_disk)


def test_every_folder_of_code_has_an_init() -> None:
    folders = {path.parent for path in modules_in_checkout().values()}
    assert [str(folder.relative_to(ROOT)) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_the_wheel_puts_only_rankproof_into_site_packages(wheel: Path) -> None:
    top = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert top == {"rankproof", f"rankproof-{PYPROJECT['project']['version']}.dist-info"}


def test_the_wheel_holds_every_module_of_the_checkout(wheel: Path) -> None:
    built = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")}
    assert sorted(built) == sorted(modules_in_checkout())


def test_the_wheel_is_typed(wheel: Path) -> None:
    assert "rankproof/py.typed" in zipfile.ZipFile(wheel).namelist()


def test_the_version_is_the_one_of_the_project() -> None:
    assert rankproof.__version__ == version("rankproof") == PYPROJECT["project"]["version"]


@pytest.mark.parametrize("room", [name for name in FOLDER_OF if name != "rankproof"])
def test_a_room_is_found_from_the_root_of_the_checkout(room: str) -> None:
    """`python -c` and `python -m` put the working directory first, where ./rankproof is only the front door."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    code = f"import importlib.util; assert importlib.util.find_spec({room!r}), 'not found'"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_pin_is_exact() -> None:
    pins = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert [pin for pin in pins if pin.count("==") != 1 or "+" in pin or "*" in pin] == []
