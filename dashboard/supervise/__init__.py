"""Starts the processes of an instance in order, keeps them running, and stops them in order.

Knows commands, ports and signals; knows nothing of what the processes do, and imports none of them.
"""
