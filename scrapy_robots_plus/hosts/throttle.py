"""How often a host that refuses requests is asked: all states and transitions."""

from __future__ import annotations

from enum import Enum
from math import inf
from typing import TYPE_CHECKING

from .gap_search import FIRST_WAIT, LEAST_GAP, LEAST_WAIT, GapSearch
from .refusal_shares import FEW, RefusalShares

if TYPE_CHECKING:
    from collections.abc import Callable


class Refusal(Enum):
    """What an answer 429 or 503 says."""

    OF_PAGE = "nothing about the host"
    KNOWN = "of the host, which is asked less often already"
    NEW = "of the host: it is left alone for a while, and then asked less often"


class Throttle:
    """The pace of one host that has answered 429 or 503: pauses, and a gap between requests, which
    :class:`GapSearch` finds.

    **Which refusals count.** A page that fails again says nothing new about its host. So at full
    speed the first refusal of a request counts; a later one counts only if the host has answered
    nothing else since the last refusal that counted. Requests that were under way together are
    refused together: only a request sent after the last pause can begin another. So each request
    belongs to a phase, which the next refusal ends.

    **Whether it helps** is what :class:`RefusalShares` tells. What a pace costs before it has
    helped is bounded. One that does not help is taken back: full speed, and no other attempt for a
    good while, unless nearly all is refused now that was not before.

    **Long windows.** Where a number of requests is allowed in a minute, say, no pace shows that:
    all is answered, then all is refused. So if several different requests are refused for sure,
    and none is answered until some pauses have passed, these were what helped.

    Times are seconds by one clock.
    """

    JITTER = 0.1
    """The largest part of a wait that is added to it at random."""

    ERRORS = 3
    """So many different requests of the latest :data:`FEW`, answered 503, are a refusal."""
    ENOUGH = 6
    """After so many answers it is known how much is refused at full speed."""
    WHILE_MEASURED = 0.05
    """The gap until that is known: those that waited do not all go at once."""
    HARMLESS = 0.1
    """A share of refusals that retries can deal with."""
    MEMORY = 600.0
    """For so many seconds no pace is tried after one that did not help; then for twice as long."""

    ON_TRIAL = 6.0
    """Seconds that it may cost until it has helped."""
    IN_VAIN = 60.0
    """The same for a pace that has helped before, and for a host that names a Retry-After; and the
    seconds of pauses that are in vain, if enough different requests were refused for sure and none
    was answered otherwise since."""
    SEVERAL = 3
    """After so many pauses in a row that were too short, the next one was what helped."""
    FORGIVEN = 5
    """How many refusals of one request at most do not count as its retries."""

    def __init__(self, longest_wait: float, jitter: Callable[[], float]) -> None:
        """*jitter* returns a number from 0 to 1."""
        self._most = longest_wait
        self._jitter = jitter
        self._search = GapSearch(longest_wait)
        self._shares = RefusalShares()
        self.phase = 0
        self.until = -inf
        """When the pause ends."""
        self.waited = 0.0
        """The seconds of all its pauses, and of the gaps before the requests that were answered."""
        self._pauses = self._at_last = 0
        """Since something was answered: pauses after a 429 with Retry-After, requests answered so
        when these were over."""
        self._answered_since = FEW
        """Answers since the last refusal that counted."""
        self._different = 0
        """Different requests refused since something was answered."""
        self._asked = 0.0
        self._refused_again = 0
        """Refusals of requests that had been refused, since one of these was answered."""
        self._too_short = 0
        """Pauses after which nothing was answered, without an answer since."""
        self._bans = False
        """Whether it refuses many different requests for sure, and answers none."""
        self._cost = 0.0
        """Seconds that were waited lately, since it has helped."""
        self._unproven = 0.0
        """The same since it began, however often it was taken back."""
        self._in_vain = 0.0
        """Seconds of pauses after which nothing was answered."""
        self._memory = self.MEMORY
        self._free_until = -inf
        """Until then no pace is tried, because the last one did not help."""
        self._chances = 0
        """Refusals at full speed that may still tell that a pace did help."""
        self._found = 0.0
        """The gap that did not seem to help."""
        self._phase_began = 0.0
        self._start(0.0)
        self._end()

    def _start(self, wait: float) -> None:
        """Nothing is known yet."""
        self._began_in = self.phase
        """The last phase at full speed."""
        self._measures = True
        """Whether it is not known yet how much is refused at full speed."""
        self._answers = 0
        """Those of this phase."""
        self._helps = False
        self._search.begin(wait)
        self._shares.begin()

    def _end(self) -> None:
        """Full speed."""
        self._search.gap = 0.0
        self.is_on = False
        """Whether the host is asked less often."""
        self.phase += 1

    @property
    def gap(self) -> float:
        """Seconds between two requests; 0 for none."""
        return self._search.gap

    # Events

    def refused(
        self, sent_in: int | None, now: float, *, is_first: bool, is_429: bool, asked: float
    ) -> Refusal:
        """A request was refused.

        *sent_in*: the phase it was sent in; None if that is not known. *is_first*: it was not
        refused before. *asked*: the seconds of its Retry-After. With one, and if *is_429*, a single
        such answer is a refusal of the host.
        """
        is_sure = is_429 or asked > 0
        self._asked = asked
        is_fast = not self.is_on or self._was_fast(sent_in)
        self._refused_again += not is_first
        if self._answered_since and not is_first and is_fast:
            return Refusal.OF_PAGE
        self._different += is_first
        self._bans = is_sure and self._different >= self.ENOUGH
        if not self.is_on:
            if is_first:
                self._at_full_speed(refused=True)
            if self.was_in_vain and is_429 and asked > 0 and is_first:
                self._at_last += 1
            if not self._try_to_begin(now, is_sure=is_sure):
                return Refusal.KNOWN if is_sure or now < self._free_until else Refusal.OF_PAGE
        elif is_fast:
            self._at_full_speed(refused=True)
            if not self._note_measured(now):
                return Refusal.KNOWN
        elif sent_in != self.phase:
            return Refusal.KNOWN
        else:
            self._again(now, is_sure=is_sure)
            if not self.is_on:
                return Refusal.KNOWN
        self._answered_since = 0
        self._pauses += is_429 and asked > 0
        self._pause(now, asked)
        return Refusal.NEW

    def answered(self, sent_in: int | None, now: float, *, is_first: bool = True) -> None:
        """A request was not refused: the host may be asked a little more often.

        *sent_in* and *is_first* as for :meth:`refused`.
        """
        if not is_first:
            self._refused_again = 0
        self._answered_since += 1
        if self.is_on and sent_in == self.phase and self._bans and self._too_short >= self.SEVERAL:
            self._in_vain = 0.0
            self._is_found()
        self._different = self._too_short = self._pauses = self._at_last = 0
        if not self.is_on or self._was_fast(sent_in):
            self._at_full_speed(refused=False)
            self._answers += not self.is_on
            if self.is_on and self._note_measured(now):
                self._pause(now)
        elif sent_in == self.phase:
            self._answers += 1
            self._cost += self.gap
            self._unproven += self.gap
            self.waited += self.gap
            self._weigh(refused=False)
            if self._is_in_vain(0.0):
                self._take_back(now)
                return
            self._search.shrink()
            if self.gap < LEAST_GAP:
                self._end()

    def forgives(self, refusal: Refusal, before: int) -> bool:
        """Whether a refused request may be sent once more than others, because of its host.

        *before*: how many times it was refused before.
        """
        if self.is_on:
            of_host = refusal is not Refusal.OF_PAGE or self._helps
            return of_host and before < self.FORGIVEN
        # At full speed one more try is cheap, unless other tries have come to nothing.
        was_on = self.phase > 1
        return was_on and before == 1 and self._refused_again <= self.SEVERAL

    def _at_full_speed(self, *, refused: bool) -> None:
        """There was one more answer at full speed."""
        self._shares.at_full_speed(refused=refused)
        if not self.is_on and self._shares.remembered >= 2 * FEW:
            self._search.gap = 0.0

    # Whether it begins

    def _was_fast(self, sent_in: int | None) -> bool:
        return sent_in is None or sent_in <= self._began_in

    def _try_to_begin(self, now: float, *, is_sure: bool) -> bool:
        """Begins to wait if a refusal at full speed is a reason to. Returns whether it does."""
        if now < self._free_until:
            return self._try_to_resume()
        is_new = now > self.until + self.MEMORY
        if is_new:
            self._cost = self._in_vain = self._unproven = 0.0
        if is_sure and is_new:
            self._shares.forget()  # it begins with a refusal: those that follow tell the share
            self._start(FIRST_WAIT)
            self._began_in += 1  # what follows the pause is at full speed, if the others are few
            self._search.open(self.WHILE_MEASURED)
        elif self._shares.refused_lately >= self.ERRORS:
            self._shares.forget(all_but=FEW)
            if self._helps and self._answers and not is_new:
                self._began_in = self.phase
                self._search.too_often(self._answers, now - self._phase_began)
            else:
                self._start(FIRST_WAIT)
                self._slows_down()
        else:
            return False
        self.is_on = True
        return True

    def _slows_down(self) -> None:
        self._measures = False
        self._search.open(FIRST_WAIT / 2)

    def _note_measured(self, now: float) -> bool:
        """At full speed there was one more answer. Returns whether that is a reason for another
        pause."""
        if not self._measures or self._shares.remembered < self.ENOUGH:
            return False
        if self._shares.fast < self.HARMLESS:
            self._end()
            return False
        self._slows_down()
        is_pause = now < self.until
        self._began_in = self.phase - is_pause
        return not is_pause

    def _try_to_resume(self) -> bool:
        """Takes the last pace up again if it has helped after all: at full speed more is refused.
        Returns whether it does."""
        was_short = self._bans and self._too_short and self._in_vain <= self.ON_TRIAL
        wait = max(2 * self._found, LEAST_WAIT)
        has_chance = self._unproven + wait <= self.IN_VAIN and self._take_second_chance()
        if not (was_short or self._shares.is_rarer or has_chance):
            return False
        self._cost = self._in_vain = 0.0
        self._began_in = self.phase
        self._search.gap, self._search.wait = self._found, wait
        self.is_on = True
        return True

    @property
    def in_a_row(self) -> int:
        """How many times it has answered nothing but 429 with Retry-After: once for each pause, and
        after the last one for each :data:`FEW` different requests.

        A 429 without one asks for no wait that could add up: what comes later may be answered.
        """
        return self._pauses + self._at_last // FEW

    @property
    def was_in_vain(self) -> bool:
        """Whether it was slowed down, and that did not help."""
        return not self.is_on and self._free_until > self.until

    def _take_second_chance(self) -> bool:
        """Returns whether it may have helped: much is refused at first, or nothing else lately."""
        shares = self._shares
        if not shares.slow_answers or shares.remembered < FEW:
            return False
        self._chances -= 1
        if shares.remembered < 2 * FEW:
            return False
        return shares.seems_rarer and (self._chances >= 0 or shares.all_refused(2 * FEW))

    # Whether it helps

    def _weigh(self, *, refused: bool) -> None:
        """An answer at the pace."""
        if self._shares.at_the_pace(refused=refused):
            self._is_found()

    def _is_found(self) -> None:
        """It has a limit, and slowness helps."""
        self._helps, self._memory = True, self.MEMORY
        self._cost = self._unproven = 0.0
        self._free_until = -inf

    def _again(self, now: float, *, is_sure: bool) -> None:
        """A request of this phase was refused."""
        if self._answers:
            self._weigh(refused=True)
            self._in_vain = 0.0
            self._search.too_often(self._answers, now - self._phase_began)
            in_vain = self._is_in_vain(self._search.wait)
        else:
            self._too_short += 1
            self._search.too_early(now - self._phase_began)
            # A 503 is none, though it has a limit: pages that are broken answer so for ever.
            is_ban = is_sure and (self._bans or self._helps)
            room = (self.IN_VAIN if is_ban else self.ON_TRIAL) - FIRST_WAIT - self._in_vain
            in_vain = room < (LEAST_WAIT if is_ban else self._search.wait)
            in_vain |= not is_ban and self._is_in_vain(self._search.wait)
            self._search.wait = min(self._search.wait, room)
            self._in_vain += self._search.wait
        if in_vain:
            self._take_back(now)

    def _is_in_vain(self, wait: float) -> bool:
        """Whether the pace has cost enough without helping; *wait*: what it is about to cost."""
        most = self.ON_TRIAL
        if self._asked or self._helps:
            most = self.IN_VAIN
        elif self._shares.seems_rarer:
            most = 1.5 * most if self._shares.slow_answers > FEW else self.IN_VAIN
        return self._cost + wait > most

    def _take_back(self, now: float) -> None:
        """Full speed again: it did not help."""
        self._found = self.gap
        self._helps = False
        self._end()
        self._search.open(self.WHILE_MEASURED)
        self._shares.forget()
        self._cost = 0.0
        self._free_until = now + self._memory
        self._memory *= 2
        self._chances = 2 * FEW

    def _pause(self, now: float, asked: float = 0.0) -> None:
        wait = self._search.bounded()
        self.until = now + min(wait * (1 + self.JITTER * self._jitter()), self._most)
        cost = max(self.until - now - asked, 0.0)
        self._unproven += cost
        if self._in_vain <= self.ON_TRIAL:
            self._cost += cost
        self.waited += self.until - now
        self._phase_began = now
        self._answers = 0
        self.phase += 1
