/** The plan for people. */
import { grid } from "../grid.js"
import type { Code } from "./paste.js"
import type { Figures, Goals, Outlook, Row } from "./plan.js"
import { names } from "./plan.js"
import type { Part, Report } from "./report.js"
import * as Say from "./say.js"

export const render = ({ keys, measured, moreKeys, settings: { ask, goals }, whole }: Report): string =>
  [
    heading(measured).join("\n"),
    body(whole, goals),
    ...keys.map((each) => `── ${ask.key} ${each.key}: ${latencies(each.outlook.n)}\n\n${body(each, goals)}`),
    ...(moreKeys === 0 ? [] : [`${Say.plural(moreKeys, "key")} with fewer calls not shown.`])
  ].join("\n\n")

export const latencies = (n: number): string => Say.plural(n, "latency", "latencies")

/** What was read, a line at a time. */
export const heading = ({
  all,
  column,
  file,
  filtered,
  series,
  title
}: Report["measured"]): ReadonlyArray<string> => [
  `${file}: ${title}, ${column.name || series} in ${column.unit}`,
  `${latencies(all.distribution.n)}${filtered === 0 ? "" : `; ${Say.count(filtered)} kept out by --where`}`
]

const body = (part: Part, goals: Goals): string =>
  [
    grid(rows(part.outlook, goals)),
    ...(part.warnings.length === 0 ? [] : [part.warnings.map((warning) => `! ${warning}`).join("\n")]),
    part.verdict.words,
    ...(part.policy === null ? [] : code(part.policy, part.verdict.row!))
  ].join("\n\n")

const code = ({ adaptive, fixed }: Code, { extraLoad }: Row): ReadonlyArray<string> => [
  `With ${Say.percent(extraLoad)} extra load, as code:`,
  fixed,
  ...(adaptive === null
    ? []
    : ["Or with delays that it learns, and that follow when latencies change:", adaptive])
]

/** The first row is the head. */
export const rows = (
  outlook: Outlook,
  { fanOuts, objective }: Goals
): ReadonlyArray<ReadonlyArray<string>> => {
  const label = Say.labels[objective]
  const head = [
    "extra load",
    "delay",
    "probability",
    "attempts",
    ...names.flatMap((name) => (name === objective ? [label, "95 % interval"] : [Say.labels[name]])),
    `ideal ${label}`
  ]
  const block = (fanOut: number, plain: Figures) => [
    [
      fanOut === 1 ? "none" : `none, pages of ${Say.count(fanOut)}`,
      "",
      "",
      "",
      ...times(plain, objective),
      ""
    ],
    ...outlook.rows.flatMap((row, i) =>
      row.fanOut === fanOut ? [[...cells(row), ...times(row, objective), Say.ms(outlook.oracle[i]!.ms)]] : []
    )
  ]
  return [
    head,
    ...block(1, outlook.unhedged),
    ...fanOuts.flatMap((fanOut, i) => block(fanOut, outlook.pages[i]!))
  ]
}

const cells = ({ delaysMs, extraLoad, fanOut, probabilities }: Row): ReadonlyArray<string> => [
  `${Say.percent(extraLoad)}${fanOut === 1 ? "" : `, pages of ${Say.count(fanOut)}`}`,
  ...(delaysMs.length === 0
    ? ["none helps", "", ""]
    : [
        delaysMs.map(Say.ms).join(", "),
        probabilities.map(Say.percent).join(", "),
        String(1 + delaysMs.length)
      ])
]

const times = (figures: Figures, objective: Goals["objective"]): ReadonlyArray<string> =>
  names.flatMap((name) => {
    const [from, to] = figures.ci[name]
    const interval = `${Say.ms(from).replace(/ ms$/, "")} to ${to === null ? "?" : Say.ms(to)}`
    return name === objective ? [Say.ms(figures[name]), interval] : [Say.ms(figures[name])]
  })
