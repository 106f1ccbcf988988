import numpy as np
import pytest
import torch
from textbook import OPTIONS

from theodolite.attribution import attribute, captum_method
from theodolite.core.errors import UsageError

attr = pytest.importorskip("captum.attr")


def test_captum_methods_agree_with_ours(model, requests):
    """What captum computes on hidden states is what our own methods compute there."""
    mine = captum_method("captum-abs", attr.InputXGradient, layer=-2)
    norm = captum_method("captum-norm", attr.Saliency, layer=-2, reduce="norm", arguments={"abs": False})
    found = attribute(
        model,
        requests,
        [OPTIONS] * 3,
        methods=["grad-act-absolute", "gradient-norm", mine, norm],
        targets=["pred"],
    )
    for each in found:
        for one, other in (("captum-abs", "grad-act-absolute"), ("captum-norm", "gradient-norm")):
            wanted = each.find(other, "pred")
            np.testing.assert_allclose(each.find(one, "pred").values, wanted.values, rtol=1e-4)
            assert each.find(one, "pred").text_mass == pytest.approx(wanted.text_mass, rel=1e-4)


def test_integrated_gradients_of_captum_agree_with_ours(model, requests):
    """Captum's middle-point rule from a given baseline, and our sound variant from the mean token."""
    from theodolite.attribution.evidence import LAYERS
    from theodolite.attribution.methods import integrated_gradients as ours

    class FromMean(attr.IntegratedGradients):
        def attribute(self, inputs, target):
            return super().attribute(
                inputs,
                baselines=inputs.detach().mean(dim=1, keepdim=True).expand_as(inputs),
                target=target,
                n_steps=ours.STEPS,
                method="riemann_middle",
                internal_batch_size=len(inputs),
            )

    theirs = captum_method("captum-ig", FromMean, layer=LAYERS[0], reduce="sum")
    (found,) = attribute(model, requests[:1], [OPTIONS], methods=["integrated-gradients-sound", theirs])
    wanted = found.find("integrated-gradients-sound", "pred").values
    np.testing.assert_allclose(found.find("captum-ig", "pred").values, wanted, atol=1e-5 * wanted.max())


def test_the_sound_integral_is_complete(model, requests):
    """Attributions from the mean token sum to the change of the logit; those from zero do not have to."""
    from theodolite.attribution.method import Method, Need
    from theodolite.attribution.methods import integrated_gradients as ours

    gaps = {}

    def probe(evidence, target):
        start = ours.mean_token(evidence, -2)
        alphas = [(i + 0.5) / 200 for i in range(200)]
        whole = ours.integrate(evidence, target, -2, baseline=start, alphas=alphas)
        gaps["gap"] = ours.completeness_gap(evidence, target, -2, whole, start)
        gaps["change"] = whole.sum(dim=(1, 2))
        return whole.sum(dim=-1).abs()

    attribute(model, requests[:1], [OPTIONS], methods=[Method("probe", "", "", Need.TAIL, probe)])
    assert float(gaps["gap"].abs().max()) < 1e-2 * float(gaps["change"].abs().max())


def test_a_layer_that_is_not_kept_is_refused():
    with pytest.raises(UsageError, match="layer"):
        captum_method("x", attr.Saliency, layer=-9)


def test_the_models_own_gradients_are_left_alone(model, requests):
    asking = [parameter.requires_grad for parameter in model.checkpoint.model.parameters()]
    attribute(model, requests[:1], [OPTIONS], methods=[captum_method("x", attr.Saliency)])
    assert asking == [parameter.requires_grad for parameter in model.checkpoint.model.parameters()]
    assert all(parameter.grad is None for parameter in model.checkpoint.model.parameters())
    assert torch.is_grad_enabled()
