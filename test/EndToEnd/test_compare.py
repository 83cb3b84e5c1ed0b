"""The rule by which compare.py judges a tensor, on tensors that are wrong: a test that cannot fail shows nothing."""

from __future__ import annotations

from collections.abc import Callable

import compare
import exactness
import ml_dtypes
import numpy as np
import pytest

SIZES = [1, 2, 16, 17, 64, 999, 1000, 5000]


def tensors(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What Tenon gave, the exact values and what JAX gave: both as near as f32 allows."""
    random = np.random.default_rng(size)
    exact = random.standard_normal(size)
    return (exact * (1 + 3e-8)).astype(np.float32), exact, (exact * (1 - 3e-8)).astype(np.float32)


def judged(ours: np.ndarray, exact: np.ndarray, *references: np.ndarray) -> compare.Judgement:
    """The judgement of the rule."""
    return compare.judge_tensor(ours, exact, list(references))


@pytest.mark.parametrize("size", SIZES)
def test_what_is_right_passes(size: int) -> None:
    """Rounding is no error, and NaN and infinities may stand where the exact values have them."""
    judgement = judged(*tensors(size))
    assert not judgement.over_twice and not judgement.over_eight and not judgement.more_than_noise
    ours, exact, reference = tensors(size)
    for place, value in ((0, np.nan), (size // 2, np.inf), (size - 1, -np.inf)):
        for array in (ours, exact, reference):
            array[place] = value
    assert not judged(ours, exact, reference).over_eight


def first_is(value: float) -> Callable[[np.ndarray], np.ndarray]:
    """Replaces one element."""

    def change(array: np.ndarray) -> np.ndarray:
        array = array.copy()
        array[0] = value
        return array

    return change


# What no size of tensor excuses.
WRONG_EVERYWHERE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "nan": first_is(np.nan),
    "infinity": first_is(np.inf),
    "all nan": lambda array: np.full_like(array, np.nan),
    "zeros": np.zeros_like,
    "negated": np.negative,
    "one in a hundred": lambda array: np.where(np.arange(array.size) % 100 == 0, array + 1, array).astype(array.dtype),
    "another type": lambda array: array.astype(np.float64),
    "another shape": lambda array: array.reshape(1, -1),
    "one too few": lambda array: array[:-1],
    "a scalar that broadcasts": lambda array: array.reshape(-1)[:1].reshape(()),
}


@pytest.mark.parametrize("change", WRONG_EVERYWHERE.values(), ids=WRONG_EVERYWHERE)
@pytest.mark.parametrize("size", SIZES)
def test_what_is_wrong_fails(size: int, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Small tensors are no exception."""
    ours, exact, reference = tensors(size)
    judgement = judged(change(ours), exact, reference)
    assert judgement.over_twice and judgement.over_eight and judgement.more_than_noise, judgement


@pytest.mark.parametrize("size", SIZES)
def test_one_wrong_element(size: int) -> None:
    """One element may be wrong where there are a thousand others, two may not."""
    ours, exact, reference = tensors(size)
    ours[0] += 1
    assert judged(ours, exact, reference).over_eight == (size < 1000)
    ours[1 : 2 + size // 1000] += 1
    assert judged(ours, exact, reference).over_eight


def test_finite_where_it_should_not_be() -> None:
    """Missing NaN and infinities of the other sign are found, also where JAX has them."""
    ours, exact, reference = tensors(64)
    exact[3] = reference[3] = np.inf
    assert judged(ours, exact, reference).over_eight
    ours[3] = -np.inf
    assert judged(ours, exact, reference).over_eight
    # JAX is no measure where it fails itself.
    ours, exact, reference = tensors(64)
    reference[3] = np.nan
    assert not judged(ours, exact, reference).over_eight
    assert judged(ours + 1, exact, reference).over_eight


def test_noise() -> None:
    """Where the exact value is zero, other noise of the size of JAX's is right, and anything larger is not."""
    noise = np.random.default_rng(1).standard_normal((2, 64)).astype(np.float32) * np.float32(1e-9)
    assert not judged(noise[0], np.zeros(64), noise[1]).more_than_noise
    assert judged(noise[0] * 1000, np.zeros(64), noise[1]).more_than_noise


def test_sixteen_bits_and_integers() -> None:
    """The rule holds for every type of a state."""
    _, exact, _ = tensors(64)
    reference = exact.astype(ml_dtypes.bfloat16)
    assert not judged(reference, exact, reference).over_eight
    assert judged(reference + reference, exact, reference).over_eight
    count = np.int32(5)
    assert not judged(count, count, count).over_eight
    assert judged(np.int32(6), count, count).over_eight
    assert judged(np.int64(5), count, count).over_eight


def test_models_without_tensors_or_losses_fail() -> None:
    """A comparison that compared nothing has not passed."""
    good = compare.Comparison("x", losses=[1.0], expected=[1.0], tensors=1)
    assert good.passed(1e-5)
    assert not compare.Comparison("x", losses=[1.0], expected=[1.0]).passed(1e-5)
    assert not compare.Comparison("x", losses=[1.0, np.nan], expected=[1.0, 1.0], tensors=1).passed(1e-5)
    assert not compare.Comparison("x", losses=[1.0], first_error=np.nan, tensors=1).passed(1e-5)


def test_states_of_xla() -> None:
    """Missing leaves and states that are not finite are errors there too."""
    ours, exact, reference = tensors(16)
    truth = exactness.Truth(["a", "b"], [exact, exact])
    its = truth.errors([reference, reference, np.float32(0)])
    assert not exactness.above(3, truth.errors([ours, ours]), its)
    with pytest.raises(ValueError, match="shorter"):
        truth.errors([ours])
    ours[2] = np.nan
    assert list(exactness.above(3, truth.errors([reference, ours]), its)) == ["b"]
    with pytest.raises(AssertionError):
        exactness.above(3, {}, {})


def test_the_farthest_of_several_runs_counts() -> None:
    """What is as far off as one run of JAX passes, whatever the others are."""
    ours, exact, reference = tensors(64)
    ours[0] += 1
    farther = reference.copy()
    farther[0] += 1
    assert judged(ours, exact, reference).over_eight
    assert not judged(ours, exact, reference, farther).over_twice
