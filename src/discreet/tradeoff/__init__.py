"""What privacy costs: utility against ε, and how the loss falls on groups of people.

After Fan & Tian, section 5.1 (privacy and utility) and section 5.2 (privacy and fairness).
"""

from discreet.tradeoff.choice import Recommendation, recommend
from discreet.tradeoff.curves import Curve
from discreet.tradeoff.fairness import Fairness, fairness
from discreet.tradeoff.running import curve

__all__ = ["Curve", "Fairness", "Recommendation", "curve", "fairness", "recommend"]
