"""Many runs in a step of time, and the one way to compute a quantile. ``bins``, ``counting``, ``errors``,
``packing`` and ``steps`` are pure: they know neither Django nor the clock."""
