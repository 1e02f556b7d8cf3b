"""The tree of errors that the docstring draws is the tree that exists."""

import re

from jupyter_hermes_chat.protocol import errors


def test_the_drawn_tree_is_the_real_one() -> None:
    drawn = set(re.findall(r"(?:─ |^    )([A-Z]\w+)", errors.__doc__ or "", re.M))
    real = {t.__name__ for t in errors.error_types().values()}
    assert drawn == real


def test_codes_are_unique_and_every_error_has_a_body() -> None:
    types = list(errors.error_types().values())
    for kind in types:
        body = kind("Do this.", field="x").body()["error"]
        assert body == {"code": kind.code, "message": "Do this.", "details": {"field": "x"}}
    subclasses: list[type[errors.HermesChatError]] = [errors.HermesChatError]
    for kind in subclasses:
        subclasses.extend(kind.__subclasses__())
    assert len({k.code for k in subclasses}) == len(set(subclasses))
