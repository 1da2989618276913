"""Model files from untrusted sources: one kind of error, no code execution, no crash, bounded memory.

Mutated files are loaded in a separate process under an audit hook. ``LIKELY_MUTATIONS`` is their number (by default
3000).
"""

import json
import os
import random
import struct
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import QuantileTransformer

import likely
from likely.persistence.container import pack, unpack

N_MUTATIONS = int(os.environ.get("LIKELY_MUTATIONS", "3000"))
MAX_GROWTH = 200
"""Megabytes that loading hostile files may add to the memory of a process."""


def open_file(path):
    document, tensors = unpack(bytearray(Path(path).read_bytes()))
    del document["sha256"]
    return document, tensors


def forge(path, change):
    """Change a file's document and tensors, and correct its checksum."""
    document, tensors = open_file(path)
    tensors = {name: tensor.copy() for name, tensor in tensors.items()}
    document = change(document, tensors) or document
    Path(path).write_bytes(pack(document, tensors))
    return path


def rows(n=60, d=3):
    rng = np.random.default_rng(3)
    y = np.array(["a", "b"])[np.arange(n) % 2]
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + (np.arange(n)[:, None] % 2), y


def models():
    """A fitted model of every kind of content."""
    X, y = rows()
    y3 = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    pending = likely.GaussianClassifier("diagonal").partial_fit(X, y)
    return [
        likely.GaussianClassifier(priors={"a": 0.5, "b": 0.5}).fit(X, y),
        likely.GaussianClassifier(likely.Diagonal(shrinkage=0.1), tied=True).fit(X, y3),
        pending,
        likely.Gaussian().fit(X),
        likely.Laplace().fit(csr_array(np.maximum(X, 0)), sample_weight=np.arange(1.0, len(X) + 1)),
        likely.Categorical(1.0, n_categories=[2, 3, 4]).fit(X > 0),
        likely.Multinomial().partial_fit(X > 0),
        likely.Independent([(likely.Laplace(), [2, 0]), (likely.Bernoulli(threshold=0.0), "rest")]).fit(X),
        likely.FisherClassifier().fit(X, y3),
        likely.LeastSquaresClassifier().fit(X, y),
        likely.LinearRegression().fit(X, X[:, 0]),
        likely.LogisticRegression(0.1, penalty=likely.ElasticNet(0.5), solver="l-bfgs").fit(X, y3),
        likely.LogisticRegression(0.1, training_prior=0.5, solver=likely.GradientDescent(), tol=0.5).fit(X, y),
        likely.Perceptron(max_iter=3).fit(X, y),
        likely.make_pipeline(likely.Standardize(), likely.PCA(2), likely.GaussianClassifier()).fit(X, y),
        likely.make_pipeline(likely.QuadraticFeatures(), likely.LogisticRegression(0.1)).fit(X, y),
        likely.make_pipeline(likely.Fill(), QuantileTransformer(n_quantiles=5), likely.LDA()).fit(X, y3),
        likely.make_pipeline(likely.Whiten(by="within"), likely.RadialFeatures(3, random_state=0)).fit(X, y),
        likely.QuadraticFeatures().fit(X),
        likely.KernelPCA(2, kernel=2.0 * likely.RBFKernel() + likely.LinearKernel()).fit(csr_array(X)),
        likely.KernelPCA(2, kernel="precomputed").fit(X @ X.T),
        likely.make_pipeline(likely.NystromFeatures(4, random_state=0), likely.LogisticRegression(0.1)).fit(X, y),
        likely.KernelLogisticRegression(0.1, kernel="polynomial", n_landmarks=5, random_state=0).fit(X, y3),
        likely.CalibratedClassifier(likely.GaussianClassifier(), calibrator=likely.IsotonicCalibrator(), cv=3).fit(
            X, y
        ),
        likely.CalibratedClassifier(likely.NearestMeanClassifier(), cv=FOLDS).fit(X, y),
        likely.FusedClassifier([likely.GaussianClassifier(), likely.Perceptron(max_iter=2)], cv=3).fit(X, y),
        likely.FusedClassifier({"a": likely.FisherClassifier()}, fuser=likely.ProductFusion(), cv=3).fit(X, y3),
        likely.Application({"a": 0.2, "b": 0.8}, reject_cost=0.1),
        likely.Encode().fit(table()),
    ]


FOLDS = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]


