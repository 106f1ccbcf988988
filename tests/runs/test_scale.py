"""Many items on disk, killed and resumed. ``python tests/runs/scale.py`` does it with a million."""

import pytest
from scale import killed_and_resumed

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def test_many_items_killed_and_resumed_are_the_same(tmp_path):
    told = killed_and_resumed(3000, 4, tmp_path)
    assert told["items"] == 3000
    assert told["killed"] >= 1
