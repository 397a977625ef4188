"""What a wrong setting is told."""

from __future__ import annotations

import pytest

from memstrata.errors import SettingsError
from memstrata.settings import load_settings


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"hot_capcity": 3}, "hot_capcity is no setting; did you mean hot_capacity?"),
        ({"zzz": 3}, "zzz is no setting; docs/settings.md lists all"),
        ({"hot_capacity": "many"}, "hot_capacity: Input should be a valid integer"),
    ],
)
def test_a_wrong_setting_is_named_with_the_likely_one(given: dict[str, object], told: str) -> None:
    with pytest.raises(SettingsError, match=told.replace("?", r"\?")):
        load_settings(**given)
