"""What schemathesis makes up from the OpenAPI description is answered as the description says."""

import schemathesis
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from config.wsgi import application

CHECKS = [not_a_server_error, response_schema_conformance, status_code_conformance]

described = schemathesis.openapi.from_dict(SchemaGenerator().get_schema(request=None, public=True))
described.app = application


@described.include(tag="runner").parametrize()
@settings(max_examples=8, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
def test_answers_are_as_described(case, api):
    answer = case.call(headers=api.box.bearer)

    case.validate_response(answer, checks=CHECKS)
