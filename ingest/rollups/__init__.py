"""Many runs in a step of time, and the one way to compute a quantile."""
