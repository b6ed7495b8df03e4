"""How often a host may be asked, found out from its refusals: all states and transitions."""

from __future__ import annotations

from collections import deque
from enum import Enum
from itertools import islice
from math import inf, lgamma, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Refusal(Enum):
    """What an answer 429 or 503 says."""

    OF_PAGE = "nothing about the host"
    KNOWN = "of the host, which is asked less often already"
    NEW = "of the host: it is left alone for a while, and then asked less often"


class Throttle:
    """The pace of one host that has answered 429 or 503: pauses, and a gap between requests.

    **Which refusals count.** A page that fails again says nothing new about its host. So at full
    speed the first refusal of a request counts; a later one counts only if the host has answered
    nothing else since the last refusal that counted. Requests that were under way together are
    refused together: only a request sent after the last pause can begin another. So each request
    belongs to a phase, which the next refusal ends.

    **How the pace is found.** Limits are of two kinds. One asks for a minimum gap: then a refusal
    says that the gap was just too short. The other allows a number of requests in some time, at
    once or not: then what was answered between two refusals says how many are allowed. Nobody knows
    which kind it is, so the gap after a refusal is the geometric mean of both, and a little more.
    From there it shrinks: fast until it is near to the one that was refused, then slowly, then
    faster the longer nothing is refused, as TCP does (RFC 9438). Before the second refusal nothing
    is known, and the gap shrinks with each answer.

    **Whether it helps.** Many refusals have nothing to do with the pace: broken pages, a server of
    many that is out of order. So the share of refusals at full speed is compared with the share
    while the host is slowed down, by a Bayes factor that one may look at after each answer. What a
    pace costs before it has helped is bounded. One that does not help is taken back: full speed,
    and no other attempt for a good while, unless nearly all is refused now that was not before.

    **Long windows.** Where a number of requests is allowed in a minute, say, no pace shows that:
    all is answered, then all is refused. So if several different requests are refused for sure,
    and none is answered until some pauses have passed, these were what helped.

    Times are seconds by one clock.
    """

    FIRST_WAIT = 1.0
    LEAST_WAIT = 0.5
    JITTER = 0.1
    """The largest part of a wait that is added to it at random."""
    LONGEST_GAP = 60.0
    LEAST_GAP = 0.01
    """A gap below this is none."""
    MARGIN = 1.1
    """How much longer the gap is than the one that seems to be allowed."""
    SHRINKS_BLINDLY = 0.8
    """The gap as a part of the one before, while no limit is known."""
    APPROACHES = 0.04
    """The part of the way to the refused gap that each answer takes off."""
    CREEPS = 0.0003
    """The part of the gap that each answer takes off near the refused one, and for each second."""
    PATIENCE = 80
    """After this many such answers they take off four times as much, and so on."""
    LARGEST_STEP = 0.2

    ERRORS = 3
    """So many different requests of the latest :attr:`FEW`, answered 503, are a refusal."""
    FEW = 8
    ENOUGH = 6
    """After so many answers it is known how much is refused at full speed."""
    WHILE_MEASURED = 0.05
    """The gap until that is known: those that waited do not all go at once."""
    HARMLESS = 0.1
    """A share of refusals that retries can deal with."""
    REMEMBERED = 32
    """How many answers at full speed are remembered."""
    CERTAIN = 4.6
    """The logarithm of 100: so many times likelier it must be that slowness helps."""
    PROMISING = 0.3
    """A share of refusals that is so much below the other may be lower, or luck."""
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
        self.phase = 0
        self.gap = 0.0
        """Between two requests; 0 for none."""
        self.until = -inf
        """When the pause ends."""
        self.waited = 0.0
        """The seconds of all its pauses, and of the gaps before the requests that were answered."""
        self._pauses = self._at_last = 0
        """Since something was answered: pauses after a 429 with Retry-After, requests answered so
        when these were over."""
        self._fast = deque([False] * self.FEW, self.REMEMBERED)
        """Of the latest answers to requests that were not slowed down, which ones refused. Before
        the first refusal, some were answered."""
        self._answered_since = self.FEW
        """Answers since the last refusal that counted."""
        self._different = 0
        """Different requests refused since something was answered."""
        self._asked = 0.0
        self._recovers = False
        """Whether it has answered a request that it had refused."""
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
        self._careful = 0
        """After so many answers at full speed it is without a gap."""
        self._found = 0.0
        """The gap that did not seem to help."""
        self._phase_began = 0.0
        self._start(0.0)
        self._end()

    def _start(self, wait: float) -> None:
        """Nothing is known yet."""
        self._began_in = self.phase
        """The last phase at full speed."""
        self._wait = wait
        """The length of the pause."""
        self._measures = True
        """Whether it is not known yet how much is refused at full speed."""
        self._answers = 0
        """Those of this phase."""
        self._goal: float | None = None
        """The gap that it shrinks to, and then slowly below; None while no limit is known."""
        self._crept = 0
        self._answered = self._passed = 0.0
        """Answers, and the time that they took, between refusals; older ones count less."""
        self._slow = [0.0, 0.0]
        """Answers to requests that were slowed down, and refusals; halved each time it helped."""
        self._helps = False

    def _end(self) -> None:
        """Full speed."""
        self.gap = 0.0
        self.is_on = False
        """Whether the host is asked less often."""
        self.phase += 1

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
        self._speed_up()
        self._refused_again += not is_first
        if self._answered_since and not is_first and is_fast:
            return Refusal.OF_PAGE
        self._different += is_first
        self._bans = is_sure and self._different >= self.ENOUGH
        if not self.is_on:
            if is_first:
                self._fast.append(True)
            self._at_last += self.was_in_vain and is_429 and asked > 0 and is_first
            if not self._try_to_begin(now, is_sure=is_sure):
                return Refusal.KNOWN if is_sure or now < self._free_until else Refusal.OF_PAGE
        elif is_fast:
            self._fast.append(True)
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
            self._recovers, self._refused_again = True, 0
        self._speed_up()
        self._answered_since += 1
        if self.is_on and sent_in == self.phase and self._bans and self._too_short >= self.SEVERAL:
            self._in_vain = 0.0
            self._is_found()
        self._different = self._too_short = self._pauses = self._at_last = 0
        if not self.is_on or self._was_fast(sent_in):
            self._fast.append(False)
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
            self._shrink()
            if self.gap < self.LEAST_GAP:
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

    def _speed_up(self) -> None:
        """There was another answer: if the host is not slowed down, that ends."""
        if self._careful and not self.is_on:
            self._careful -= 1
            if not self._careful:
                self.gap = 0.0

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
            self._fast.clear()  # it begins with a refusal: those that follow tell the share
            self._start(self.FIRST_WAIT)
            self._began_in += 1  # what follows the pause is at full speed, if the others are few
            self.gap = min(self.WHILE_MEASURED, self._most)
        elif sum(latest := list(self._fast)[-self.FEW :]) >= self.ERRORS:
            self._fast = deque(latest, self.REMEMBERED)
            if self._helps and self._answers and not is_new:
                self._began_in = self.phase
                self._too_often(now - self._phase_began)
            else:
                self._start(self.FIRST_WAIT)
                self._slows_down()
        else:
            return False
        self.is_on = True
        return True

    def _slows_down(self) -> None:
        self._measures = False
        self.gap = min(self.FIRST_WAIT / 2, self._most)

    def _note_measured(self, now: float) -> bool:
        """At full speed there was one more answer. Returns whether that is a reason for another
        pause."""
        if not self._measures or len(self._fast) < self.ENOUGH:
            return False
        if sum(self._fast) < self.HARMLESS * len(self._fast):
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
        wait = max(2 * self._found, self.LEAST_WAIT)
        has_chance = self._unproven + wait <= self.IN_VAIN and self._take_second_chance()
        if not (was_short or self._is_rarer() or has_chance):
            return False
        self._cost = self._in_vain = 0.0
        self._began_in = self.phase
        self.gap, self._wait = self._found, wait
        self.is_on = True
        return True

    @property
    def in_a_row(self) -> int:
        """How many times it has answered nothing but 429 with Retry-After: once for each pause, and
        after the last one for each :attr:`FEW` different requests.

        A 429 without one asks for no wait that could add up: what comes later may be answered.
        """
        return self._pauses + self._at_last // self.FEW

    @property
    def was_in_vain(self) -> bool:
        """Whether it was slowed down, and that did not help."""
        return not self.is_on and self._free_until > self.until

    def _take_second_chance(self) -> bool:
        """Returns whether it may have helped: much is refused at first, or nothing else lately."""
        count = len(self._fast)
        if not any(self._slow) or count < self.FEW:
            return False
        self._chances -= 1
        if self._chances >= 0 and count >= 2 * self.FEW:
            return self._seems_rarer
        many = 2 * self.FEW
        return count >= many and all(islice(reversed(self._fast), many)) and self._seems_rarer

    # Whether it helps

    def _weigh(self, *, refused: bool) -> None:
        """An answer at the pace."""
        self._slow[refused] += 1
        if self._is_rarer():
            self._is_found()
            self._slow = [count / 2 for count in self._slow]

    def _is_found(self) -> None:
        """It has a limit, and slowness helps."""
        self._helps, self._memory = True, self.MEMORY
        self._cost = self._unproven = 0.0
        self._free_until = -inf

    @property
    def _shares(self) -> tuple[float, float]:
        """Of refusals: at full speed, and at the pace."""
        fast = sum(self._fast) / max(len(self._fast), 1)
        return fast, self._slow[1] / max(sum(self._slow), 1)

    @property
    def _seems_rarer(self) -> bool:
        fast, slow = self._shares
        return slow <= fast - self.PROMISING

    def _is_rarer(self) -> bool:
        """Whether it is certain that slowness makes refusals rarer."""
        answered, refused = self._slow
        fast = sum(self._fast)
        also = len(self._fast) - fast
        is_less = refused * also < fast * answered
        return is_less and _likelier_different(refused, answered, fast, also) >= self.CERTAIN

    def _again(self, now: float, *, is_sure: bool) -> None:
        """A request of this phase was refused."""
        if self._answers:
            self._weigh(refused=True)
            self._in_vain = 0.0
            self._too_often(now - self._phase_began)
            in_vain = self._is_in_vain(self._wait)
        else:
            self._too_early(now - self._phase_began)
            # No ban, though it has a limit: pages that answer 503 again, and never recover.
            is_page = not (is_sure or self._recovers)
            is_ban = self._bans or (self._helps and not is_page)
            room = (self.IN_VAIN if is_ban else self.ON_TRIAL) - self.FIRST_WAIT - self._in_vain
            in_vain = room < (self.LEAST_WAIT if is_ban else self._wait)
            in_vain |= not is_ban and self._is_in_vain(self._wait)
            self._wait = min(self._wait, room)
            self._in_vain += self._wait
        if in_vain:
            self._take_back(now)

    def _is_in_vain(self, wait: float) -> bool:
        """Whether the pace has cost enough without helping; *wait*: what it is about to cost."""
        most = self.ON_TRIAL
        if self._asked or self._helps:
            most = self.IN_VAIN
        elif self._seems_rarer:
            most = 1.5 * most if sum(self._slow) > self.FEW else self.IN_VAIN
        return self._cost + wait > most

    def _take_back(self, now: float) -> None:
        """Full speed again: it did not help."""
        self._found = self.gap
        self._helps = False
        self._end()
        self.gap, self._careful = min(self.WHILE_MEASURED, self._most), 2 * self.FEW
        self._fast.clear()
        self._cost = 0.0
        self._free_until = now + self._memory
        self._memory *= 2
        self._chances = 2 * self.FEW

    # How long

    def _too_often(self, passed: float) -> None:
        """Requests were answered, then one was refused: the limit is somewhere near."""
        self._answered += self._answers
        self._passed += passed
        gap = max(self.gap, self.LEAST_GAP)
        average = max(self._passed / self._answered, gap)
        self._goal = gap * self.MARGIN if self._goal else gap / self.SHRINKS_BLINDLY
        self.gap = min(sqrt(gap * average) * self.MARGIN, self.LONGEST_GAP)
        self._wait = max(2 * self.gap, self._wait / 2, self.LEAST_WAIT)
        self._crept = 0
        self._answered /= 2
        self._passed /= 2

    def _too_early(self, passed: float) -> None:
        """The first request after a pause was refused: the pause was too short."""
        self._passed += passed
        self._too_short += 1
        self._wait = min(2 * self._wait, self._most)
        if self._goal is None:
            self.gap = min(max(self._wait / 8, self.FIRST_WAIT / 2), self.LONGEST_GAP)

    def _pause(self, now: float, asked: float = 0.0) -> None:
        self._wait = min(self._wait, self._most)
        self.gap = min(self.gap, self._most)
        self.until = now + min(self._wait * (1 + self.JITTER * self._jitter()), self._most)
        cost = max(self.until - now - asked, 0.0)
        self._unproven += cost
        if self._in_vain <= self.ON_TRIAL:
            self._cost += cost
        self.waited += self.until - now
        self._phase_began = now
        self._answers = 0
        self.phase += 1

    def _shrink(self) -> None:
        if self._goal is None:
            self.gap *= self.SHRINKS_BLINDLY
            return
        # The longer it stays shut after a refusal, the less one more is worth.
        costs = max(self._wait / max(2 * self.gap, self.FIRST_WAIT), 1.0)
        impatience = (1 + self._crept / self.PATIENCE) ** 2 / costs
        step = min(self.CREEPS * (impatience + self.gap), self.LARGEST_STEP) * self.gap
        approach = (self.gap - self._goal) * self.APPROACHES
        if approach <= step:
            self._crept += 1
        self.gap -= max(step, approach)


def _likelier_different(
    refused: float, answered: float, refused_2: float, answered_2: float
) -> float:
    """The logarithm of how much likelier two shares are if they differ than if they are the same.

    The Bayes factor for uniform shares. Under the same share it exceeds *x* with a probability
    below *1/x*, however often one looks.
    """

    def beta(a: float, b: float) -> float:
        return lgamma(a + 1) + lgamma(b + 1) - lgamma(a + b + 2)

    return (
        beta(refused, answered)
        + beta(refused_2, answered_2)
        - beta(refused + refused_2, answered + answered_2)
    )
