"""How the page looks: on a phone, on a wide screen, in the dark, on paper."""

LIGHT = {
    "back": "#ffffff",
    "raised": "#f4f6f8",
    "text": "#1b1f24",
    "faint": "#505a65",
    "line": "#76808b",
    "bad": "#b42318",
    "good": "#196c2e",
    "doubt": "#755700",
    "judge": "#6639ba",
    "send": "#0b5cad",
    "receive": "#8a4600",
    "wait": "#56606b",
}
DARK = {
    "back": "#0f1419",
    "raised": "#1a2129",
    "text": "#e6edf3",
    "faint": "#a6b0bb",
    "line": "#6f7a86",
    "bad": "#ff8d80",
    "good": "#56d364",
    "doubt": "#e3b341",
    "judge": "#c8a5ff",
    "send": "#79b8ff",
    "receive": "#f0a35e",
    "wait": "#98a3af",
}

_RULES = """
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:60rem;padding:0 1rem 3rem;background:var(--back);color:var(--text);
font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.4rem;margin:1rem 0 .2rem}h2{font-size:1.2rem;margin:0}h3{font-size:1rem;margin:0}
p{margin:.4rem 0}
a{color:var(--send)}
:focus-visible{outline:3px solid var(--send);outline-offset:2px}
.skip{position:absolute;left:-99rem}.skip:focus{position:static}
.faint,figcaption small{color:var(--faint)}
.score{font-size:1.1rem;font-weight:600}
section{border-top:2px solid var(--line);margin-top:1.5rem;padding-top:1rem}
.head{display:flex;flex-wrap:wrap;gap:.2rem .8rem;align-items:baseline}
.head .points{margin-left:auto;font-weight:600}
.verdict{font-weight:700;white-space:nowrap}
.bad{color:var(--bad)}.good{color:var(--good)}.doubt{color:var(--doubt)}.judge{color:var(--judge)}
.loss{border-left:4px solid var(--line);padding-left:.8rem;margin:1rem 0}
.loss.is-bad{border-color:var(--bad)}.loss.is-doubt{border-color:var(--doubt)}
.loss.is-judge{border-color:var(--judge)}.loss.is-good{border-color:var(--good)}
.message{font-weight:600}.help{background:var(--raised);padding:.4rem .6rem;border-radius:.4rem}
u{text-decoration-color:var(--bad);text-decoration-thickness:2px;text-underline-offset:3px}
ul{margin:.4rem 0;padding-left:1.3rem}
.tests{list-style:none;padding:0}.tests li{margin:.3rem 0}
.tests b{font-variant-numeric:tabular-nums;white-space:nowrap}
@media (min-width:30rem){.tests{display:grid;grid-template-columns:max-content 1fr;gap:0 .8rem}
.tests li{display:grid;grid-column:1/-1;grid-template-columns:subgrid}}
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--faint);padding:.2rem 0}
th,td{text-align:left;vertical-align:top;padding:.2rem .6rem .2rem 0;
border-bottom:1px solid var(--line);font-weight:400;overflow-wrap:normal}
thead th{font-weight:600}
td code,th code,.plain td{white-space:pre-wrap;overflow-wrap:anywhere}
.code td code{word-break:break-all}
.parts td:last-child{white-space:nowrap}.parts .verdict{white-space:normal}
figure th,.timeline td{white-space:nowrap}.beside th{white-space:normal}
.beside{display:flex;flex-wrap:wrap;gap:.8rem 2.5rem}.beside table{min-width:min(18rem,100%)}
figure{margin:1rem 0;padding:.8rem;overflow-x:clip;background:var(--raised);border-radius:.4rem}
figcaption{font-weight:600;margin-bottom:.4rem}
figcaption small{display:block;font-weight:400;font-size:.85rem}
details{margin:.5rem 0}summary{cursor:pointer;padding:.3rem 0}
pre,.again code{display:block;white-space:pre-wrap;background:var(--raised);padding:.6rem;
border-radius:.4rem;font-size:.85rem;margin:.3rem 0}
code,pre,.code td,.code th{font-family:ui-monospace,monospace;font-size:.85rem}
.code{width:100%}.code th{width:3rem;color:var(--faint);text-align:right}
.code td,.code th{border:0;padding-top:0;padding-bottom:0}
.code .found td,.code .found th{background:var(--back)}
.code .found th{color:var(--bad);font-weight:700}
.code .finding{overflow-wrap:anywhere;font-family:system-ui,sans-serif;color:var(--bad);
margin:0 0 .4rem;padding-left:.6rem;border-left:3px solid var(--bad)}
svg{display:block;max-width:100%}svg.bar{max-width:none}
.blank{display:inline-block;min-width:4rem;border-bottom:1px solid var(--text)}
.blank.long{min-width:14rem}
pre code{display:block;min-height:1.2em}
svg text{fill:var(--text);font:12px system-ui,sans-serif}
svg .above{paint-order:stroke;stroke:var(--raised);stroke-width:4px;stroke-linejoin:round}
svg .small{font-size:11px;fill:var(--faint)}.ring .small{font-size:12px}
.ring{width:100%;max-width:24rem;height:auto;margin:0 auto;overflow:visible}
.node{fill:var(--back);stroke:var(--text);stroke-width:2}
.node.gone{stroke-dasharray:4 3}
.ring .name{text-anchor:middle;font-weight:700}
.edge{fill:none;stroke:var(--send)}.edge.waits{stroke:var(--faint);stroke-dasharray:6 4}
.edge.cycle{stroke:var(--bad);stroke-width:4}.edge.last{stroke:var(--good);stroke-dasharray:2 4;
stroke-width:2}
.tip-send{fill:var(--send)}.tip-cycle{fill:var(--bad)}.tip-waits{fill:var(--faint)}
.tip-last{fill:var(--good)}
.key{list-style:none;padding:0;font-size:.85rem}.key b{font-weight:600}
.budget{margin:.6rem 0 .2rem;font-size:.9rem}
.zoom{display:flex;flex-wrap:wrap;gap:.2rem .3rem;border:0;padding:0;margin:.3rem 0}
.zoom legend{float:left;padding:.3rem 0}
.zoom label{padding:.3rem 0;white-space:nowrap}
.lanes{display:flex}.lanes>svg{flex:none}.lanes .scroll{flex:1;min-width:0;
overscroll-behavior-x:contain}
.time{max-width:none;width:100%}
.zoom:has(.by4:checked)+.lanes .time{width:400%}
.zoom:has(.by16:checked)+.lanes .time{width:1600%}
.zoom:has(.by64:checked)+.lanes .time{width:6400%}
.lane{stroke:var(--line);stroke-width:1}
.bar-send{fill:var(--send)}.bar-receive{fill:var(--receive)}.bar-wait{fill:var(--wait)}
.bar-collective{fill:var(--judge)}
.bar-send,.bar-receive,.bar-wait,.bar-collective{stroke-width:2}.bar-send{stroke:var(--send)}
.bar-receive{stroke:var(--receive)}.bar-wait{stroke:var(--wait)}
.bar-collective{stroke:var(--judge)}
.is-send{color:var(--send)}.is-receive{color:var(--receive)}.is-wait{color:var(--wait)}
.is-collective{color:var(--judge)}
.open{fill:none;stroke:var(--bad);stroke-width:2;stroke-dasharray:5 3}
.arrow{stroke:var(--text);stroke-width:1;opacity:.75}.tip-arrow{fill:var(--text)}
.actual{fill:var(--send)}.over{fill:var(--bad)}.allowed{stroke:var(--text);stroke-width:3}
.reference{stroke:var(--good);stroke-width:3;stroke-dasharray:3 2}
.ground{stroke:var(--raised);stroke-width:7}
footer{border-top:2px solid var(--line);margin-top:2rem;color:var(--faint);font-size:.85rem}
@media print{body{max-width:none;padding:0;font-size:10pt}.skip,.zoom{display:none}
svg,tr,li,.head{break-inside:avoid}figcaption,.head,h3,.message,summary{break-after:avoid}
.scroll{overflow:visible}.time{width:100%!important}
details::details-content{content-visibility:visible;block-size:auto}}
"""


def stylesheet() -> str:
    """Return the CSS of the page; paper is always white."""
    light, dark = (_variables(each) for each in (LIGHT, DARK))
    return (
        f":root{{{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
        f"@media print{{html{{color-scheme:light}}}}{_RULES.strip()}"
    )


def _variables(colours: dict[str, str]) -> str:
    return ";".join(f"--{name}:{colour}" for name, colour in colours.items())
