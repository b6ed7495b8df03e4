"""What sites want done with their pages."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_robots_plus.crawl.settings.checks.kinds import one_of, or_unset, text
from scrapy_robots_plus.crawl.settings.checks.uses import ai_uses, use_tokens
from scrapy_robots_plus.crawl.settings.setting import Need, setting
from scrapy_robots_plus.policy.options import AiPolicy


@dataclass(frozen=True, eq=False)
class Preferences:
    """Preferences"""

    ai_uses: tuple[str, ...] = setting(
        "ROBOTS_AI_USES",
        ai_uses,
        default=[],
        example=["train-ai"],
        doc="What the crawl is for: a list of `train-ai`, `ai-use` and `search`. Pages whose site "
        "objects to one of them are counted, or skipped with `ROBOTS_AI_POLICY`. See "
        "[preferences](preferences.md#skipping).",
    )
    ai_policy: AiPolicy = setting(
        "ROBOTS_AI_POLICY",
        one_of(AiPolicy),
        default="observe",
        example="skip",
        doc="What happens to pages whose site objects to a use in `ROBOTS_AI_USES`. `observe` "
        "counts them. `skip` drops the request if robots.txt says so, and the page if its headers "
        "do. See [preferences](preferences.md#skipping).",
        needs=(
            Need("ROBOTS_AI_USES", lambda its: its.ai_uses),
            Need("ROBOTSTXT_OBEY", lambda its: its.obey),
        ),
    )
    use_tokens: tuple[str, ...] = setting(
        "ROBOTS_USE_TOKENS",
        use_tokens,
        default=[],
        example=["Google-Extended", "Applebot-Extended"],
        doc="Names of groups in a robots.txt that are about training and not about a crawler: what "
        "such a group disallows counts as `train-ai=n`.",
        needs=(Need("ROBOTSTXT_OBEY", lambda its: its.needs_file),),
    )
    item_field: str | None = setting(
        "ROBOTS_ITEM_FIELD",
        or_unset(text),
        default=None,
        example="robots",
        doc='A field of items in which `response.meta["robots"]` of their page is stored. `None` '
        "stores it nowhere. See [items](preferences.md#items).",
    )
