"""The record as judges read it: its order in both readings, and what they are told of it."""

import pytest

from tests.support.prompt_texts import blocks
from tests.support.simulation import build_debaters, build_setup, render_finding, render_prompt_text, simulate

pytestmark = pytest.mark.requirement("D19")


class TestReadings:
    def readings(self, name: str, **options: object) -> dict[int, list[str]]:
        """Both readings of two rounds of four turns, as the numbers of their speakers."""
        opened = build_setup(
            format=name, debaters=build_debaters(4), options={"judges": {"both_orders": True, **options}}
        )
        at = simulate(opened, lambda c: render_finding() if c.reading else f"{c.round}{c.seat[-1]}").play()
        return {c.reading: blocks(render_prompt_text(p)) for c, p in at.calls_made if c.reading}

    @pytest.mark.requirement("C9")
    def test_the_second_reading_turns_rounds_that_were_written_together(self) -> None:
        read = self.readings("advocates")
        assert read[2] == [*read[1][1:4], read[1][0], *read[1][5:8], read[1][4]]
        assert sorted(read[1]) == SPOKEN

    @pytest.mark.requirement("C9")
    def test_rounds_that_were_written_together_are_read_in_the_order_drawn(self) -> None:
        at = simulate(build_setup(debaters=build_debaters(4))).play_to_round(3)
        drawn = [f"{entered.round}{seat[-1]}" for entered in at.debate.rounds[:2] for seat in entered.order]
        assert self.readings("advocates")[1] == drawn
        assert drawn != sorted(drawn)
        assert self.readings("advocates", shuffle=False)[1] == SPOKEN

    @pytest.mark.requirement("C22")
    def test_turns_that_answer_each_other_keep_their_order_in_both_readings(self) -> None:
        assert self.readings("verdict") == {1: SPOKEN, 2: SPOKEN}


SPOKEN = ["11", "12", "13", "14", "21", "22", "23", "24"]


@pytest.mark.requirement("C22")
def test_judges_are_told_what_is_true_of_the_record_they_read() -> None:
    (reading, _) = simulate(build_setup(format="full")).play().prompts("judge 1")
    assert "The turns of rounds 1, 4 and 6 were written without seeing each other; their order" in reading
    assert "The turns of rounds 2 and 3 were made one after the other and stand in that order." in reading
    assert "The messages of round 5 were written without seeing each other; each stands with its" in reading
    assert "What was first said in the last turns could not be answered" in reading
    assert "Left out: the ballots of round 7." in reading

    (reading, _) = simulate(build_setup()).play().prompts("judge 1")
    assert "What was first said in the last turns could not be answered" in reading
    assert "No turn is left out." in reading

    first, last = simulate(build_setup(format="oxford")).play().prompts("voter 1")
    assert "You are in the audience. Nobody has spoken yet: go by what you know. Say in percent" in first
    assert "You are in the audience. The turns of rounds 2 and 3 were written without seeing" in last
    assert "Left out: the ballots of round 1. Go by what supports each position. Say in" in last

    at = simulate(build_setup(format="verdict")).play(lambda debate: len(debate.turns) == 3)
    at.intervene("conclude")
    (reading, _) = at.play().prompts("judge 1")
    assert "Left out: turns in round 2 that were never made." in reading
