"""What is trained and how, whichever family it is of: all that a trial asks of network, method and settings."""

from hil.trial.subject.subject import Subject, Tensor

__all__ = ["Subject", "Tensor"]
