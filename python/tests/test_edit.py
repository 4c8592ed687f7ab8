"""Edits, texts and pictures."""

import shutil

import frazil
import numpy as np
import pytest


@pytest.fixture(scope="module")
def model():
    g = frazil.Graph("small")
    x = g.input("x", "float32", ("N",))
    y = g.Relu(x, name="relu")
    g.output("y", g.LeakyRelu(y + 1, alpha=0.5, name="leaky"))
    return g.build(threads=1)


def test_replace(model):
    with model.edit("clip") as p:
        p.replace("relu", p.Min(p.tap("relu"), 2.0))
        p.add_output("kept", p.tap("relu"))
    assert p.model([1, 5])[0].tolist() == [2, 3] and p.model.options.threads == 1
    assert p.model.run({"x": [1, 5]})["kept"].tolist() == [1, 5]
    assert model([1, 5]).tolist() == [2, 6], "the old one is as it was"
    with p.model.edit() as q:
        q.remove_output("kept")
    assert len(q.model.outputs) == 1


def test_attributes_and_removal(model):
    with model.edit() as p:
        p.set_attribute("leaky", "alpha", 0.25)
    assert "0.25" in p.model.text()
    with model.edit() as p:
        p.replace("leaky", p.tap("relu"))
        p.remove("leaky")
    assert "LeakyRelu" not in p.model.operators


def test_failed_edits(model):
    with pytest.raises(frazil.BadInput, match="nothing.*" + __file__):
        with model.edit() as p:
            p.tap("nothing")
    with pytest.raises(frazil.BadInput, match="has not been committed"):
        p.model
    with pytest.raises(frazil.Error, match="cannot replace"):
        with model.edit("clash") as p:
            p.replace("relu", p.constant([1]))
    with pytest.raises(frazil.BadModel, match="attribute 'alpha': expected float, got string"):
        with model.edit() as p:
            p.set_attribute("leaky", "alpha", "q")
    with pytest.raises(ZeroDivisionError):
        with model.edit() as p:
            1 / 0
    with model.edit() as p:
        p.add_output("z", p.tap("relu"))
    with pytest.raises(frazil.BadInput, match="committed"):
        p.tap("relu")


def test_texts(model):
    assert model.text().startswith("graph small") and "Relu" in model.explain()
    assert model.dot().startswith("digraph") and model.operators == ["Add", "LeakyRelu", "Relu"]


def test_pictures(model, monkeypatch):
    if shutil.which("dot"):
        assert model._repr_svg_().startswith("<svg") and model._repr_html_().startswith("<svg")
    monkeypatch.setenv("PATH", "")
    assert model._repr_svg_() is None
    assert model._repr_html_().startswith("<pre>graph small")


def test_a_graph_in_a_notebook(monkeypatch):
    g = frazil.Graph("drawn")
    g.output("y", g.input("x", "float32") + 1)
    monkeypatch.setenv("PATH", "")
    assert "graph drawn" in g._repr_html_() and repr(g) == "<frazil.Graph 'drawn'>"


def test_save(model, tmp_path):
    big = frazil.Graph()
    x = big.input("x", "float32", (1000,))
    big.output("y", x + np.arange(1000, dtype=np.float32))
    big.build().save(tmp_path / "m.onnx", external_bytes=1000)
    assert (tmp_path / "m.onnx.data").stat().st_size >= 4000
    assert frazil.load(tmp_path / "m.onnx")(np.zeros(1000, np.float32))[999] == 999
