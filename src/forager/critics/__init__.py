"""Critics: is this page what we look for? Each critic has a file of its own."""

from collections.abc import Mapping
from typing import cast

from forager import registry
from forager.critics.combine import And, Mixed, Not, Or
from forager.critics.cosine import Cosine
from forager.critics.description import Description
from forager.critics.lexical import LexicalCritic
from forager.critics.mlp import Mlp
from forager.critics.naive_bayes import NaiveBayes
from forager.critics.predicate import Function, Predicate
from forager.critics.rocchio import Rocchio
from forager.critics.svm import LinearSvm
from forager.types import Critic

CRITICS: dict[str, registry.Maker] = {
    "naive-bayes": NaiveBayes,
    "svm": LinearSvm,
    "mlp": Mlp,
    "cosine": Cosine,
    "rocchio": Rocchio,
    "description": Description,
    "lexical": LexicalCritic,
    "predicate": Predicate,
}
GROUP = "forager.critics"  # of entry points


def critic_names() -> list[str]:
    """The names of all critics, also of those from plug-ins."""
    return registry.names(CRITICS, GROUP)


def make_critic(name: str, given: Mapping[str, object], params: Mapping[str, object]) -> Critic:
    """The critic of that name. It gets what it asks for from `given`, and the parameters of a configuration."""
    maker = registry.find("critic", name, builtin=CRITICS, group=GROUP)
    return cast(Critic, registry.make(maker, given, params))


__all__ = [
    "CRITICS",
    "GROUP",
    "And",
    "Cosine",
    "Description",
    "Function",
    "LexicalCritic",
    "LinearSvm",
    "Mixed",
    "Mlp",
    "NaiveBayes",
    "Not",
    "Or",
    "Predicate",
    "Rocchio",
    "critic_names",
    "make_critic",
]
