"""`make chaos`: processes are killed at random instants and at named points while spans come in, and afterwards
what was acknowledged is held against what is stored. Knows processes, signals and tables; knows nothing of stages."""
