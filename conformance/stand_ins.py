"""Stands in for packages that are not installed, where a harness imports them but what is checked does not use them."""

import importlib.abc
import importlib.machinery
import sys
import types


class _Names(type):
    """A class with any name in it."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _thing(name)


def _thing(name):
    """Return a class that takes anything, has any name in it, and can be decorated with."""
    return _Names(name, (), {"__init__": lambda *_, **__: None, "__call__": lambda _, given=None, *__: given})


class _Anything(types.ModuleType):
    """A module with any name in it."""

    __path__: list[str] = []  # noqa: RUF012 - the mark of a package

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _thing(name)


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder: what no other one finds, if the code of one package imports it."""

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
        """There is nothing to run."""

    def _is_asked_by_package(self) -> bool:
        frame = sys._getframe(2)
        while frame is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        return frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == self.package


def stand_in(package: str) -> StandIns:
    """Stand in for whatever a package imports that is not installed."""
    finder = StandIns(package)
    sys.meta_path.append(finder)
    return finder
