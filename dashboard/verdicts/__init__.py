"""[pure] Why a run was slow, in sentences. A run's values go in, findings come out, each with the numbers it rests on.

Knows no request, template or table. Nothing is claimed that the numbers do not hold: what is estimated says so, and
what nobody can tell makes no finding.
"""

from dashboard.verdicts.finding import Finding, Verdict
from dashboard.verdicts.judge import judge

__all__ = ["Finding", "Verdict", "judge"]