def table(n=40):
    import pyarrow as pa

    return pa.table({"x": np.arange(float(n)), "what": [["u", "v", None][i % 3] for i in range(n)]})


def use(model):
    """Use a model as a service would: score a few rows with the number of columns that it takes."""
    if isinstance(model, likely.Application):
        return model.decide_codes(np.zeros((2, model.n_classes)))
    width = getattr(model, "n_features_in_", None)
    if width is None or width > 10**5:
        return None
    X = table(5) if isinstance(model, likely.Encode) else np.linspace(-1, 1, 5 * width).reshape(5, width)
    if isinstance(model, (likely.Categorical, likely.Multinomial)):
        X = np.abs(np.rint(X))
    for method in ("log_likelihood", "decision_function", "predict", "transform", "log_density"):
        if hasattr(model, method):
            getattr(model, method)(X)
    return None


# Mutations


def strange_values(random):
    deep = []
    for _ in range(random.choice([5, 90])):
        deep = [deep]
    return [
        None, True, -1, 0, 1, 2, 10**9, 10**18, -0.0, 1e308, -1e-308, 0.5, "", "x", "../../etc/passwd", "__reduce__",
        "a" * 1000, [], {}, deep, [[]], {"float": "nan"}, {"float": "inf"}, {"tuple": []}, {"map": []},
        {"scalar": 3, "dtype": "int64"}, {"scalar": 3, "dtype": "object"}, {"strings": ["b", "a"], "dtype": "U1"},
        {"strings": ["a"] * 3, "dtype": "U9999999"}, {"array": "model.statistics_", "order": "C"},
        {"kind": "PCA", "parameters": {"n_components": None}}, {"kind": "builtins.eval", "parameters": {}},
        {"kind": "GaussianClassifier"}, {"bytes": "\xff"},
    ]  # fmt: skip


def places(node, found):
    """All (container, key) pairs of a tree."""
    for key, inner in list(node.items() if isinstance(node, dict) else enumerate(node)):
        found.append((node, key))
        if isinstance(inner, (dict, list)):
            places(inner, found)
    return found


def mutate_tree(random, document, tensors):
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        spots = places(document, [])
        node, key = random.choice(spots)
        kind = random.randrange(6)
        if kind <= 2:
            node[key] = random.choice(strange_values(random))
        elif kind == 3:
            other, which = random.choice(spots)
            node[key] = json.loads(json.dumps(other[which]))
        elif kind == 4 and isinstance(node, dict):
            del node[key]
        elif isinstance(node, dict):
            node[random.choice(["__class__", "__reduce__", "scores_", "steps", "_far"])] = random.choice([None, 1, []])
        else:
            node.insert(key, node[key])


def mutate_tensors(random, document, tensors):
    name = random.choice(sorted(tensors))
    tensor = tensors[name]
    kind = random.randrange(8)
    if kind == 0:
        tensors[name] = tensor[:-1] if tensor.ndim else tensor
    elif kind == 1:
        tensors[name] = np.concatenate([tensor, tensor]) if tensor.ndim else tensor
    elif kind == 2:
        tensors[name] = tensor.astype(random.choice(["float32", "int64", "bool", "uint8", "int32"]))
    elif kind == 3:
        tensors[name] = tensor.reshape(1, *tensor.shape)
    elif kind == 4:
        other = random.choice(sorted(tensors))
        tensors[name], tensors[other] = tensors[other], tensors[name]
    elif kind == 5:
        data = bytearray(tensor.tobytes())
        if data:
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        tensors[name] = np.frombuffer(bytes(data), tensor.dtype).reshape(tensor.shape)
    elif tensor.dtype.kind == "f" and tensor.size:
        flat = tensor.copy().reshape(-1)
        flat[random.randrange(flat.size)] = random.choice(
            [np.nan, np.inf, -np.inf, 0, -1, 1e308, -1e308, 5e-324, 1e-160]
        )
        tensors[name] = flat.reshape(tensor.shape) * random.choice([1, 1, -1, 1e150])
    else:
        tensors["extra"] = np.zeros(3)


def mutate_bytes(random, data, others):
    data = bytearray(data)
    kind, at = random.randrange(7), random.randrange(len(data))
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + random.choice(others)[at:]
    if kind == 2:
        return data[:at] + bytes(random.randbytes(random.randrange(1, 20))) + data[at:]
    if kind == 3:
        return struct.pack("<Q", random.choice([0, 1, 2**24, 2**40, 2**63, len(data), len(data) - 8, at])) + data[8:]
    if kind == 4:
        return data[:at] + b'{"a":' * random.randrange(1, 2000) + data[at:]
    for _ in range(random.choice([1, 1, 2, 8])):
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return data


