"""Rules are evaluated to verdicts, verdicts move alerts, and what changes is told by notifiers.

``core`` is pure: values in, values out, time passed in. Around it stand reading (``readings``), the one transaction
that writes state and outbox (``storing``), sending (``bundling``, ``sending``) and the notifiers, one file each.
"""
