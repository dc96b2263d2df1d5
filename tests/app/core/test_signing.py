"""Signatures are those of the published examples of AWS Signature Version 4 for S3."""

from datetime import UTC, datetime

import pytest

from app.core import signing

WHO = signing.Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1")
HOST = "examplebucket.s3.amazonaws.com"
GOLDEN = [
    (
        "/test.txt",
        {},
        {"Range": "bytes=0-9"},
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    ),
    ("/", {"lifecycle": ""}, {}, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
    (
        "/",
        {"max-keys": "2", "prefix": "J"},
        {},
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    ),
]


@pytest.mark.parametrize(("path", "query", "headers", "signature"), GOLDEN)
def test_signatures_are_those_of_the_documentation(path, query, headers, signature):
    call = signing.Call("GET", HOST, path, signing.query_string(query), headers)
    signed = signing.signed(call, WHO, at=datetime(2013, 5, 24, tzinfo=UTC))
    assert signed["authorization"].endswith(f"Signature={signature}")


def test_a_secret_is_in_no_representation():
    assert WHO.secret not in repr(WHO)
    call = signing.Call("GET", HOST, "/", "", {})
    assert all(WHO.secret not in value for value in signing.signed(call, WHO).values())
