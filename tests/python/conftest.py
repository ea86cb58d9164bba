"""Settings of the suite: every test starts and ends with the library's global state at its defaults."""

import pytest
from common import T


@pytest.fixture(autouse=True)
def clean_state():
    T.manual_seed(0)
    yield
    assert T.is_grad_enabled(), "the test left grad mode off"
    assert T.get_default_dtype() is T.float32, "the test left another default dtype"
