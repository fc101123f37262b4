"""The service's OpenAPI 3.1, as it is checked in. Renew it with: python -m obverse.server.http.described > docs/openapi.json"""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from obverse.server.http.problems import MEDIA_TYPE
from obverse.server.http.shapes import Problem

REFERENCE = "#/components/schemas/"
UNUSED = ("HTTPValidationError", "ValidationError")


def described(app: FastAPI) -> dict[str, Any]:
    """What FastAPI knows of the routes; and every error is a problem."""
    told = get_openapi(title=app.title, version=app.version, openapi_version="3.1.0", routes=app.routes)
    schemas = told["components"]["schemas"]
    for name in UNUSED:
        schemas.pop(name, None)
    problem = Problem.model_json_schema(ref_template=REFERENCE + "{model}")
    schemas |= problem.pop("$defs", {}) | {"Problem": problem}
    content = {MEDIA_TYPE: {"schema": {"$ref": REFERENCE + "Problem"}}}
    for path in told["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = {"description": "A problem.", "content": content}
    return told


def page() -> str:
    from obverse.server.desk import Desk
    from obverse.server.http.app import create_app

    return json.dumps(create_app(Desk([])).openapi(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(page(), end="")
