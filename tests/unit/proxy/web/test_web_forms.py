"""What a form sent, as what it stands for."""

import pytest
from litestar.datastructures import FormMultiDict

from services.core import errors, models, reviewing
from services.proxy.web import forms


@pytest.mark.parametrize(("given", "expected"), [([], None), ([("category", "")], None), ([("category", "preference")], models.Category.PREFERENCE)])
def test_a_category_may_be_left_open(given: list[tuple[str, str]], expected: models.Category | None) -> None:
    assert forms.category(FormMultiDict(given)) is expected


@pytest.mark.parametrize("given", ["0", "Preference", "preference ", "\0", "x" * 500])
def test_what_is_no_category_or_decision_is_told(given: str) -> None:
    form = FormMultiDict([("category", given), ("decision", given), ("then", given)])
    for read in (forms.category, forms.decision, lambda sent: forms.decision(sent, "then")):
        with pytest.raises(errors.BadInput) as caught:
            read(form)
        assert len(str(caught.value)) < 200


def test_a_decision_has_a_name_of_its_own() -> None:
    form = FormMultiDict([("decision", "reject"), ("then", "approve")])
    assert (forms.decision(form), forms.decision(form, "then")) == (reviewing.Decision.REJECT, reviewing.Decision.APPROVE)
