"""Trains a network on the handwritten digits that come with scikit-learn, and shows what the library does
meanwhile.

    python examples/digits.py                      # needs scikit-learn, tqdm and matplotlib: pip install
    rgrad[examples] python examples/digits.py --epochs 30 --hidden 128 --out results

Before training the derivatives of the model are compared with finite differences in float64. Every epoch
runs in a scope, whose end releases all that the epoch made. Written to the output folder: the loss curve
(PNG) and the graph of one training step (SVG and DOT). The exit status is 1 when fewer than 97 % of the
held-out digits are recognized."""

import argparse
import math
import sys
import time
from pathlib import Path

import numpy as np
import rgrad
from rgrad import nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

REQUIRED = 0.97


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
    return value


def parse_args() -> argparse.Namespace:
    p = argparse.ArgumentParser(description="Train an MLP on 8×8 handwritten digits.")
    p.add_argument("--epochs", type=positive, default=40)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--batch-size", type=positive, default=64)
    p.add_argument("--hidden", type=positive, default=256, help="width of the first hidden layer")
    p.add_argument("--max-norm", type=float, default=5.0, help="limit of the gradient norm")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", type=Path, default=Path("digits_out"), metavar="DIR")
    return p.parse_args()


def load(seed: int):
    """Images in [0, 1] and labels, three quarters for training; the tensors share the arrays' memory."""
    images, labels = load_digits(return_X_y=True)
    images = np.ascontiguousarray(images / 16.0, dtype=np.float32)
    parts = train_test_split(
        images, labels.astype(np.int64), test_size=0.25, random_state=seed, stratify=labels
    )
    return [rgrad.from_numpy(a) for a in parts]


def make_model(hidden: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(64, hidden),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(hidden, hidden // 2),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(hidden // 2, 10),
    )


def check_gradients(seed: int) -> None:
    """Compares first derivatives of a small copy of the model with finite differences, in float64."""
    rgrad.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = make_model(hidden=8).double().eval()
    images = rgrad.from_numpy(rng.uniform(0.0, 1.0, (5, 64)))
    labels = rgrad.from_numpy(rng.integers(0, 10, 5))
    names, parameters = zip(*model.named_parameters())

    def loss(*values):
        scores = rgrad.func.functional_call(model, dict(zip(names, values)), images)
        return nn.functional.cross_entropy(scores, labels)

    rgrad.autograd.gradcheck(loss, parameters)
    count = sum(p.numel() for p in parameters)
    print(f"gradient check: all {count} derivatives agree with finite differences")


def accuracy(model: nn.Module, images, labels) -> float:
    model.eval()
    with rgrad.no_grad():
        hits = (model(images).argmax(1) == labels).sum().item()
    model.train()
    return hits / len(labels)


def train_epoch(model, optimizer, images, labels, args) -> list[float]:
    losses = []
    for x, y in zip(images.split(args.batch_size), labels.split(args.batch_size), strict=True):
        loss = nn.functional.cross_entropy(model(x), y, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), args.max_norm)
        optimizer.step()
        losses.append(loss.item())
    return losses


def draw_step(model, images, labels, out: Path) -> rgrad.viz.Graph:
    with rgrad.scope("drawing"):
        loss = nn.functional.cross_entropy(model(images[:8]), labels[:8])
        graph = rgrad.viz.graph(loss, model.named_parameters())
        graph.save(out / "step_graph.svg")
        graph.save(out / "step_graph.dot")
    return graph


def draw_curve(losses: list[float], steps_per_epoch: int, out: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    epochs = np.arange(1, len(losses) + 1) / steps_per_epoch
    fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    ax.plot(epochs, losses, lw=0.6, alpha=0.5, label="one batch")
    means = np.reshape(losses, (-1, steps_per_epoch)).mean(1)
    ax.plot(np.arange(len(means)) + 0.5, means, lw=1.8, label="mean of the epoch")
    ax.set(xlabel="epoch", ylabel="cross-entropy, labels smoothed", title="Digits: training loss")
    ax.grid(alpha=0.3)
    ax.legend()
    fig.savefig(out / "loss_curve.png", dpi=120)
    plt.close(fig)


def main() -> int:
    args = parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    check_gradients(args.seed)

    rgrad.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    train_x, test_x, train_y, test_y = load(args.seed)
    model = make_model(args.hidden)
    optimizer = rgrad.optim.Adam(model.parameters(), lr=args.lr)
    print(model)

    losses, released, peak = [], [], 0
    started = time.perf_counter()
    with tqdm(range(args.epochs), unit="epoch", file=sys.stdout) as bar:
        for epoch in bar:
            # The learning rate falls along half a cosine.
            optimizer.param_groups[0]["lr"] = args.lr * 0.5 * (1 + math.cos(math.pi * epoch / args.epochs))
            with rgrad.scope("epoch") as scope:
                order = rgrad.from_numpy(rng.permutation(len(train_y)))
                x, y = train_x[order], train_y[order]
                losses += train_epoch(model, optimizer, x, y, args)
                # The last gradients would outlive the epoch, as everything that belongs to a parameter does.
                optimizer.zero_grad()
                rate = accuracy(model, test_x, test_y)
            stats = scope.stats()
            released.append(stats["released_bytes"])
            peak = max(peak, stats["peak_bytes"])
            mean = np.mean(losses[-(len(losses) // (epoch + 1)) :])
            bar.set_postfix(loss=f"{mean:.4f}", accuracy=f"{rate:.2%}")
    seconds = time.perf_counter() - started

    graph = draw_step(model, train_x, train_y, args.out)
    draw_curve(losses, len(losses) // args.epochs, args.out)
    rate = accuracy(model, test_x, test_y)
    print(f"wrote {args.out}/loss_curve.png, step_graph.svg and step_graph.dot ({len(graph)} vertices)")
    per_scope = f"{released[0]:,}" if len(set(released)) == 1 else f"{min(released):,} to {max(released):,}"
    print(
        f"accuracy {rate:.2%} on {len(test_y)} held-out digits, {seconds:.2f} s for {args.epochs} epochs, "
        f"peak {peak:,} bytes in a scope, {per_scope} bytes released by each scope's end"
    )
    if rate < REQUIRED:
        print(f"below the required {REQUIRED:.0%}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
