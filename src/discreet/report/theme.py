"""How a report looks: colours of both themes, and the style sheet.

All colours stand here, so that a test can compute the contrast of every pair that occurs.
"""

from __future__ import annotations

__all__ = ["CHART_STYLE", "DARK", "HEAT", "LIGHT", "STYLE"]

LIGHT = {
    "page": "#ffffff",
    "panel": "#f3f6fa",
    "ink": "#18202c",
    "soft": "#475467",
    "rule": "#c8d0db",
    "accent": "#1b5fa8",
    "series1": "#b3400f",
    "series2": "#17744a",
    "series3": "#7a3ea3",
    "notice": "#6b4300",
    "notice-page": "#fff4d9",
    "alarm": "#971b1b",
    "alarm-page": "#fdeaea",
}
DARK = {
    "page": "#12161d",
    "panel": "#1c232e",
    "ink": "#e9edf3",
    "soft": "#b3bdcb",
    "rule": "#3d4859",
    "accent": "#7db7f7",
    "series1": "#f2955f",
    "series2": "#68cb99",
    "series3": "#cba0ef",
    "notice": "#f5d28c",
    "notice-page": "#332a14",
    "alarm": "#ffb8b8",
    "alarm-page": "#3b1d20",
}
#: The palest and the strongest cell of a heat map, as shares of the accent over the page.
HEAT = (0.05, 0.5)

_SHEET = """
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:1rem/1.55 system-ui,sans-serif}
body{overflow-wrap:anywhere}
main,header,nav,footer{max-width:52rem;margin:0 auto;padding:0 1rem}
header{padding-top:1.5rem}
h1{font-size:1.9rem;line-height:1.2;margin:.2rem 0 .4rem}
h2{font-size:1.4rem;line-height:1.25;margin:2.6rem 0 .6rem;padding-top:.8rem;border-top:2px solid var(--rule)}
h3{font-size:1.15rem;line-height:1.3;margin:1.8rem 0 .4rem}
h4{font-size:1rem;margin:1.4rem 0 .3rem}
p{margin:.5rem 0}
a{color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.skip{position:absolute;left:-999rem;top:0;padding:.5rem 1rem;background:var(--page);z-index:1}
.skip:focus{left:.5rem;top:.5rem}
.lead{font-size:1.2rem}
.soft{color:var(--soft)}
.notice,.alarm{padding:.6rem .9rem;border-left:.35rem solid;border-radius:.2rem;font-weight:600}
.notice{background:var(--notice-page);color:var(--notice);border-color:var(--notice)}
.alarm{background:var(--alarm-page);color:var(--alarm);border-color:var(--alarm)}
nav ul{padding-left:1.2rem;columns:16rem 2;margin:.4rem 0}
dl{display:grid;grid-template-columns:minmax(7rem,auto) 1fr;gap:.3rem 1.2rem}
dl{background:var(--panel);padding:.7rem 1rem;border-radius:.4rem;margin:.8rem 0}
dt{color:var(--soft)}
dd{margin:0}
figure{margin:1rem 0}
figcaption{font-weight:600}
svg{display:block;width:100%;max-width:36rem;height:auto;margin:.4rem 0}
details{margin:.5rem 0}
summary{cursor:pointer;color:var(--accent)}
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.4rem 0;overflow-wrap:normal}
caption{text-align:left;font-weight:600;padding:.2rem 0}
th,td{padding:.25rem .8rem .25rem 0;border-bottom:1px solid var(--rule);text-align:left}
th,td{vertical-align:top;white-space:nowrap}
.wide{min-width:15rem;white-space:normal;overflow-wrap:anywhere}
thead th{color:var(--soft);font-weight:600}
tbody th{font-weight:400}
.number{text-align:right}
footer{padding-top:2rem;padding-bottom:2rem;color:var(--soft)}
"""
_SHAPES = """
svg text{font:14px system-ui,sans-serif;fill:var(--soft)}
svg text.ink{fill:var(--ink)}
svg .grid{stroke:var(--rule);stroke-width:1}
svg .axis{stroke:var(--soft);stroke-width:1}
svg .whisker{stroke:var(--ink);stroke-width:1.5}
svg .reference{stroke:var(--ink);stroke-width:1.6;fill:none}
svg .r0{stroke-dasharray:7 4}
svg .r1{stroke-dasharray:2 3}
svg .bar{fill:var(--accent);fill-opacity:.35;stroke:var(--accent)}
svg .cell{fill:var(--accent);stroke:var(--page)}
svg .meter{fill:var(--panel);stroke:var(--soft)}
svg .used{fill:var(--accent)}
svg .s0{--series:var(--accent)}
svg .s1{--series:var(--series1)}
svg .s2{--series:var(--series2)}
svg .s3{--series:var(--series3)}
svg .curve{stroke:var(--series);stroke-width:2;fill:none}
svg .band{fill:var(--series);fill-opacity:.18}
svg .mark{fill:var(--series)}
"""
_PHONE = """
@media (max-width:34rem){h1{font-size:1.6rem}nav ul{columns:1}svg text{font-size:16px}
dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}}
"""
_PRINT = """
@media print{nav,.skip,summary{display:none}main,header,footer{max-width:none;padding:0}body{font-size:10.5pt}
h2,h3,figcaption,caption{break-after:avoid}figure,dl,tr,.notice,.alarm{break-inside:avoid}.scroll{overflow:visible}
th,td{white-space:normal}
svg{max-width:13cm}details::details-content{content-visibility:visible;display:block;height:auto}}
"""


def _declare(colours: dict[str, str]) -> str:
    return ":root{" + ";".join(f"--{name}:{value}" for name, value in colours.items()) + "}"


#: Paper is light, whatever the screen is.
_COLOURS = f"{_declare(LIGHT)}@media screen and (prefers-color-scheme:dark){{{_declare(DARK)}}}"
#: The style of a page, and that of a chart which stands alone.
STYLE = _COLOURS + _SHEET + _SHAPES + _PHONE + _PRINT
CHART_STYLE = _COLOURS + _SHAPES
