"""The pages: one view module each. A view parses, calls one read function a panel, renders; what it shows is
worked out in ``parts``, from the values of the read layer."""
