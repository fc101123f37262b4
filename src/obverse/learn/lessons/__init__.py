"""The lessons, in their order."""

from obverse.learn.lesson import Lesson
from obverse.learn.lessons import (
    auditing,
    census,
    composition,
    context,
    decisions,
    differencing,
    histogram,
    k_anonymity,
    laplace_and_budget,
    linkage,
    local_and_central,
    neighbours,
    reconstruction,
    related,
    sensitivity,
    sets,
    sketches,
    two_coins,
)

LESSONS: tuple[Lesson, ...] = (
    two_coins.LESSON,
    neighbours.LESSON,
    sensitivity.LESSON,
    laplace_and_budget.LESSON,
    histogram.LESSON,
    composition.LESSON,
    differencing.LESSON,
    k_anonymity.LESSON,
    linkage.LESSON,
    reconstruction.LESSON,
    auditing.LESSON,
    local_and_central.LESSON,
    sketches.LESSON,
    census.LESSON,
    decisions.LESSON,
    related.LESSON,
    sets.LESSON,
    context.LESSON,
)
BY_NAME = {lesson.name: lesson for lesson in LESSONS}

__all__ = ["BY_NAME", "LESSONS"]
