"""``python -m agents.demo``: simulated agents on a simulated engine, told to a running Sixstage by OTLP.

target    where spans go, and whether anybody is there
tools     what the agents can do, with believable delays and failures
prompts   what they are told: instructions and a long history
faq       what is asked again and again
cast      the agents, and what each is asked
world     engines, connections and telemetry of one demo
pace      what starts when, and how it ends
"""
