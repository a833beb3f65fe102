"""The one error of this package: something cannot go on, and its text says what to do about it."""


class StartError(Exception):
    """Cannot start or go on; the message is written for whoever typed `make up`."""
