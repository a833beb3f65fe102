"""Ways to make an agent quicker, each a module of its own that works without the rest and can be left out.

    semantic_cache   answers that were given before are given again
    bounded_tools    tools side by side, but not too many, and never longer than allowed
    inference_pool   as many model calls at once as the GPU has memory for, in a fair order

Each module's first lines say what it saves, what it risks, and where that is known from.
"""
