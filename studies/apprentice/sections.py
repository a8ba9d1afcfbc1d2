"""The page, section by section: from a finished study to text, tables and pictures.

Words in the code say what is shown, how it is defined and what the paper reported; what the figures mean is written by
hand, in the file of readings.
"""

from __future__ import annotations

from collections.abc import Mapping

from forager_lab.metrics import Figure, mean
from studies.apprentice import losses
from studies.apprentice.crawl_sections import batches, features, fig_10, fig_11, fig_12, fig_13, fig_14, variants
from studies.apprentice.losses import By
from studies.apprentice.offline_sections import fig_4, fig_5, fig_6, fig_7, fig_8, fig_9
from studies.apprentice.study import BASELINE, HALVED, ONLINE, STEERED, STEERED_BY, WHOLE, Study
from studies.layout import Section, percent, runs, share, table

BEFOREHAND_GOAL, ONLINE_GOAL = 0.30, 0.20
CHOSEN_ON = 1  # as many first runs were looked at when the apprentice's settings were chosen
STEERED_ON = 3
BOTH: tuple[By, ...] = ("truth", "critic")


def sections(study: Study) -> list[Section]:
    return [
        summary(study), fig_4(study), fig_5(study), fig_6(study), fig_7(study), fig_8(study), fig_9(study),
        fig_10(study), fig_11(study), fig_12(study), fig_13(study), fig_14(study), batches(study), features(study),
        variants(study),
    ]  # fmt: skip


def summary(study: Study) -> Section:
    rows = []
    halved, halved_anew, online, online_anew, steered, steered_anew = (dict[str, Figure]() for _ in range(6))
    for topic, size in study.sizes.items():
        n = size // 2
        before = [losses.reduction_of(study, topic, HALVED, n, by, halved=True) for by in BOTH]
        whole = [losses.reduction_of(study, topic, WHOLE, n, by) for by in BOTH]
        later = [losses.reduction_of(study, topic, ONLINE, size, by) for by in BOTH]
        base = mean(losses.losses(study, topic, BASELINE, n, "truth", range(study.plan.runs), halved=True))
        anew = losses.reduction_of(study, topic, HALVED, n, "truth", halved=True, first=CHOSEN_ON)
        guided = [losses.reduction_of(study, topic, STEERED, size, by) for by in BOTH]
        guided_anew = losses.reduction_of(study, topic, STEERED, size, "truth", first=STEERED_ON)
        later_anew = losses.reduction_of(study, topic, ONLINE, size, "truth", first=CHOSEN_ON)
        halved[topic], halved_anew[topic] = before[0].value, anew.value
        if study.plan.is_large(size):
            online[topic], online_anew[topic] = later[0].value, later_anew.value
            steered[topic], steered_anew[topic] = guided[0].value, guided_anew.value
        counted = losses.pages_counted(study, topic, HALVED, n)
        rows.append(
            [
                topic,
                f"{size:,}",
                share(base),
                *map(percent, before),
                percent(anew),
                f"{counted:.0f}",
                *map(percent, whole),
                *map(percent, later),
                percent(later_anew),
                percent(losses.late_reduction(study, topic, ONLINE, n, size)),
                *map(percent, guided),
                percent(guided_anew),
            ]
        )
    head = [
        "topic", "R", "baseline's loss, B", "**beforehand**, truth", "critic", "truth, runs 2 on", "pages of B",
        "undivided*, truth", "critic", "**online** at R, truth", "critic", "truth, runs 2 on", "R/2 to R, truth",
        "**steered** at R, truth", "critic", "truth, runs 4 on",
    ]  # fmt: skip
    text = (
        "Loss reduction against best-first, 1 - loss / loss of best-first, in percent: mean over "
        f"{runs(study.plan.runs)} with the half width of its 95 % interval. *Beforehand*: trained on instances whose "
        "targets lie in a random half A of the web's pages, then crawled without learning more; loss among the pages "
        "of the other half, B, that are among the first R/2 fetched. *Undivided*, marked * because it is optimistic: "
        "trained on all instances, so it has been told of pages it then finds. *Online*: never trained beforehand, "
        "loss among the first R pages, and by truth among the second half of them alone. By truth loss is the share of "
        "pages without the label, by the critic the mean "
        "of 1 - Pr. † stands where the baseline of some run lost nothing: there it is the reduction of the mean "
        "losses. "
    )
    text += (
        "*Runs 2 on*: without the first run, on which the apprentice's settings were chosen. "
        f"{_met(halved, halved_anew, BEFOREHAND_GOAL, 'Beforehand')} "
        f"{_met(online, online_anew, ONLINE_GOAL, 'Online', study.plan.large)} *Steered*: `{STEERED_BY}`, online; "
        "it starts from what the page itself is worth, and combines all pages that link to a target. These settings "
        "were chosen on the first three runs of the four large topics and of no other. "
        f"{_met(steered, steered_anew, ONLINE_GOAL, 'Steered', study.plan.large, STEERED_ON)}"
    )
    paper = "loss cut by 30 to 90 %, typically 30 to 60 %, trained beforehand on the pages of a baseline crawl."
    return Section("summary", "Loss reduction", text, paper, table=table(head, rows))


def _met(
    values: Mapping[str, Figure],
    anew: Mapping[str, Figure],
    goal: float,
    name: str,
    large: int | None = None,
    first: int = 1,
) -> str:
    """On how many topics the goal is reached, and on which it is not."""
    met, met_anew = (
        [topic for topic, value in given.items() if value is not None and value >= goal] for given in (values, anew)
    )
    missed = [topic for topic in values if topic not in met]
    which = f" with R > {large}" if large is not None else ""
    told = f"{name}, at least {goal:.0%} by truth is reached on {len(met)} of {len(values)} topics{which}"
    told += f" ({len(met_anew)} without the first {'run' if first == 1 else f'{first} runs'})"
    return f"{told}; not on {', '.join(missed)}." if missed and met else f"{told}."
