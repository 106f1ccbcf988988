import pickle

import pytest

from theodolite.core import errors


@pytest.mark.parametrize(
    "error",
    [
        errors.MissingExtraError("ray", "ray", "--engine ray"),
        *(
            getattr(errors, name)("what was wrong")
            for name in errors.__all__
            if name not in {"MissingExtraError", "DamageWarning", "reason_of", "install_line"}
        ),
    ],
    ids=lambda error: type(error).__name__,
)
def test_every_error_travels_between_processes(error):
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy)) == (type(error), str(error))
    assert isinstance(error, errors.TheodoliteError)


def test_a_missing_library_gives_the_exact_install_line():
    told = str(errors.MissingExtraError("ray", "ray", "--engine ray"))
    assert told == "--engine ray needs ray: pip install 'ray>=2.40'"
