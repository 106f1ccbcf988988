"""A model as judge: what it is asked, what it may say, and what it costs."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from trace_world import drawn, make_episode, thing

from theodolite.core.errors import UsageError
from theodolite.core.types import Response
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.claims.types import Claim, Mention
from theodolite.instruments.trace.claims.wording import falsified, worded
from theodolite.instruments.trace.experiments.calibration import calibrate, members_of
from theodolite.instruments.trace.formulas.sgr import trace_sgr
from theodolite.instruments.trace.helpers import Desk, Helper, at_desk, collected, settled
from theodolite.instruments.trace.verifiers.judge import Judge, facts_in_words, open_judge
from theodolite.instruments.trace.verifiers.judging import judge, open_verifier
from theodolite.instruments.trace.verifiers.panel import Member, open_panel, write_panel
from theodolite.testing import check_verifier
from theodolite.worlds.episodes import Episode, Frame
from theodolite.worlds.stories import make_world

CUP, BOX = Mention("cup"), Mention("box")


class Model:
    """A model that answers by a function of the prompt."""

    lacks: ClassVar = {}
    batch_size = 64
    takes_hints = True

    def __init__(self, say, name="said"):
        self.name = self.identity = name
        self.say = say
        self.requests = []

    def generate(self, requests):
        self.requests += requests
        said = [self.say(request) for request in requests]
        return [each if isinstance(each, Response) else Response("answered", text=each) for each in said]

    def choose(self, requests, options):
        raise NotImplementedError

    def close(self):
        pass


def judge_by(say):
    return Judge(Helper.of(Model(say), "judge"))


def by_annotation(request):
    return request.hint["gold"]


def of_rates(sensitivity, specificity, seed):
    """A judge that errs at these rates, in the same way on a claim and on its opposite."""

    def say(request):
        is_opposite = request.hint["claim"] != request.hint["about"]
        is_true = (request.hint["gold"] == "supported") != is_opposite
        key = f"{seed}{request.hint['about']}{request.pictures[0].digest}"
        rng = np.random.default_rng(list(key.encode()))
        is_right = rng.random() < (sensitivity if is_true else specificity)
        return "supported" if (is_true == is_right) != is_opposite else "contradicted"

    return say


EPISODE = make_episode(1)
FRAME = Episode("one", "?", (Frame(0.0, drawn((thing("a", "red", "ball", 10),)), (100, 60)),))


def test_it_gets_the_frames_the_sentence_and_the_opposite():
    model = Model(lambda _: "supported")
    claims = with_claims([read_trace("Step 1 (frame 2): The red ball is beside a cube, I think.", EPISODE)])
    said = next(c for c in claims[0].steps[0].claims if c.kind == "spatial")
    Judge(Helper.of(model, "judge")).verify([said], EPISODE)
    claim, opposite = sorted(
        model.requests, key=lambda r: worded(falsified(said)) in r.text
    )  # asked shuffled
    assert claim.pictures == opposite.pictures == (EPISODE.frames[1].picture,)
    assert 'sentence, which may say more: "The red ball is beside a cube, I think."' in claim.text
    assert f"Statement: {worded(said)}" in claim.text
    assert f"Statement: {worded(falsified(said))}" in opposite.text


@pytest.mark.parametrize(
    ("first", "second", "label"),
    [
        ("supported", "contradicted", "supported"),
        ("Contradicted.", "**Supported**", "unsupported"),
        ("supported", "supported", "unverifiable"),
        ("contradicted", "contradicted", "unverifiable"),
        ("cannot tell", "supported", "unverifiable"),
        ("supported", "cannot tell", "supported"),
    ],
)
def test_what_is_said_of_a_claim_and_of_its_negation(first, second, label):
    said = {"Statement: The cup is red.": first, "Statement: The cup is not red.": second}
    judge_ = judge_by(lambda r: next(v for k, v in said.items() if k in r.text))
    claim = Claim("attribute", CUP, "red")
    assert judge_.verify([claim], FRAME)[0].label == label
    turned = {"supported": "unsupported", "unsupported": "supported"}
    negated = judge_.verify([replace(claim, is_negated=True)], FRAME)[0]
    assert negated.label == turned.get(label, label)


def test_of_two_sides_both_may_be_wrong():
    """*Left of* and *right of* exclude each other, but the cup may be above the box."""
    found = judge_by(lambda _: "contradicted").verify([Claim("spatial", CUP, "left of", BOX)], FRAME)
    assert found[0].label == "unsupported"


@pytest.mark.parametrize(
    "text",
    [
        "Yes.",
        "Das kann man so sagen.",
        '{"verdict": 7}',
        "",
        "supported contradicted cannot tell",
        "ja " * 3_500_000,
        "[" * 200_000,
        Response("refused", reason="policy"),
        Response.failed("no memory"),
    ],
    ids=range(9),
)
def test_a_hostile_answer_costs_only_its_claim(text):
    def say(request):
        return text if "cup" in request.text else by_annotation(request)

    claims = [Claim("entity", CUP), Claim("entity", Mention("ball")), Claim("attribute", CUP, "red")]
    labels = [v.label for v in judge_by(say).verify(claims, EPISODE)]
    assert labels[0] == labels[2] == "unverifiable"
    assert labels[1] != "unverifiable"


def test_a_yes_sayer_judges_nothing_and_is_named():
    found = calibrate(judge_by(lambda _: "supported"), list(make_world("navigation", 1, seed=0)))
    assert found.fault in {"judges nothing", "refutes nothing"}
    assert found.rates.judged_false.value < 0.1


def test_without_a_picture_nothing_is_asked():
    model = Model(lambda _: "supported")
    bare = Episode("bare", "?", (Frame(0.0),))
    assert Judge(Helper.of(model, "judge")).verify([Claim("entity", CUP)], bare)[0].reason == "undecided"
    assert not model.requests


def test_it_keeps_the_contract():
    assert check_verifier(judge_by(by_annotation)).problems == ()
    assert check_verifier(judge_by(lambda _: "supported")).problems == ()


def test_an_informed_judge_is_told_what_is_known():
    facts = list(facts_in_words(EPISODE, (0,)))
    assert len(facts) == 1
    assert facts[0].startswith("Frame 1: ")
    model = Model(by_annotation)
    Judge(Helper.of(model, "judge"), is_told=True).verify([Claim("entity", CUP, frames=(0,))], EPISODE)
    assert facts[0] in model.requests[0].text
    assert "Known about" not in model.requests[0].text.partition("Known about")[2]


def test_equal_requests_are_sent_once_together_and_kept(tmp_path):
    episodes = [make_episode(n) for n in range(3)]
    traces = with_claims([read_trace(str(e.meta["oracle"]), e) for e in episodes])
    batches = []

    class Counting(Model):
        def generate(self, requests):
            batches.append(len(requests))
            return super().generate(requests)

    model = Counting(by_annotation)
    asked = Judge(Helper.of(model, "judge"))

    def compute():
        return judge(traces, {e.id: e for e in episodes}, asked)

    with at_desk(Desk(tmp_path)):
        plan = collected(compute)
    counted = plan["said"].requests
    model.requests.clear(), batches.clear()
    with at_desk(Desk(tmp_path)) as desk:
        first = settled(compute)
        assert desk.asked == counted == len(model.requests)
        assert len(batches) <= -(-counted // model.batch_size)
    with at_desk(Desk(tmp_path)) as desk:
        assert settled(compute) == first
        assert desk.asked == 0
    assert len(model.requests) == counted
    assert {v.label for t in first for s in t.steps for _, v in s.counted()} == {"supported"}


def test_the_budget_is_kept_and_the_rest_is_undecided():
    trace = with_claims([read_trace(str(EPISODE.meta["oracle"]), EPISODE)])
    model = Model(by_annotation)
    with at_desk(Desk(budget=3)) as desk:
        done = settled(lambda: judge(trace, {EPISODE.id: EPISODE}, Judge(Helper.of(model, "judge"))))
        assert (desk.asked, len(model.requests)) == (3, 3)
        assert desk.refused > 0
    verdicts = [v for s in done[0].steps for _, v in s.counted()]
    assert {v.reason for v in verdicts if v.label == "unverifiable"} == {"undecided"}
    assert any("budget" in v.evidence for v in verdicts)


def test_a_judge_of_known_errors_is_measured_and_corrected():
    """SGR by a judge that errs is too low; corrected, it covers that of the truth."""
    episodes = list(make_world("video", 5, seed=4))
    traces = with_claims([read_trace(_half_true(e, i), e) for i, e in enumerate(episodes)])
    by_id = {e.id: e for e in episodes}

    def sgr(verifier):
        from theodolite.instruments.trace.score import mean_over

        return mean_over([(trace_sgr(t), t.unit) for t in judge(traces, by_id, verifier)])

    truth = sgr(open_verifier("annotation")).value
    assert 0.5 < truth < 0.9
    covered, raw_off = [], []
    for seed in range(3):
        tried = judge_by(of_rates(0.75, 0.9, seed))
        rates = settled(lambda tried=tried: calibrate(tried, episodes)).rates
        assert rates.sensitivity.low <= 0.75 <= rates.sensitivity.high
        assert rates.specificity.low <= 0.9 <= rates.specificity.high
        raw = settled(lambda tried=tried: sgr(tried))
        found = rates.corrected(raw)
        covered.append(found.low <= truth <= found.high)
        raw_off.append(abs(raw.value - truth) - abs(found.value - truth))
    assert all(covered)
    assert np.mean(raw_off) > 0.05


def _half_true(episode, number):
    """Return the true trace of an episode with other words in every third sentence."""
    from theodolite.worlds.facts import falsified as false_sentence

    rng = np.random.default_rng(number)
    lines = []
    for line in str(episode.meta["oracle"]).splitlines():
        head, colon, rest = line.partition(": ")
        parts = [p for p in rest.split(". ") if p]
        said = [
            false_sentence(p.rstrip(".") + ".", rng) if rng.random() < 0.3 else p.rstrip(".") + "."
            for p in parts
        ]
        lines.append(f"{head}{colon}{' '.join(said)}" if head.startswith("Step") else line)
    return "\n".join(lines)


# Several judges together.


GOOD, WEAK = Member("good", 95, 5, 5, 95), Member("weak", 70, 30, 40, 60)


def test_a_panel_weighs_its_members_by_their_errors(tmp_path):
    from theodolite.instruments.trace.claims.types import Verdict
    from theodolite.instruments.trace.verifiers.panel import _combined

    yes, no, silent = Verdict("supported"), Verdict("unsupported"), Verdict("unverifiable", "occluded")
    assert _combined([(GOOD, yes), (WEAK, no)]).label == "supported"
    assert _combined([(GOOD, no), (WEAK, yes)]).label == "unsupported"
    assert _combined([(GOOD, silent), (WEAK, no)]).label == "unsupported"
    assert _combined([(GOOD, silent), (WEAK, silent)]).reason == "occluded"
    assert _combined([(GOOD, yes), (GOOD, no)]).reason == "undecided"
    both, one = _combined([(GOOD, yes), (WEAK, yes)]), _combined([(GOOD, yes)])
    assert both.confidence > one.confidence > 0.9


def test_the_annotation_decides_where_it_speaks_and_a_coin_is_not_asked(tmp_path):
    episodes = list(make_world("navigation", 1, seed=2))
    annotation, perfect = open_verifier("annotation"), open_judge("scripted:trace-judge")
    coin = open_judge("scripted:trace-yes")
    found = [settled(lambda v=v: calibrate(v, episodes)) for v in (annotation, perfect, coin)]
    members = members_of(found)
    assert members[2].fault
    write_panel(members, tmp_path / "panel.json")
    panel = open_panel(str(tmp_path / "panel.json"))
    assert panel.costs_requests
    claim = Claim("entity", Mention("unicorn"), frames=(0,))
    assert panel.verify([claim], episodes[0]) == annotation.verify([claim], episodes[0])
    with at_desk(Desk()) as desk:
        settled(lambda: panel.verify([claim], episodes[0]))
        assert desk.asked == 0
        alone = replace(episodes[0], known={})  # the annotation is silent
        said = settled(lambda: panel.verify([Claim("attribute", Mention("unicorn"), "red")], alone))
        assert said[0].evidence == "judge:scripted:trace-judge: supported"
        assert desk.asked == 2


@pytest.mark.parametrize("text", ["", "[]", '{"panel": []}', '{"panel": [{"name": "annotation"}]}', "{"])
def test_a_file_that_is_no_panel_is_refused(tmp_path, text):
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(UsageError, match=r"panel|JSON"):
        open_panel(str(tmp_path / "p.json"))


def test_a_panel_within_a_panel_is_refused(tmp_path):
    write_panel([replace(GOOD, name="panel:p.json")], tmp_path / "p.json")
    with pytest.raises(UsageError, match="members"):
        open_panel(str(tmp_path / "p.json"))


def test_a_judge_needs_a_model():
    with pytest.raises(UsageError, match="judge:MODEL needs a model"):
        open_verifier("judge")
