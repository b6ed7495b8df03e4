"""How often a host that refuses requests is asked: all states and transitions of its pace."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from math import inf

from .gap_search import FIRST_WAIT, LEAST_GAP, LEAST_WAIT, GapSearch
from .probes import Probes
from .refusal_shares import FEW, RefusalShares


class Refusal(Enum):
    """What a 429 or 503 says."""

    OF_PAGE = "nothing about the host"
    KNOWN = "of the host, which is asked less often already"
    NEW = "of the host: it is left alone for a while, and then asked less often"


class Throttle:
    """The pace of one host that has answered 429 or 503: pauses, and a gap between requests, which
    :class:`GapSearch` finds.

    **States.** At full speed (``is_on`` is false), until enough is refused. Then a first pause,
    while the answers to what was under way, and to the next requests, tell how much is refused at
    full speed (``_measures``). Then slowed down: pauses, and requests one by one, until the gap has
    shrunk to nothing or the pace is taken back.

    **Which refusals count.** A page that fails again says nothing new about its host. So at full
    speed, the first refusal of a request counts; a later one counts only if the host has answered
    nothing else since the last refusal that counted. Requests that were under way together are
    refused together: only a request sent after the last pause can begin another. So each request
    belongs to a phase, which the next refusal ends.

    **Whether it helps** is for :class:`RefusalShares` to tell. Until a pace has helped, its cost is
    bounded. One that does not help is taken back: the host is asked at full speed, and no other
    pace is tried for a while, unless nearly everything is refused now that was not before. If a
    host goes on refusing though a pace helps, :class:`Probes` tell whether the host needs it.

    **Long windows.** If a host allows a number of requests per minute, say, no pace shows that:
    everything is answered, then everything is refused. So if the host surely refuses several
    different requests, and serves none until some pauses have passed, the pauses have helped.

    Times are seconds by one clock.
    """

    JITTER = 0.1
    """The largest part of a wait that is added to it at random."""

    ERRORS = 3
    """How many of the latest :data:`FEW` requests, answered 503, are a refusal of the host."""
    ENOUGH = 6
    """How many answers tell how much is refused at full speed; also how many different refused
    requests make a ban."""
    WHILE_MEASURED = 0.05
    """The gap until it is known how much is refused: waiting requests do not go all at once."""
    HARMLESS = 0.1
    """The share of refusals that retries can deal with."""
    MEMORY = 600.0
    """Seconds for which no pace is tried after one that did not help; twice as many each time."""

    ON_TRIAL = 6.0
    """Seconds that a pace may cost until it has helped."""
    IN_VAIN = 60.0
    """Seconds that a pace may cost if it has helped before, or if the host names a Retry-After;
    also seconds of pauses that may be in vain, if the host surely refused enough different
    requests and has served none since."""
    SEVERAL = 3
    """How many pauses in a row must be too short before an answer shows that a longer one helps."""
    FORGIVEN = 5
    """How many refusals of one request, at most, do not count as retries."""

    def __init__(self, longest_wait: float, jitter: Callable[[], float]) -> None:
        """Takes *longest_wait* in seconds, and *jitter*, which returns a number from 0 to 1."""
        self._most = longest_wait
        self._jitter = jitter
        self._search = GapSearch(longest_wait)
        self._shares = RefusalShares()
        self.phase = 0
        self.until = -inf
        """The moment at which the pause ends."""
        self.waited = 0.0
        """Seconds of all pauses, and of the gaps before the requests that were served."""
        self._pauses = self._at_last = 0
        """Since the host last served a request: pauses after a 429 with Retry-After, and requests
        refused in that way after the last pause."""
        self._answered_since = FEW
        """Requests served since the last refusal that counted."""
        self._different = 0
        """Different requests refused since the host last served one."""
        self._asked = 0.0
        """Seconds that the last refusal asked for, by its Retry-After."""
        self._refused_again = 0
        """Refusals of requests that had been refused before, since one of these was served."""
        self._too_short = 0
        """Pauses after which the next request was refused, since the host last served one."""
        self._bans = False
        """Whether the host surely refuses many different requests, and serves none: a ban."""
        self._cost = 0.0
        """Seconds that the pace has cost since it began, or since it last helped."""
        self._unproven = 0.0
        """Seconds that paces have cost since one helped, however often they were taken back."""
        self._probes = Probes()
        """The probes of a host that goes on refusing, each in a phase of its own."""
        self._in_vain = 0.0
        """Seconds of pauses after which nothing was served."""
        self._memory = self.MEMORY
        self._free_until = -inf
        """The moment until which no pace is tried, because the last one did not help."""
        self._chances = 0
        """How many more refusals at full speed may show that a pace did help."""
        self._found = 0.0
        """The gap of the last pace, which did not seem to help, or is not kept in a probe."""
        self._phase_began = 0.0
        self._start()
        self._end()

    def _start(self) -> None:
        """Forgets what is known of the pace."""
        self._began_in = self.phase
        """The last phase at full speed."""
        self._measures = True
        """Whether the share of refusals at full speed is still being measured."""
        self._answers = 0
        """Requests served in this phase."""
        self._helps = False
        """Whether it is certain that slowness makes refusals rarer."""
        self._search.begin()
        self._shares.begin()

    def _end(self) -> None:
        """Goes back to full speed."""
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
        """Handles the refusal of a request; returns what it says.

        *sent_in*: the phase it was sent in; None if that is not known. *is_first*: whether it was
        not refused before. *asked*: the seconds of its Retry-After. With one, or if *is_429*, a
        single such answer is a refusal of the host.
        """
        is_sure = is_429 or asked > 0
        self._asked = asked
        is_probe = sent_in == self._probes.phase
        is_fast = not is_probe and self._was_fast(sent_in)
        self._refused_again += not is_first
        if self._answered_since and not is_first and is_fast:
            return Refusal.OF_PAGE
        self._different += is_first
        self._bans = is_sure and self._different >= self.ENOUGH
        if not self.is_on:
            if is_first:
                self._at_full_speed(now, refused=True)
            if self.was_in_vain and is_429 and asked > 0 and is_first:
                self._at_last += 1
            is_new = self._try_to_begin(now, is_sure=is_sure)
            if not (is_new or is_sure or now < self._free_until):
                return Refusal.OF_PAGE
        elif is_probe:
            is_new = self._note_probed(now, refused=True)
        elif is_fast:
            is_new = self._at_full_speed(now, refused=True)
        else:
            is_new = sent_in == self.phase and self._again(now, is_sure=is_sure)
        if not is_new:
            return Refusal.KNOWN
        self._answered_since = 0
        self._pauses += is_429 and asked > 0
        self._pause(now, asked)
        return Refusal.NEW

    def answered(self, sent_in: int | None, now: float, *, is_first: bool = True) -> None:
        """Handles an answer that is no refusal: the host may be asked a little more often.

        *sent_in* and *is_first*: see :meth:`refused`.
        """
        if not is_first:
            self._refused_again = 0
        self._answered_since += 1
        if self.is_on and sent_in == self.phase and self._bans and self._too_short >= self.SEVERAL:
            self._in_vain = 0.0
            self._is_found()
        self._different = self._too_short = self._pauses = self._at_last = 0
        if sent_in == self._probes.phase:
            self._note_probed(now, refused=False)
        elif self._was_fast(sent_in):
            self._answers += not self.is_on
            if self._at_full_speed(now, refused=False):
                self._pause(now)
        elif sent_in == self.phase:
            self._answers += 1
            self._cost += self.gap
            self._unproven += self.gap
            self._probes.cost += self.gap
            self.waited += self.gap
            self._weigh(refused=False)
            if self._is_in_vain(0.0):
                self._take_back(now)
                return
            self._search.shrink()
            if self.gap < LEAST_GAP:
                self._end()
            elif self._helps and self._probes.is_due:
                self.phase += 1
                self._probes.probe(self.phase)
                self._found, self._search.gap = self.gap, 0.0

    def forgives(self, refusal: Refusal, before: int) -> bool:
        """Returns whether a refused request gets one more try than others, because of its host.

        *before*: how many times it was refused before.
        """
        if self.is_on:
            of_host = refusal is not Refusal.OF_PAGE or self._helps
            return of_host and before < self.FORGIVEN
        # At full speed one more try is cheap, unless other tries have come to nothing.
        was_on = self.phase > 1
        return was_on and before == 1 and self._refused_again <= self.SEVERAL

    def _at_full_speed(self, now: float, *, refused: bool) -> bool:
        """Counts one more answer at full speed. Returns whether that is a reason for another pause:
        there are enough of them to end the measuring of refusals.
        """
        self._shares.at_full_speed.append(refused)
        if self._probes.is_passed:
            self._probes.at_full_speed(refused=refused)
        if not self.is_on and len(self._shares.at_full_speed) >= 2 * FEW:
            self._search.gap = 0.0
        is_enough = len(self._shares.at_full_speed) >= self.ENOUGH
        if not (self.is_on and self._measures and is_enough):
            return False
        if self._shares.fast < self.HARMLESS:
            self._end()
            return False
        self._slows_down()
        is_pause = now < self.until
        self._began_in = self.phase - is_pause
        return not is_pause

    # Whether it begins

    def _was_fast(self, sent_in: int | None) -> bool:
        return not self.is_on or sent_in is None or sent_in <= self._began_in

    def _try_to_begin(self, now: float, *, is_sure: bool) -> bool:
        """Slows down if a refusal at full speed is a reason to. Returns whether it does."""
        if now < self._free_until:
            return self._try_to_resume()
        is_new = now > self.until + self.MEMORY
        if is_new:
            self._cost = self._in_vain = self._unproven = 0.0
            self._probes.begin()
        if is_sure and is_new:
            self._shares.forget()  # what follows this refusal tells the share
            self._start()
            self._began_in += 1  # where few are under way, the next ones count as full speed, too
            self._search.open(self.WHILE_MEASURED)
        elif self._shares.refused_of(FEW) >= self.ERRORS:
            self._shares.forget(all_but=FEW)
            if self._helps and self._answers and not is_new:
                self._began_in = self.phase
                self._search.too_often(self._answers, now - self._phase_began)
            else:
                self._start()
                self._slows_down()
        else:
            return False
        self.is_on = True
        return True

    def _slows_down(self) -> None:
        self._measures = False
        self._search.open(FIRST_WAIT / 2)

    def _try_to_resume(self) -> bool:
        """Resumes the last pace if it has helped after all, as more is refused at full speed.
        Returns whether it does."""
        was_short = self._bans and self._too_short and self._in_vain <= self.ON_TRIAL
        wait = max(2 * self._found, LEAST_WAIT)
        needs_pace = self._probes.needs_pace_after_all()
        if needs_pace:
            self._is_found()
        has_chance = self._unproven + wait <= self.IN_VAIN and self._take_second_chance()
        if not (needs_pace or was_short or self._shares.is_rarer or has_chance):
            return False
        self._cost = self._in_vain = 0.0
        self._began_in = self.phase
        self._search.gap, self._search.wait = self._found, wait
        self.is_on = True
        return True

    @property
    def in_a_row(self) -> int:
        """How many times in a row the host has answered nothing but 429 with Retry-After: once for
        each pause, and after the last one for each :data:`FEW` different requests.

        A 429 without Retry-After asks for no wait that could add up: a later one may be answered.
        """
        return self._pauses + self._at_last // FEW

    @property
    def was_in_vain(self) -> bool:
        """Whether the host was slowed down, and that did not help."""
        return not self.is_on and self._free_until > self.until

    def _take_second_chance(self) -> bool:
        """Returns whether the pace may have helped: much is refused after it, or all lately."""
        shares = self._shares
        if not shares.slow_answers or len(shares.at_full_speed) < FEW:
            return False
        self._chances -= 1
        if len(shares.at_full_speed) < 2 * FEW:
            return False
        return shares.seems_rarer and (self._chances >= 0 or shares.refused_of(2 * FEW) == 2 * FEW)

    # Whether it helps

    def _weigh(self, *, refused: bool) -> None:
        """Counts an answer at the pace, which may show that the pace helps."""
        self._probes.at_the_pace.append(refused)
        if self._shares.at_the_pace(refused=refused):
            self._is_found()

    def _note_probed(self, now: float, *, refused: bool) -> bool:
        """Counts an answer to a probe. Returns whether that is a reason for another pause."""
        self._shares.at_full_speed.append(refused)
        self._probes.at_full_speed(refused=refused)
        if not self._probes.ends():
            return False
        self._search.gap = self._found
        if self._probes.is_passed:
            self._shares.begin()  # otherwise the next outage would resume the pace
            self._take_back(now)
        return self.is_on

    def _is_found(self) -> None:
        """Records that the host has a limit, and that slowness helps."""
        self._helps, self._memory = True, self.MEMORY
        self._cost = self._unproven = 0.0
        self._free_until = -inf

    def _again(self, now: float, *, is_sure: bool) -> bool:
        """Handles the refusal of a request of this phase. Returns whether another pause follows."""
        if self._answers:
            self._weigh(refused=True)
            self._in_vain = 0.0
            self._search.too_often(self._answers, now - self._phase_began)
            in_vain = self._is_in_vain(self._search.wait)
        else:
            self._too_short += 1
            self._search.too_early(now - self._phase_began)
            # A 503 alone is no ban, even of a host with a limit: broken pages answer so forever.
            is_ban = is_sure and (self._bans or self._helps)
            room = (self.IN_VAIN if is_ban else self.ON_TRIAL) - FIRST_WAIT - self._in_vain
            in_vain = room < (LEAST_WAIT if is_ban else self._search.wait)
            in_vain |= not is_ban and self._is_in_vain(self._search.wait)
            self._search.wait = min(self._search.wait, room)
            self._in_vain += self._search.wait
        if in_vain:
            self._take_back(now)
        return not in_vain

    def _is_in_vain(self, wait: float) -> bool:
        """Returns whether the pace has cost enough in vain. *wait*: seconds it is about to cost."""
        most = self.ON_TRIAL
        if self._asked or self._helps:
            most = self.IN_VAIN
        elif self._shares.seems_rarer:
            most = 1.5 * most if self._shares.slow_answers > FEW else self.IN_VAIN
        return self._cost + wait > most

    def _take_back(self, now: float) -> None:
        """Goes back to full speed for a while, as the pace did not help."""
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
        cost = max(self.until - now - asked, 0.0)  # what the host asks for costs nothing
        self._unproven += cost
        self._probes.cost += cost
        if self._in_vain <= self.ON_TRIAL:
            self._cost += cost
        self.waited += self.until - now
        self._phase_began = now
        self._answers = 0
        self.phase += 1
