"""Stand-ins for packages that a harness imports, but that are neither installed nor used by the checks."""

import importlib.abc
import importlib.machinery
import sys
import types


class _Names(type):
    """A metaclass whose classes have every attribute."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _thing(name)


def _thing(name):
    """Return a class that accepts any arguments, has every attribute, and works as a decorator."""
    return _Names(name, (), {"__init__": lambda *_, **__: None, "__call__": lambda _, given=None, *__: given})


class _Anything(types.ModuleType):
    """A module that has every attribute."""

    __path__: list[str] = []  # noqa: RUF012 - the mark of a package

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _thing(name)


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder: finds every module that no other one does, if the code of one package imports it."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.used: set[str] = set()

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top == self.package or not self._is_asked_by_package():
            return None
        self.used.add(top)
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        return _Anything(spec.name)

    def exec_module(self, module) -> None:
        """Do nothing: there is no code to run."""

    def _is_asked_by_package(self) -> bool:
        frame = sys._getframe(2)
        while frame is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        return frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == self.package


def stand_in(package: str) -> StandIns:
    """Stand in for everything that a package imports and that is not installed."""
    finder = StandIns(package)
    sys.meta_path.append(finder)
    return finder
