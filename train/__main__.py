"""``python -m train``: train and certify the shipped weights. Needs torch, but not the libraries of the command line."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from theodolite.core.errors import TheodoliteError, UsageError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one training command and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m train", description="Train and certify the shipped weights."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    _add_twins(commands.add_parser("twins", help="train the pocket twins, one leg at a time"))
    _add_zoo(commands.add_parser("zoo", help="train strangers of one architecture, or remake their table"))
    _add_curve(commands.add_parser("curve", help="draw the training curve of the twins"))
    _add_calibration(commands.add_parser("calibration", help="ship the twins' scores of a diagnosis"))
    _add_grid(commands.add_parser("grid", help="train grid:pure or grid:spur, one leg at a time"))
    _add_parser(commands.add_parser("parser", help="train the English parser of trace"))
    _add_similarity(commands.add_parser("similarity", help="train the small CLIP of trace"))
    _add_certify(
        commands.add_parser("certify", help="test models of known reasoning, and write certificates")
    )
    args = parser.parse_args(arguments)
    try:
        return int(args.run(args) or 0)
    except TheodoliteError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _add_twins(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for state, log and twins; resumed if it exists"
    )
    parser.add_argument(
        "--twins", default="grounded,shortcut,mixed", help="comma-separated: grounded, shortcut, mixed"
    )
    parser.add_argument("--steps", type=int, default=12_000, help="total steps of all legs")
    parser.add_argument("--seconds", type=float, default=500.0, help="duration of this leg")
    parser.add_argument("--workers", type=int, default=14, help="processes that draw pictures")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--leg", type=int, default=0, help="number of this leg; each has different lessons")
    parser.add_argument(
        "--until",
        type=float,
        default=1.0,
        help="position in the learning-rate schedule at the end of this leg",
    )
    parser.add_argument("--kept", type=Path, help="folder in which legs share their lessons")
    parser.add_argument("--start", type=Path, help="checkpoints to start from, one folder per twin")
    parser.add_argument("--rate", type=float, default=1e-3, help="maximum learning rate")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="factor for batches and pools; small for a trial"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.set_defaults(run=_train_twins)


def _train_twins(args: argparse.Namespace) -> None:
    from train.twins.training import Leg, train

    folder = train(
        Leg(
            args.out,
            _words(args.twins),
            seconds=args.seconds,
            steps=args.steps,
            seed=args.seed,
            workers=args.workers,
            device=args.device,
            until=args.until,
            kept=args.kept,
            number=args.leg,
            start=args.start,
            rate=args.rate,
            scale=args.scale,
        )
    )
    print(f"wrote the twins to {folder}, one folder each")


def _add_zoo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--arch", help="train the strangers of this architecture: llama or cohere")
    parser.add_argument(
        "--evaluate", type=Path, nargs="+", metavar="FOLDER", help="checkpoints to diagnose instead"
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for log and strangers, or for the diagnosis"
    )
    parser.add_argument("--seconds", type=float, default=500.0, help="duration of the training")
    parser.add_argument("--steps", type=int, default=12_000, help="maximum number of steps")
    parser.add_argument("--workers", type=int, default=14, help="processes that draw pictures")
    parser.add_argument("--device", default="cuda", help="cuda or cpu, for training")
    parser.add_argument("--rate", type=float, default=1e-3, help="maximum learning rate")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="factor for batches and pools; small for a trial"
    )
    parser.add_argument("--size", default="standard", help="size of the diagnosis")
    parser.add_argument("--seed", type=int, default=77, help="of the lessons, or of the diagnosis")
    parser.set_defaults(run=_run_zoo)


def _run_zoo(args: argparse.Namespace) -> None:
    if (args.arch is None) == (args.evaluate is None):
        raise UsageError("pass either --arch to train strangers or --evaluate to diagnose them")
    if args.evaluate is not None:
        from train.zoo.evaluate import evaluate_strangers

        print(evaluate_strangers(args.evaluate, out=args.out, size=args.size, seed=args.seed))
        return
    from train.zoo.training import ZooLeg, train_strangers

    for path in train_strangers(
        ZooLeg(
            args.out,
            args.arch,
            seconds=args.seconds,
            steps=args.steps,
            seed=args.seed,
            workers=args.workers,
            device=args.device,
            scale=args.scale,
            rate=args.rate,
        )
    ):
        print(f"{path.stat().st_size / 2**20:6.1f} MiB {path}")


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _add_curve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, required=True, help="output file: PNG, SVG or PDF")
    parser.add_argument(
        "--log", type=Path, help="log.jsonl of a training; default: that of the shipped twins"
    )
    parser.set_defaults(run=_draw_curve)


def _draw_curve(args: argparse.Namespace) -> None:
    from train.twins.curve import read_log, training_curve

    print(f"wrote {training_curve(read_log(args.log)).save(args.out)}")


def _add_calibration(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="a diagnosis of both twins, without --data")
    parser.set_defaults(run=_ship_calibration)


def _ship_calibration(args: argparse.Namespace) -> None:
    from train.twins.calibrate import ship_calibration

    for path in ship_calibration(args.folder):
        print(f"{path.stat().st_size:>9} {path.name}")


def _add_grid(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind", choices=("pure", "spur", "both"), help="both: first pure, then spur, in folders of --out"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for state, log and weights")
    parser.add_argument("--seconds", type=float, default=500.0, help="duration of this leg")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--workers", type=int, default=12, help="processes that generate scenes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rehearse", type=int, metavar="STEPS", help="a short schedule with small batches")
    parser.set_defaults(run=_train_grid)


def _train_grid(args: argparse.Namespace) -> None:
    from train.grid.leg import SCHEDULES, rehearsal, train_leg

    started = time.monotonic()
    for kind in ("pure", "spur") if args.kind == "both" else (args.kind,):
        out = args.out / kind if args.kind == "both" else args.out
        schedule = rehearsal(kind, steps=args.rehearse, batch=256) if args.rehearse else SCHEDULES[kind]
        is_done = train_leg(
            kind,
            out,
            seconds=max(1.0, args.seconds - (time.monotonic() - started)),
            device=args.device,
            workers=args.workers,
            schedule=replace(schedule, seed=args.seed),
        )
        if not is_done:
            print("time is up; the same command resumes it")
            return
        print(f"finished: {out / kind}.safetensors")


def _add_parser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="UD English-EWT in spaCy's binary format")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, help="steps of the first round, on the treebank")
    parser.add_argument("--tuning-steps", type=int, help="steps of the second round, with sentence patterns")
    parser.set_defaults(run=_train_parser)


def _train_parser(args: argparse.Namespace) -> None:
    from train.parser.train import STEPS, TUNING_STEPS, train_parser

    for name in ("steps", "tuning_steps"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be at least 1, not {value}")
    accuracies = train_parser(
        args.data, args.out, steps=args.steps or STEPS, tuning_steps=args.tuning_steps or TUNING_STEPS
    )
    accuracy = ", ".join(f"{name} {value}" for name, value in asdict(accuracies).items())
    print(f"wrote {args.out}: {accuracy}")


def _add_similarity(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, required=True, help="folder for the checkpoint")
    parser.add_argument("--episodes", type=int, help="episodes per world and split")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--batch", type=int, help="pictures per step")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--workers", type=int, help="processes that draw pictures")
    parser.add_argument("--drawings", type=Path, help="folder for drawn pictures; default: next to --out")
    parser.add_argument("--only-draw", action="store_true", help="draw the pictures without training")
    parser.add_argument("--seed", type=int, default=0)
    parser.set_defaults(run=_train_similarity)


def _train_similarity(args: argparse.Namespace) -> None:
    from train.similarity.fit import FitOptions
    from train.similarity.train import EPISODES, draw_similarity, drawings_beside, train_similarity

    for name, least in (("episodes", 1), ("steps", 1), ("batch", 2)):
        value = getattr(args, name)
        if value is not None and value < least:
            raise UsageError(f"--{name} must be at least {least}, not {value}")
    drawings = args.drawings or drawings_beside(args.out)
    episodes = args.episodes or EPISODES
    if args.only_draw:
        size = draw_similarity(
            drawings, episodes=episodes, workers=args.workers, seed=args.seed, progress=print
        )
        print(f"drew {size / 2**20:.1f} MiB of pictures to {drawings}; omit --only-draw to train on them")
        return
    usual = FitOptions()
    options = FitOptions(
        steps=args.steps or usual.steps,
        batch=args.batch or usual.batch,
        seed=args.seed,
        device=args.device,
    )
    training = train_similarity(
        args.out,
        episodes=episodes,
        drawings=drawings,
        workers=args.workers,
        options=options,
        progress=print,
    )
    print(
        f"wrote {args.out}: accuracy on {training.n_held_out} held-out pictures: things {training.things_told_apart:.1%}, "
        f"sides and states {training.sides_and_states:.1%}"
    )
    print(f"next: theodolite trace calibrate --model {args.out} --data DIR")


def _add_certify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        action="append",
        required=True,
        help="pocket:…, a checkpoint, grid:pure or grid:spur; may be repeated",
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for answers and certificates; resumed if it exists"
    )
    parser.add_argument(
        "--tasks", default="relation,grid,scene,trace", help="comma-separated; of a pocket model"
    )
    parser.add_argument(
        "--size",
        type=int,
        default=1000,
        help="minimum number of items per task, split and edit; of a grid model, scenes per bucket and density",
    )
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--workers", type=int, default=1, help="processes that draw pictures")
    parser.add_argument("--device", default="cpu", help="of a grid model")
    parser.add_argument("--weights", type=Path, help="other weights, of a grid model")
    parser.add_argument("--only-ask", action="store_true", help="store answers without scoring them")
    parser.set_defaults(run=_certify)


def _certify(args: argparse.Namespace) -> int:
    from train.certify.command import run

    return run(args)


if __name__ == "__main__":
    sys.exit(main())
