"""A web made from a seed: pages computed from their URL when asked for, none of them stored."""

from forager_lab.webs.procedural.plan import WebPlan
from forager_lab.webs.procedural.web import ProceduralWeb, Response

__all__ = ["ProceduralWeb", "Response", "WebPlan"]
