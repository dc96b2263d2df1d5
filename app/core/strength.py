"""Which secrets are none: too short, made of a few characters, or a word that everybody tries first."""

SHORTEST = 16
VARIETY = 8  # different characters
TRIED = (
    *(
        "password",
        "passw0rd",
        "changeme",
        "change-me",
        "change_me",
        "secret",
        "default",
        "example",
        "replace",
    ),
    *("postgres", "letmein", "qwerty", "admin", "12345678", "abcdefgh", "your-", "your_"),
)


def weakness(secret: str) -> str | None:
    """What is wrong with a secret, in words that do not repeat it; None: nothing."""
    if len(secret) < SHORTEST:
        return f"has fewer than {SHORTEST} characters"
    if len(set(secret)) < VARIETY:
        return f"has fewer than {VARIETY} different characters"
    if any(word in secret.lower() for word in TRIED):
        return "contains a word that everybody tries first"
    return None