def mutate(random, files):
    """Return the bytes of a mutated file."""
    data = random.choice(files)
    kind = random.randrange(5)
    if kind <= 1:
        return mutate_bytes(random, data, files)
    document, tensors = unpack(bytearray(data))
    del document["sha256"]
    tensors = {name: tensor.copy() for name, tensor in tensors.items()}
    if kind <= 3 or not tensors:
        mutate_tree(random, document, tensors)
    if kind >= 3 and tensors:
        mutate_tensors(random, document, tensors)
    return pack(document, tensors)


# The process that loads them


def install_audit_hook():
    """Install an audit hook; return its switch and the list of events that loading data must not cause."""
    state = {"on": False, "seen": []}
    quiet = (
        "open",
        "object.",
        "sys._getframe",
        "sys.unraisablehook",
        "marshal.",
        "gc.",
        "array.__new__",
        "builtins.id",
    )

    def hook(event, args):
        if not state["on"]:
            return
        writes = event == "open" and (
            any(c in str(args[1] or "") for c in "wax+") or (isinstance(args[2], int) and args[2] & 0o3)
        )
        if writes or not event.startswith(quiet):
            state["seen"].append(f"{event} {args!r}"[:200])

    sys.addaudithook(hook)
    return state


def try_file(path, state, tally):
    """Load and use a file; any error that is not of this library is a fault."""
    started = time.perf_counter()
    try:
        state["on"] = True
        try:
            model = likely.load(path)
            tally["accepted"] += 1
            use(model)
        finally:
            state["on"] = False
    except likely.ModelFileError:
        tally["refused"] += 1
    except (likely.LikelyError, NotFittedError):
        tally["refused in use"] += 1
    except Exception:  # noqa: BLE001
        tally["faults"].append(traceback.format_exc()[-1500:])
    tally["slowest"] = max(tally["slowest"], time.perf_counter() - started)


def peak_megabytes():
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 2**20)


def main(folder, n, seed):
    warnings.simplefilter("ignore")
    choose, files = random.Random(seed), []
    path = Path(folder) / "file"
    for model in models():
        likely.save(model, path)
        files.append(path.read_bytes())
        use(likely.load(path))
    state = install_audit_hook()
    tally = {"accepted": 0, "refused": 0, "refused in use": 0, "slowest": 0.0, "faults": []}
    before, started = peak_megabytes(), time.perf_counter()
    while n:
        try:
            data = mutate(choose, files)
        except (likely.ModelFileError, ValueError, OverflowError):  # no file can be made of it
            continue
        n -= 1
        path.write_bytes(data)
        try_file(path, state, tally)
        if tally["faults"]:
            Path(folder, "fault").write_bytes(data)
            break
    tally |= {"seconds": time.perf_counter() - started, "grown": peak_megabytes() - before, "seen": state["seen"][:5]}
    print(json.dumps(tally))


def test_mutated_files_are_refused_or_sound(tmp_path):
    pytest.importorskip("resource")
    run = [sys.executable, __file__, str(tmp_path), str(N_MUTATIONS), "20260101"]

    done = subprocess.run(run, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-3000:]
    tally = json.loads(done.stdout)
    assert tally["faults"] == [], tally["faults"][0]
    assert tally["seen"] == []
    assert tally["slowest"] < 5
    assert tally["grown"] < MAX_GROWTH
    assert tally["refused"] > tally["accepted"] > 0


# Forged files, each with a correct checksum


@pytest.fixture
def gaussian(tmp_path):
    X, y = rows()
    path = tmp_path / "gaussian"
    likely.save(likely.GaussianClassifier().fit(X, y), path)
    return path


def state_of(document):
    return document["model"]["state"]


def claims_many_features(document, tensors):
    state_of(document)["n_features_in_"] = 10**9


def has_unsorted_classes(document, tensors):
    state_of(document)["classes_"]["strings"] = ["b", "a"]


def has_a_class_twice(document, tensors):
    state_of(document)["classes_"]["strings"] = ["a", "a"]


def has_a_nan(document, tensors):
    tensors["model._parameters.means"][0, 0] = np.nan


