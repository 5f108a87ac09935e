"""Every item that can be measured, by its name, and what is measured where nothing is named."""

from __future__ import annotations

from collections.abc import Sequence

from rankproof.benchmarks import carrying, growth, guardwords, overlap, simulation, verification
from rankproof.benchmarks.frame import Item
from rankproof.model.errors import unknown_name

ITEMS: dict[str, Item] = {
    item.name: item
    for item in (overlap.ITEM, carrying.ITEM, guardwords.ITEM, growth.ITEM, simulation.ITEM, verification.ITEM)
}
"""In the order in which they are measured and reported."""

FIRST_PICTURE = ("overlap", "guards", "verification")
"""What a quick run measures."""


def items_named(names: Sequence[str], quick: bool) -> list[Item]:
    """The items of these names, or where none is given those of a quick or of a whole run. Raises BadInput."""
    for name in names:
        if name not in ITEMS:
            raise unknown_name("item", name, ITEMS)
    chosen = names or (FIRST_PICTURE if quick else tuple(ITEMS))
    return [item for name, item in ITEMS.items() if name in chosen]
