"""Steps whose export leaves something open: leaves that were not read, and programs for several devices."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import Step, Steps, refused, run, succeed

SUCCESSORS = {
    # Argument of @main to the result that replaces it; the leaves `average` and `w_last` are no arguments.
    "arg0": 0,  # count
    "arg1": 2,  # mean.hidden
    "arg2": 3,  # params.w
    "arg3": 5,  # params.w_slow
}


@pytest.fixture(scope="module")
def unread(steps: Steps) -> Step:
    """The step with leaves that it writes but does not read."""
    return steps["18_unread_leaves"]


def losses(unread: Step, program: Path, scratch: Path) -> list[float]:
    """The losses of five steps of a compiled file."""
    metrics = scratch / "m.csv"
    succeed("run", program, "--inputs", unread.inputs, "--steps", 5, "--metrics", metrics)
    return [float(line.split(",")[-1]) for line in metrics.read_text().splitlines()[1:]]


def test_unread_leaves_are_asked_for(unread: Step, tmp_path: Path) -> None:
    """Without locations nothing tells which result replaces an argument: the question names both sides and ways out."""
    said = refused(1, "compile", unread.text, "-o", tmp_path / "x.tenon")
    assert "4 of 6 arguments" in said and "--roles" in said and "locations" in said
    assert "arg2" in said and "result 3 result[0]['params']['w']" in said and "result 5" in said
    assert not (tmp_path / "x.tenon").exists()
    refused(1, "inspect", unread.text)


def test_unread_leaves_train_with_locations(unread: Step, tmp_path: Path) -> None:
    """Names tell the succession, and training is right."""
    succeed("compile", unread.located, "-o", tmp_path / "x.tenon")
    np.testing.assert_allclose(losses(unread, tmp_path / "x.tenon", tmp_path), unread.expected_losses(), 1e-5)


def test_unread_leaves_train_with_roles(unread: Step, tmp_path: Path) -> None:
    """So does a roles file, and both give the same bits."""
    roles = {name: {"role": "state", "result": result} for name, result in SUCCESSORS.items()}
    roles |= {"arg4": {"role": "batch"}, "arg5": {"role": "batch"}}
    (tmp_path / "roles.json").write_text(json.dumps(roles))
    succeed("compile", unread.text, "-o", tmp_path / "x.tenon", "--roles", tmp_path / "roles.json")
    with_roles = losses(unread, tmp_path / "x.tenon", tmp_path)
    np.testing.assert_allclose(with_roles, unread.expected_losses(), 1e-5)
    succeed("compile", unread.located, "-o", tmp_path / "y.tenon")
    assert losses(unread, tmp_path / "y.tenon", tmp_path) == with_roles


def test_wrong_succession_would_be_seen(unread: Step, tmp_path: Path) -> None:
    """The test above can fail: with the pairs that the donation attribute suggests, the losses are others."""
    roles = {f"arg{i}": {"role": "state", "result": result} for i, result in enumerate((0, 1, 3, 4))}
    roles |= {"arg4": {"role": "batch"}, "arg5": {"role": "batch"}}
    (tmp_path / "roles.json").write_text(json.dumps(roles))
    succeed("compile", unread.text, "-o", tmp_path / "x.tenon", "--roles", tmp_path / "roles.json")
    wrong = losses(unread, tmp_path / "x.tenon", tmp_path)
    assert not np.allclose(wrong, unread.expected_losses(), 1e-5)


def test_bodies_per_device_are_for_their_mesh(sharded: Steps, tmp_path: Path) -> None:
    """A step with bodies that are written per device is cut over the mesh that its author had, and no other."""
    said = refused(1, "compile", sharded.folder / "16_shard_map_mlp.mlir", "--mesh=data=2,model=4", "-o", tmp_path / "x.tenon")
    assert "is cut along axis 'model' of size 2, and the mesh is data=2,model=4" in said
    assert not (tmp_path / "x.tenon").exists()


def test_shardings_are_ignored_with_a_remark(sharded: Steps, tmp_path: Path) -> None:
    """A program with shardings only is compiled for one device, says so, and is the program for one device."""
    one, many = sharded.with_batch(4, "04_chargpt")["04_chargpt"], sharded["15_chargpt_sharded"]
    outcome = run("compile", many.text, "-o", tmp_path / "x.tenon", "--report", tmp_path / "report.json")
    assert outcome.code == 0
    assert "remark: shardings ignored: a program for 8 devices is compiled for one" in outcome.errors
    assert "shardings" in [remark["name"] for remark in json.loads((tmp_path / "report.json").read_text())["remarks"]]
    ours, theirs = many.losses(tmp_path), one.losses(tmp_path)
    np.testing.assert_allclose(theirs, one.expected_losses(), 1e-4)
    np.testing.assert_allclose(ours, one.expected_losses(), 1e-4)
    np.testing.assert_allclose(ours, theirs, 1e-5)
