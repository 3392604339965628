"""The settings of ``hws train`` in one word."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional

from .errors import ArgumentError, ArgumentTypeError


class Recipe(NamedTuple):
    """How robust training is, and how it begins."""

    tail: Optional[float] = None
    beta: Optional[float] = None
    initial_loss: Optional[float] = None
    warm_up: float = 0.0
    importance: bool = False  # weights as in the paper

    def options(self) -> Dict[str, float]:
        """Those of the sampler."""
        known = {"tail": self.tail, "beta": self.beta, "initial_loss": self.initial_loss}
        return {name: value for name, value in known.items() if value is not None}


RECIPES: Dict[str, Recipe] = {
    "images": Recipe(tail=0.1),
    "volumes": Recipe(tail=0.5, warm_up=0.5),
    "paper-images": Recipe(beta=10.0, initial_loss=10.0),
    "paper-volumes": Recipe(beta=100.0, initial_loss=1.0, importance=True),
}


def recipe_called(name: Any, tail: Optional[float], beta: Optional[float]) -> Recipe:
    """The recipe, unless it is unknown or contradicts what else is asked for."""
    if not isinstance(name, str):
        raise ArgumentTypeError(f"recipe must be a string, not {type(name).__name__}")
    if name == "paper":
        raise ArgumentError("the paper has one recipe for images and one for volumes: say 'paper-images' or 'paper-volumes'")
    if name not in RECIPES:
        raise ArgumentError(f"recipe is {name!r}; there are {', '.join(map(repr, RECIPES))}")
    recipe = RECIPES[name]
    for other, value in (("tail", tail), ("beta", beta)):
        if value is not None:
            own = f"beta {recipe.beta:g}" if recipe.tail is None else f"a tail of {recipe.tail:g}"
            raise ArgumentError(f"recipe and {other} cannot be used together: the recipe {name!r} is {own}")
    return recipe
