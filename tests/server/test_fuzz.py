"""The OpenAPI document, fuzzed: whatever fits it, or does not, is answered as it says, and never with a failure."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from memstrata.server.verbs import EXPORT, VERBS, Verb

from .conftest import Serving

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 4


FUZZED = [verb for verb in (*VERBS, EXPORT) if verb.name != "ask"]  # which needs a model


@pytest.mark.parametrize("verb", FUZZED, ids=lambda verb: verb.name)
def test_every_call_is_answered_as_the_document_says(serving: Serving, verb: Verb) -> None:
    document = serving.client().get("/openapi.json").json()
    schema = schemathesis.openapi.from_dict(document)
    operation = schema[verb.path][verb.method]
    client = serving.client(serving.key("fuzz"))

    @given(case=operation.as_strategy())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    def check(case: schemathesis.Case) -> None:
        answer = case.call(base_url=serving.url, headers=dict(client.headers))
        case.validate_response(answer, checks=CHECKS)

    check()
