"""Real labels with gold beside them, and what stage 1 thinks of each row: out-of-sample posteriors by cross-fitting.

Everything lies in a folder of ours afterwards, so that rivals judge the same probabilities.
"""

import gzip
import json

import numpy as np

from c2s import config, data, streams
from c2s.matrix import noise
from c2s.paper import sources
from c2s.reading import words
from c2s.running import findings, rounds, workbench

PATCHES, CENTRES, SIDE = 20_000, 256, 6  # of the CIFAR-10 features (Coates and Ng, 2011)
MNIST_ROWS = 5_000
NAMES = (
    "labelme",
    "labelme-one",
    "hausa",
    "mnist-sym-0.4",
    "mnist-pair-0.3",
    "cifar10n-worst",
    "cifar10n-random1",
)


def rows(name, root, seed):
    """Inputs, given labels, gold labels and the number of classes."""
    if name.startswith("labelme"):
        return _labelme(root, seed, one=name.endswith("one"))
    if name == "hausa":
        return _hausa(root)
    if name.startswith("mnist"):
        return _mnist(root, seed, name)
    return _cifar10n(root, seed, name.removeprefix("cifar10n-"))


def _labelme(root, seed, *, one):
    found = np.load(root / "labelme_crowd/labelme_crowd.npz", allow_pickle=False)
    answers, rng = found["answers_train"], np.random.default_rng(seed)
    votes = (
        np.stack([(answers == k).sum(axis=1) for k in range(8)], axis=1) + rng.random((len(answers), 8)) / 2
    )
    given = votes.argmax(axis=1)
    if one:
        given = np.array([rng.choice(row[row >= 0]) for row in answers])
    return found["x_train"], given.astype(np.int64), found["y_train"].astype(np.int64), 8


def _hausa(root):
    with gzip.open(root / "hausa_topics/hausa_topics.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = [line for line in map(json.loads, file) if line["split"] == "train"]
    names = sorted({line["gold"] for line in lines})
    given, gold = (np.array([names.index(line[key]) for line in lines]) for key in ("noisy", "gold"))
    texts = [line["text"] for line in lines]
    spec = words.learn(texts)
    return words.bags(spec, texts), given, gold, len(names)


def _mnist(root, seed, name):
    found = sources.mnist(root).first(MNIST_ROWS)
    T = noise.symmetric(10, 0.4) if "sym" in name else noise.pair_flip(10, 0.3)
    return found.x, noise.corrupt(found.y, T, rng=streams.numpy(seed, "flips")), found.y, 10


def _cifar10n(root, seed, which):
    found = np.load(root / "cifar10/cifar10_subset.npz", allow_pickle=False)
    human = np.load(root / "cifar10/cifar10n_labels.npz", allow_pickle=False)
    given = human[which][found["index_train"]].astype(np.int64)
    return _features(found["x_train"], seed), given, found["y_train"].astype(np.int64), 10


def _features(x, seed):
    """Whitened patches against k-means centres, pooled over the quarters of an image."""
    rng = np.random.default_rng(seed)
    images = x.astype(np.float32)
    picks = rng.integers([len(x), 32 - SIDE + 1, 32 - SIDE + 1], size=(PATCHES, 3))
    patches = np.stack([images[i, r : r + SIDE, s : s + SIDE].ravel() for i, r, s in picks])
    patches = _contrast(patches)
    mean = patches.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(patches - mean, rowvar=False))
    whiten = (vectors / np.sqrt(values + 0.1)) @ vectors.T
    centres = _centres((patches - mean) @ whiten, rng)
    found = np.concatenate(
        [_pooled(images[i : i + 100], mean, whiten, centres) for i in range(0, len(x), 100)]
    )
    return ((found - found.mean(axis=0)) / (found.std(axis=0) + 0.01)).astype(np.float32)


def _contrast(patches):
    off = patches - patches.mean(axis=1, keepdims=True)
    return off / np.sqrt(off.var(axis=1, keepdims=True) + 10)


def _centres(points, rng, steps=10):
    centres = points[rng.choice(len(points), CENTRES, replace=False)]
    for _ in range(steps):
        near = (points @ centres.T - np.square(centres).sum(axis=1) / 2).argmax(axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, near, points)
        counts = np.bincount(near, minlength=CENTRES)[:, None]
        centres = np.where(counts > 0, sums / np.maximum(counts, 1), centres)
    return centres


def _pooled(images, mean, whiten, centres):
    windows = np.lib.stride_tricks.sliding_window_view(images, (SIDE, SIDE), axis=(1, 2))[:, ::2, ::2]
    count, across = len(images), windows.shape[1]
    flat = windows.transpose(0, 1, 2, 4, 5, 3).reshape(-1, SIDE * SIDE * 3)
    flat = (_contrast(flat) - mean) @ whiten
    squares = (
        np.square(flat).sum(axis=1, keepdims=True) + np.square(centres).sum(axis=1) - 2 * flat @ centres.T
    )
    far = np.sqrt(np.maximum(squares, 0))
    near = np.maximum(0, far.mean(axis=1, keepdims=True) - far).reshape(count, across, across, -1)
    half = across // 2
    quarters = (
        near[:, a, b] for a in (slice(half), slice(half, None)) for b in (slice(half), slice(half, None))
    )
    return np.concatenate([quarter.sum(axis=(1, 2)) for quarter in quarters], axis=1)


def judged(name, root, folder, seed):
    """Posterior, given and gold labels of a set, made once."""
    kept = folder / f"{name}.npz"
    if not kept.exists():
        x, given, gold, classes = rows(name, root, seed)
        kind = "text" if isinstance(x, data.Bags) else ("image" if x.ndim > 2 else "vectors")
        dataset = data.Dataset(x, given, tuple(range(classes)), kind)
        found = posterior(dataset, folder / name, seed)
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(kept, posterior=found, given=given, gold=gold)
        np.save(folder / f"{name}-x.npy", plain(x))
    return np.load(kept, allow_pickle=False)


def plain(x):
    """Rows as one array of numbers, for models that are not ours."""
    if not isinstance(x, data.Bags):
        return x.reshape(len(x), -1).astype(np.float32)
    found = np.zeros((len(x), x.width), np.float32)
    found[np.repeat(np.arange(len(x)), np.diff(x.indptr)), x.indices] = x.weights
    return found


def posterior(dataset, folder, seed):
    """Of every row, by stage 1 as a job runs it, cross-fitted."""
    chosen = config.TrainConfig.parse(
        {"transition": {"posteriors": "k-fold", "estimator": "confident-joint"}, "seed": seed}
    )
    quiet = {"device": "cpu", "report": lambda progress: None, "probe": None}
    bench = workbench.open_bench(dataset, chosen, folder, **quiet)
    findings.study(bench, rounds.first_stage(bench))
    return np.load(folder / "posterior" / "posterior.npy", allow_pickle=False)
