"""What Sixstage costs, measured on the processes that `make up` starts. README.md says how to read it."""
