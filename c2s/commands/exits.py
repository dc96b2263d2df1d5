"""What the command's exit code says; scripts may rely on it."""

DONE = 0
FAILED = 1  # the job that was watched failed
REFUSED = 2  # the words, the input or the request cannot be used
NOT_FOUND = 3  # there is no such thing
CANCELLED = 4  # the job that was watched was cancelled
AWAY = 5  # the service does not answer, is busy, or took too long: the same command may work later
NOT_ALLOWED = 6  # the key is missing, wrong, or may not do this
INTERRUPTED = 130  # Ctrl-C
UNREAD = 141  # as of other programs that `head` stops: what was asked for may not be done

MEANING = {
    DONE: "done",
    FAILED: "the job that was watched failed",
    REFUSED: "the words, the input or the request cannot be used",
    NOT_FOUND: "there is no such thing",
    CANCELLED: "the job that was watched was cancelled",
    AWAY: "the service does not answer, is busy, or took too long; try again later",
    NOT_ALLOWED: "the key is missing, wrong, or may not do this",
    INTERRUPTED: "Ctrl-C",
    UNREAD: "nobody reads the output any more",
}