def has_an_infinite_scatter(document, tensors):
    tensors["model.statistics_.parts.0.scatter"][0, 0] = np.inf


def has_a_negative_variance(document, tensors):
    tensors["model._parameters.covariances.matrices"][0, 0, 0] = -1


def has_a_negative_sum_of_squares(document, tensors):
    tensors["model.statistics_.parts.0.scatter"][1, 1] *= -1


def is_not_positive_definite(document, tensors):
    C = tensors["model._parameters.covariances.matrices"]
    C[1, 0, 1] = C[1, 1, 0] = 2 * np.sqrt(C[1, 0, 0] * C[1, 1, 1])


def is_not_symmetric(document, tensors):
    tensors["model._parameters.covariances.matrices"][0, 0, 1] += 1


def has_no_triangle(document, tensors):
    tensors["model._parameters.covariances.whiteners"][0, 2, 0] = 1


def has_a_shape_too_many(document, tensors):
    tensors["model._parameters.means"] = np.zeros((3, 3))


def has_a_class_out_of_range(document, tensors):
    state_of(document)["statistics_"]["parameters"]["parts"]["map"][1][0] = 7


def has_a_tensor_twice(document, tensors):
    covariances = state_of(document)["_parameters"]["parameters"]["covariances"]["parameters"]
    covariances["whiteners"] = covariances["matrices"]


def has_an_unused_tensor(document, tensors):
    tensors["../../etc/passwd"] = np.zeros(3)


def names_another_kind(document, tensors):
    document["model"]["kind"] = "os.system"


def is_a_part_without_a_model(document, tensors):
    document["model"] = state_of(document)["statistics_"]


def names_a_class(document, tensors):
    document["model"]["parameters"]["__class__"] = "subprocess.Popen"


def has_a_reduce_method(document, tensors):
    state_of(document)["__reduce__"] = ["os.system", "true"]


def has_a_wrong_parameter(document, tensors):
    document["model"]["parameters"]["tied"] = "yes"


def has_a_wrong_shape_name(document, tensors):
    document["model"]["parameters"]["covariance"] = "round"


def is_nested_deeply(document, tensors):
    document["model"]["parameters"]["priors"] = json.loads("[" * 80 + "]" * 80)


def claims_long_strings(document, tensors):
    state_of(document)["classes_"]["dtype"] = "U999999999"


def claims_single_precision(document, tensors):
    tensors["model._parameters.means"] = tensors["model._parameters.means"].astype(np.float32)


def lacks_a_part(document, tensors):
    del state_of(document)["classes_"]


def has_weights_of_nothing(document, tensors):
    state_of(document)["statistics_"]["parameters"]["parts"]["map"][0][1]["parameters"]["weight"] = 0


def is_from_the_future(document, tensors):
    document["format"] = 2


HOSTILE = {
    claims_many_features: "feature|1000000000",
    has_unsorted_classes: "sorted",
    has_a_class_twice: "without duplicates",
    has_a_nan: "NaN",
    has_an_infinite_scatter: "finite",
    has_a_negative_variance: "variances above 0",
    has_a_negative_sum_of_squares: "no negative variance",
    is_not_positive_definite: "positive definite",
    is_not_symmetric: "symmetric",
    has_no_triangle: "triangular",
    has_a_shape_too_many: "must have",
    has_a_class_out_of_range: "class at position 7",
    has_a_tensor_twice: "that another part of the model uses",
    has_an_unused_tensor: "no part of the model uses",
    names_another_kind: "kind that this version of the library knows",
    is_a_part_without_a_model: "kind that this version of the library knows",
    names_a_class: "__class__",
    has_a_reduce_method: "__reduce__",
    has_a_wrong_parameter: "True or False",
    has_a_wrong_shape_name: "'full', 'diagonal', 'spherical'",
    is_nested_deeply: "number",
    claims_long_strings: "999999999",
    claims_single_precision: "float64",
    lacks_a_part: "lacks the fitted attribute 'classes_'",
    has_weights_of_nothing: "weight",
    is_from_the_future: "Update likely",
}


@pytest.mark.parametrize("change", HOSTILE, ids=lambda change: change.__name__)
def test_a_forged_file_with_a_correct_checksum_is_refused(change, gaussian):
    forge(gaussian, change)

    with pytest.raises(likely.ModelFileError, match=HOSTILE[change]):
        likely.load(gaussian)


