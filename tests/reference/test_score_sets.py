"""Real score sets: NIST BSSR1, CIFAR-10 networks, IEMOCAP emotions, MNIST Gaussians; their numbers from elsewhere."""

import runpy
from pathlib import Path

import pytest

from likely import (
    AffineCalibrator,
    FusedClassifier,
    LogisticFusion,
    Trials,
    cross_entropy,
    cross_entropy_after_affine,
    kfold_calibrate,
)

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def bssr1(score_set):
    return score_set("bssr1_set1.npz")


@pytest.fixture(scope="module")
def halves(bssr1):
    """Calibrate on subjects below 258, test on the others; subject column 365 failed to enrol and is left out."""
    rows, columns = bssr1["row_id"], bssr1["col_id"]
    enrolled = columns != 365
    low, high = (rows < 258) & (columns < 258), (rows >= 258) & (columns >= 258)
    scores, labels = bssr1["scores"], bssr1["label"]
    return [(scores[half & enrolled], labels[half & enrolled]) for half in (low, high)]


@pytest.mark.parametrize(
    ("system", "hull", "step"), [(0, 4.32, 4.45), (1, 5.65, 5.80), (2, 8.35, 8.51), (3, 4.77, 5.04)]
)
def test_equal_error_rates_of_four_biometric_systems(bssr1, system, hull, step):
    trials = Trials(bssr1["label"], bssr1["scores"][:, system])

    assert round(100 * trials.eer(), 2) == hull
    assert round(100 * trials.eer("step"), 2) == step


def test_fusion_of_four_biometric_systems(halves):
    (train, y_train), (test, y_test) = halves
    trials = Trials(y_test, LogisticFusion().fit(train, y_train).transform(test))

    assert trials.cllr() == pytest.approx(0.0770, abs=5e-5)
    assert trials.min_cllr() == pytest.approx(0.0099, abs=5e-5)
    assert 100 * trials.eer() == pytest.approx(0.465, abs=5e-4)
    assert 100 * trials.eer("step") == pytest.approx(0.68, abs=5e-3)


# Four systems together make no mistake on four fifths of the calibration half.
@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
def test_score_columns_are_fused_by_the_classifier_too(halves):
    (train, y_train), (test, y_test) = halves
    fused = FusedClassifier(cv=5).fit(train, y_train)

    assert Trials(y_test, fused.llr(test)).cllr() == pytest.approx(0.0770, abs=5e-5)
    assert Trials(y_train, fused.calibrated_scores_).cllr() < 0.2


def test_calibration_of_one_biometric_system(halves):
    (train, y_train), (test, y_test) = halves
    given = Trials(y_test, test[:, 0])
    trials = Trials(y_test, AffineCalibrator(training_prior=0.5).fit(train[:, 0], y_train).transform(test[:, 0]))

    assert given.cllr() == pytest.approx(1.004, abs=5e-4)
    assert 100 * given.eer() == pytest.approx(4.06, abs=5e-3)
    assert trials.cllr() == pytest.approx(0.152, abs=5e-4)
    assert trials.min_cllr() == pytest.approx(0.136, abs=5e-4)


# Cross-entropies in nats at equal priors: as the networks are, after the best affine calibration on the same scores,
# and after calibration by 5 folds.
@pytest.mark.parametrize(
    ("network", "raw", "best", "folded"),
    [
        ("resnet20", 0.2815, 0.2318, 0.2328),
        ("vgg19_bn", 0.3519, 0.2372, 0.2381),
        ("repvgg_a2", 0.2122, 0.1686, 0.1698),
    ],
)
def test_calibration_lowers_the_cross_entropy_of_cifar10_networks(score_set, network, raw, best, folded):
    arrays = score_set("cifar10_scores.npz")
    scores, y = arrays[f"{network}_scores"], arrays[f"{network}_label"]

    assert cross_entropy(y, scores) == pytest.approx(raw, abs=5e-5)
    assert cross_entropy_after_affine(y, scores) == pytest.approx(best, abs=5e-5)
    assert cross_entropy(y, kfold_calibrate(AffineCalibrator(), scores, y)) == pytest.approx(folded, abs=5e-5)


def test_calibration_lowers_the_cross_entropy_of_emotions(score_set):
    arrays = score_set("iemocap_scores.npz")
    scores, y = arrays["scores"], arrays["label"]

    assert cross_entropy(y, scores) == pytest.approx(0.8455, abs=5e-5)
    assert cross_entropy_after_affine(y, scores) == pytest.approx(0.8152, abs=5e-5)
    assert cross_entropy(y, kfold_calibrate(AffineCalibrator(), scores, y)) == pytest.approx(0.8342, abs=5e-5)


def test_cross_entropy_of_a_network_agrees_with_scikit_learn(score_set):
    from scipy.special import softmax
    from sklearn.metrics import log_loss

    arrays = score_set("cifar10_scores.npz")
    scores, y = arrays["resnet20_scores"].astype(float), arrays["resnet20_label"]

    assert cross_entropy(y, scores) == pytest.approx(log_loss(y, softmax(scores, axis=1)), rel=1e-9)


def test_gaussians_of_digits_are_right_and_far_too_sure(mnist):
    evaluate = runpy.run_path(str(EXAMPLES / "mnist_calibration.py"))["evaluate"]
    results, scale = evaluate(mnist["x_train"], mnist["y_train"], mnist["x_test"], mnist["y_test"])

    assert results["as given"] == pytest.approx((0.0430, 3.010), abs=5e-4)
    assert results["calibrated"] == pytest.approx((0.0404, 0.242), abs=5e-4)
    assert scale == pytest.approx(0.054, abs=5e-4)
