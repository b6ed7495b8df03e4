"""How the page looks: on a desktop, on a phone, in light and dark, in print."""

from __future__ import annotations

from scrapy_robots_plus.audit.summary.gaps import BINS_PER_DELAY

from .pictures import GAPS_WIDTH

_AT_DELAY = f"{BINS_PER_DELAY / GAPS_WIDTH:.2%}"

_LIGHT = """
  --paper: #fff; --ink: #1d2329; --faint: #59636e; --line: #dfe3e8; --panel: #f6f8fa;
  --denied: #b3402e; --allowed: #2a6f97; --failure: #9a6700; --change: #6f4ea1;
  --warn: #fff5e0; --warn-line: #d9a441; color-scheme: light;
"""
_DARK = """
  --paper: #15191d; --ink: #e4e8ec; --faint: #9ba6b1; --line: #323a42; --panel: #1c2227;
  --denied: #ef8470; --allowed: #6cb2d9; --failure: #dba843; --change: #b79be2;
  --warn: #2d2514; --warn-line: #b98a2f; color-scheme: dark;
"""

STYLE = f"""
:root {{{_LIGHT}}}
@media screen and (prefers-color-scheme: dark) {{ :root {{{_DARK}}} }}
* {{ box-sizing: border-box; }}
body {{
  margin: 0 auto; max-width: 62rem; padding: 2.5rem 1.5rem 4rem;
  background: var(--paper); color: var(--ink); overflow-wrap: anywhere;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}}
h1, h2, h3 {{ line-height: 1.25; }}
h1 {{ margin: 0; font-size: 1.9rem; font-weight: 650; letter-spacing: -0.01em; }}
h2 {{ margin: 3rem 0 0.75rem; font-size: 1.3rem; font-weight: 650; }}
h3 {{ margin: 1.75rem 0 0.5rem; font-size: 1rem; font-weight: 650; }}
p {{ margin: 0.5rem 0 0.9rem; max-width: 44rem; }}
.lead {{ margin: 0.35rem 0 1rem; color: var(--faint); font-size: 1.05rem; }}
.note {{
  max-width: none; margin: 0.9rem 0; padding: 0.7rem 1rem; background: var(--warn);
  border-left: 4px solid var(--warn-line); border-radius: 3px;
}}
.note ul {{ margin: 0.4rem 0 0; padding-left: 1.2rem; }}
nav {{
  display: flex; flex-wrap: wrap; gap: 0.2rem 1.1rem; padding: 0.55rem 0;
  border-top: 1px solid var(--line); border-bottom: 1px solid var(--line); font-size: 0.92rem;
}}
a {{ color: var(--allowed); text-underline-offset: 0.18em; }}
nav a {{ text-decoration: none; }}
nav a:hover, nav a:focus-visible {{ text-decoration: underline; }}
section {{ scroll-margin-top: 1rem; }}
section#short h2 {{ position: absolute; clip-path: inset(50%); }}
code {{
  font: 0.88em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
  white-space: pre-wrap;
}}
.small {{ color: var(--faint); font-size: 0.86rem; line-height: 1.45; }}

dl {{ margin: 0; }}
dt {{ color: var(--faint); font-size: 0.86rem; line-height: 1.3; }}
dd {{ margin: 0; font-variant-numeric: tabular-nums; }}
.tiles dl {{
  display: grid; grid-template-columns: repeat(5, 1fr); gap: 1rem 1.5rem; margin: 1.75rem 0 1rem;
}}
.tiles dl div {{ display: flex; flex-direction: column-reverse; justify-content: flex-end; }}
.tiles dd {{ font-size: 1.7rem; font-weight: 600; line-height: 1.25; }}
.tiles div:first-child dd {{ color: var(--denied); }}
.tiles div:nth-child(2) dd {{ color: var(--allowed); }}

table {{ width: 100%; border-collapse: collapse; margin: 0.75rem 0; }}
th, td {{
  padding: 0.55rem 0.9rem 0.55rem 0; border-bottom: 1px solid var(--line);
  text-align: left; vertical-align: top; font-weight: normal;
}}
th:last-child, td:last-child {{ padding-right: 0; }}
thead th {{
  padding-top: 0; color: var(--faint); font-size: 0.86rem; font-weight: 600;
  border-bottom-color: var(--faint); vertical-align: bottom; overflow-wrap: normal;
}}
.counts tbody th {{ width: 100%; }}
tfoot th, tfoot td {{ color: var(--faint); border-bottom: 0; }}
.number {{ text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }}
td.number {{ min-width: 4.5rem; }}
time {{ overflow-wrap: normal; font-variant-numeric: tabular-nums; }}

svg {{ display: block; width: 100%; height: 3.2rem; }}
svg.share {{ height: 4px; margin: 0.3rem 0 0.25rem; }}
rect.denied, rect.short {{ fill: var(--denied); }}
rect.allowed, rect.kept {{ fill: var(--allowed); }}
rect.failure {{ fill: var(--failure); }}
rect.change {{ fill: var(--change); }}
line.asked {{
  stroke: var(--ink); stroke-width: 1.5px; stroke-dasharray: 4 3; vector-effect: non-scaling-stroke;
}}
figure {{ margin: 0.75rem 0; }}
figcaption {{ margin-bottom: 0.25rem; font-size: 0.9rem; color: var(--faint); }}
figcaption b {{ color: var(--ink); font-weight: 600; }}
.strip svg {{ border-bottom: 1px solid var(--faint); }}
.few {{ max-width: 24rem; }}
.axis {{
  display: flex; justify-content: space-between; gap: 1rem;
  color: var(--faint); font-size: 0.86rem;
}}
.cards {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 1rem; }}
article {{ padding: 0.9rem 1rem; border: 1px solid var(--line); border-radius: 6px; }}
article h3 {{ margin: 0; font-weight: 600; }}
article p {{ margin: 0.15rem 0 0.6rem; }}
article svg {{ height: 5rem; border-bottom: 1px solid var(--faint); }}
article dl {{ display: grid; grid-template-columns: repeat(4, auto); gap: 0.5rem; }}
.scale {{ position: relative; height: 1.3rem; color: var(--faint); font-size: 0.8rem; }}
.scale span {{ position: absolute; }}
.scale .asked {{ left: {_AT_DELAY}; transform: translateX(-50%); color: var(--ink); }}
.scale span:last-child {{ right: 0; }}

@media (max-width: 46rem) {{
  body {{ padding: 1.5rem 1rem 3rem; }}
  h1 {{ font-size: 1.6rem; }}
  h2 {{ margin-top: 2.4rem; }}
  .tiles dl {{ grid-template-columns: 1fr 1fr; }}
  th, td {{ padding-right: 0.6rem; }}
  td.number {{ min-width: 3.2rem; }}
}}
@media print {{
  @page {{ margin: 16mm; }}
  body {{ max-width: none; padding: 0; font-size: 10pt; }}
  nav {{ display: none; }}
  h2, h3, thead {{ break-after: avoid; }}
  tr, article, figure, .note, .tiles {{ break-inside: avoid; }}
  thead {{ display: table-header-group; }}
  tfoot {{ display: table-row-group; }}
  * {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
}}
"""