def test_an_expansion_of_a_claimed_million_features_is_refused(tmp_path):
    path = tmp_path / "file"
    likely.save(likely.QuadraticFeatures().fit(rows()[0]), path)

    def claim(document, tensors):
        state_of(document)["n_features_in_"] = 10**6

    with pytest.raises(likely.ModelFileError, match="500001500000 outputs for 1000000 columns"):
        likely.load(forge(path, claim))


def test_incompatible_steps_are_refused(tmp_path):
    path, (X, y) = tmp_path / "file", rows()
    likely.save(likely.make_pipeline(likely.QuadraticFeatures(), likely.LogisticRegression(0.1)).fit(X, y), path)

    def widen(document, tensors):
        document["model"]["parameters"]["steps"][0]["tuple"][1]["state"]["n_features_in_"] = 4

    with pytest.raises(likely.ModelFileError, match="step 1 takes 9 columns and gets 14"):
        likely.load(forge(path, widen))


def test_a_classifier_that_gives_no_scores_is_refused(tmp_path):
    path, (X, y) = tmp_path / "file", rows()
    likely.save(likely.CalibratedClassifier(likely.GaussianClassifier(), cv=3).fit(X, y), path)

    def replace(document, tensors):
        document["model"]["parameters"]["estimator"] = {"kind": "PCA", "parameters": {"n_components": None}}

    with pytest.raises(likely.ModelFileError, match="a classifier that gives scores"):
        likely.load(forge(path, replace))


def test_a_folder_for_pickles_is_refused(tmp_path):
    path, (X, y) = tmp_path / "file", rows()
    likely.save(likely.make_pipeline(likely.PCA(2), likely.GaussianClassifier()).fit(X, y), path)

    def remember(document, tensors):
        document["model"]["parameters"]["memory"] = "/tmp"

    with pytest.raises(likely.ModelFileError, match="memory must be one of None"):
        likely.load(forge(path, remember))


def header_of(text, data=b""):
    text = text.encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


CONTAINERS = {
    "nothing": b"",
    "a few bytes": b"likely",
    "a pickle": b"\x80\x04\x95\x1c\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x8c\x06system\x93\x8c\x04true\x85R.",
    "a header of 2 ** 63 bytes": struct.pack("<Q", 2**63) + b"{}",
    "a header of 17 MB": struct.pack("<Q", 17 * 2**20) + b"{" + b" " * 17 * 2**20,
    "no text": struct.pack("<Q", 8) + b"{\xff\xff\xff\xff\xff\xff\xff",
    "no JSON": header_of("{nonsense}"),
    "a list": header_of("[]"),
    "nested deeply": header_of('{"a":' * 50_000),
    "many lists": header_of('{"a": [' + "[]," * 2_000_000 + "0]}"),
    "names twice": header_of('{"a": 1, "a": 2}'),
    "NaN": header_of('{"a": NaN}'),
    "a number of a million digits": header_of('{"a": ' + "9" * 10**6 + "}"),
    "a float too large": header_of('{"a": 1e999}'),
    "no model": header_of('{"x": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}', bytes(8)),
    "no list of sizes": header_of('{"x": {"dtype": "F64", "shape": "3", "data_offsets": [0, 8]}}', bytes(8)),
    "a negative size": header_of('{"x": {"dtype": "F64", "shape": [-1], "data_offsets": [0, 8]}}', bytes(8)),
    "huge sizes": header_of(
        '{"x": {"dtype": "F64", "shape": [4611686018427387904, 4], "data_offsets": [0, 8]}}', bytes(8)
    ),
    "overlapping tensors": header_of(
        '{"x": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}, '
        '"y": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}',
        bytes(8),
    ),
    "a tensor beyond the end": header_of('{"x": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}}', bytes(8)),
    "an unknown type": header_of('{"x": {"dtype": "PY", "shape": [8], "data_offsets": [0, 8]}}', bytes(8)),
    "metadata of others": header_of('{"__metadata__": {"format": "pt"}}'),
    "no document": header_of('{"__metadata__": {"likely": "[]"}}'),
    "no format": header_of('{"__metadata__": {"likely": "{}"}}'),
    "no checksum": header_of('{"__metadata__": {"likely": "{\\"format\\": 1}"}}'),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_other_files_are_refused(name, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(CONTAINERS[name])

    with pytest.raises(likely.ModelFileError, match="cannot be loaded: "):
        likely.load(path)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
