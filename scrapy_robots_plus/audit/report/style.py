"""How the page looks: on a desktop, on a phone, in light and dark, in print."""

from __future__ import annotations

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
  margin: 0 auto; max-width: 62rem; padding: 2rem 1.5rem 3rem;
  background: var(--paper); color: var(--ink); overflow-wrap: anywhere;
  font: 0.95rem/1.45 system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif;
}}
h1, h2, h3 {{ line-height: 1.25; }}
h1 {{ margin: 0; font-size: 1.9rem; font-weight: 650; letter-spacing: -0.01em; }}
h2 {{ margin: 2.2rem 0 0.5rem; font-size: 1.3rem; font-weight: 650; }}
h3 {{ margin: 1.75rem 0 0.5rem; font-size: 1rem; font-weight: 650; }}
p {{ margin: 0.5rem 0 0.9rem; max-width: 44rem; }}
.lead {{ margin: 0.35rem 0 1rem; color: var(--faint); }}
.sentence {{ margin: 1rem 0; font-size: 1.15rem; font-weight: 600; }}
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
code {{
  font: 0.88em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
  white-space: pre-wrap;
}}
.small {{ color: var(--faint); font-size: 0.86rem; line-height: 1.45; }}

table {{ width: 100%; border-collapse: collapse; margin: 0.75rem 0; }}
th, td {{
  padding: 0.3rem 0.9rem 0.3rem 0; border-bottom: 1px solid var(--line);
  text-align: left; vertical-align: top; font-weight: normal;
}}
th:last-child, td:last-child {{ padding-right: 0; }}
thead th {{
  padding-top: 0; color: var(--faint); font-size: 0.86rem; font-weight: 600;
  border-bottom-color: var(--faint); vertical-align: bottom; overflow-wrap: normal;
}}
tfoot th, tfoot td {{ color: var(--faint); border-bottom: 0; }}
.number {{ text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }}
td:first-child, tbody th {{ min-width: 12rem; }}
b.short {{ color: var(--denied); }}
time {{ overflow-wrap: normal; font-variant-numeric: tabular-nums; }}

svg {{ display: block; width: 100%; height: 2rem; border-bottom: 1px solid var(--faint); }}
rect.denied {{ fill: var(--denied); }}
rect.allowed {{ fill: var(--allowed); }}
rect.failure {{ fill: var(--failure); }}
rect.change {{ fill: var(--change); }}
figure {{ margin: 0.6rem 0; }}
figcaption {{ font-size: 0.86rem; color: var(--faint); }}
.axis {{
  display: flex; justify-content: space-between; gap: 1rem;
  color: var(--faint); font-size: 0.86rem;
}}
details {{ margin: 0.4rem 0; }}
summary {{ cursor: pointer; color: var(--allowed); }}
.wide {{ overflow-x: auto; }}

@media (max-width: 46rem) {{
  body {{ padding: 1.5rem 1rem 3rem; }}
  h1 {{ font-size: 1.6rem; }}
  h2 {{ margin-top: 2.4rem; }}
  th, td {{ padding-right: 0.6rem; }}
  td:first-child, tbody th {{ min-width: 0; }}
  #hosts thead {{ display: none; }}
  #hosts tr, #hosts th {{ display: block; }}
  #hosts tr {{ padding: 0.3rem 0; border-bottom: 1px solid var(--line); }}
  #hosts th, #hosts td {{ padding: 0 0.9rem 0 0; border: 0; }}
  #hosts td {{ display: inline-block; text-align: left; }}
  #hosts td:empty {{ display: none; }}
  #hosts td::before {{ content: attr(data-head) " "; color: var(--faint); font-size: 0.86rem; }}
}}
@media print {{
  @page {{ margin: 16mm; }}
  body {{ max-width: none; padding: 0; font-size: 10pt; }}
  nav {{ display: none; }}
  h2, h3, thead {{ break-after: avoid; }}
  tr, figure, .note {{ break-inside: avoid; }}
  thead {{ display: table-header-group; }}
  tfoot {{ display: table-row-group; }}
  * {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
}}
"""
