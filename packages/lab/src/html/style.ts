/** The style of a page. Text has a contrast of 4.5 to 1 or more against what is behind it, and lines of 3 to 1, in light and in dark. */
export const style = `
:root {
  color-scheme: light dark;
  --back: #ffffff; --raised: #f4f5f7; --text: #1b1f24; --muted: #565e68; --rule: #d5d9de; --grid: #e6e9ec;
  --link: #0b57c2; --warn-back: #fff4d6; --warn-rule: #a86400;
  --plain: #b3480a; --hedged: #1557c7; --third: #0c7a4d; --fourth: #8a2fb0; --fifth: #a8174f; --sixth: #5a5f00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #14171b; --raised: #1e2329; --text: #e8ebee; --muted: #a9b2bc; --rule: #3a424b; --grid: #2a3037;
    --link: #8ab8ff; --warn-back: #33290f; --warn-rule: #e0a83a;
    --plain: #f59a5b; --hedged: #76acff; --third: #4fcf97; --fourth: #d79af2; --fifth: #ff8fb0; --sixth: #cfd15a;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 62rem; padding: 1rem; background: var(--back); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; overflow-wrap: anywhere;
}
h1 { font-size: 1.6rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.25rem; line-height: 1.25; margin: 2.5rem 0 .75rem; }
p { margin: .5rem 0; max-width: 44rem; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; background: var(--back); padding: .5rem; }
.lead, .notes, footer { color: var(--muted); }
.verdict { border-left: .3rem solid var(--hedged); background: var(--raised); padding: .5rem 1rem; }
.verdict h2, .warnings h2 { margin: 0; font-size: 1rem; }
.verdict p:first-of-type { font-size: 1.15rem; font-weight: 600; }
.warnings { border-left: .3rem solid var(--warn-rule); background: var(--warn-back); padding: .5rem 1rem; margin-top: 1rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1rem; list-style: none; padding: 0; margin: 1rem 0; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .875rem; overflow-wrap: normal; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; }
th, td { padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--rule); text-align: right; vertical-align: top; white-space: nowrap; }
th[scope=row], .left, .words { text-align: left; }
.words { white-space: normal; min-width: 18rem; }
thead th { border-bottom: 2px solid var(--muted); vertical-align: bottom; }
th { font-weight: 600; }
tbody th { font-weight: 400; }
figure { margin: 1.5rem 0; }
figcaption { font-weight: 600; }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1.25rem; list-style: none; margin: .25rem 0; padding: 0; font-size: .9rem; }
.legend svg { vertical-align: -.2em; margin-right: .4rem; }
.drawing svg { display: block; max-width: 100%; height: auto; }
.narrow { display: none; }
@media (max-width: 48rem) { .narrow { display: block; } .wide { display: none; } }
summary { cursor: pointer; color: var(--link); padding: .25rem 0; width: fit-content; }
pre { background: var(--raised); padding: .75rem; margin: .25rem 0 1rem; font-size: .85rem; overflow-x: auto; }
footer { margin-top: 3rem; border-top: 1px solid var(--rule); font-size: .9rem; }
`
