/** Calls as rows, their attempts as bars, by when each was sent and how it ended. */
import type { Mark, Spec } from "vega"
import type { Attempt, Call, CallGroup } from "./call.js"
import { frame, gridded, margins } from "./draw.js"
import { cutOff, failed, type Look, won } from "./looks.js"
import { type Chart, table } from "./page.js"
import * as Say from "./say.js"

export interface Options {
  readonly caption: string
  readonly groups: ReadonlyArray<CallGroup>
  readonly notes?: ReadonlyArray<string>
}

const looks: Readonly<Record<Attempt["end"], Look>> = { Won: won, CutOff: cutOff, Failed: failed }
const words: Readonly<Record<Attempt["end"], string>> = {
  Won: "answered the call",
  CutOff: "was cut off",
  Failed: "failed"
}
const ends = ["Won", "CutOff", "Failed"] as const

/** Empty if there is no call to show. */
export const chart = ({ caption, notes = [], ...options }: Options): ReadonlyArray<Chart> => {
  const groups = options.groups.filter((group) => group.calls.length > 0)
  const calls = groups.flatMap((group) => group.calls)
  if (calls.length === 0) return []
  const isKnownPlain = calls.some(({ plainMs }) => plainMs !== undefined)
  const seen = ends.filter((end) => calls.some(({ attempts }) => attempts.some((each) => each.end === end)))
  const won = calls.filter(({ attempts }) => attempts.slice(1).some(({ end }) => end === "Won"))
  return [
    {
      _tag: "Chart",
      caption,
      alternative: `Bar chart of ${Say.count(calls.length)} calls with a bar for each attempt, from when it was sent to its end. A hedge answered ${Say.count(won.length)} of them. ${groups.map(({ title, calls }) => `${title}: ${spread(calls)}`).join(" ")}`,
      legend: [
        ...seen.map((end) => ({ label: `attempt that ${words[end]}`, look: looks[end] })),
        ...(isKnownPlain ? [{ label: "answer without hedges", look: plainLook }] : [])
      ],
      notes: [
        "Each row is a call by its number, and time counts from when it was due. Its upper bar is the primary, those below are hedges.",
        ...notes
      ],
      figures: table(
        caption,
        [
          ["call", "chosen as", "due at", "took", ...(isKnownPlain ? ["without hedges"] : []), "attempts"],
          ...groups.flatMap((group) => group.calls.map((call) => rowOf(call, group.title, isKnownPlain)))
        ],
        1
      ),
      spec: (width) => spec(width, groups)
    }
  ]
}

const plainLook: Look = { kind: "point", shape: "diamond", dash: [], colour: "var(--text)" }

const spread = (calls: ReadonlyArray<Call>): string => {
  const took = calls.flatMap(({ tookMs }) => tookMs ?? [])
  const unanswered = calls.length - took.length
  return `${took.length === 0 ? "no answers" : `${Say.ms(Math.min(...took))} to ${Say.ms(Math.max(...took))}`}${unanswered === 0 ? "" : `, ${unanswered} without an answer`}.`
}

const rowOf = (call: Call, title: string, isKnownPlain: boolean): ReadonlyArray<string> => [
  Say.count(call.number),
  title,
  Say.ms(call.dueMs),
  call.tookMs === null ? "no answer" : Say.ms(call.tookMs),
  ...(isKnownPlain ? [Say.ms(call.plainMs)] : []),
  call.attempts
    .map(
      ({ end, endMs, startMs }, i) =>
        `${i === 0 ? "primary" : `hedge ${i}`}, ${Say.ms(startMs)} to ${Say.ms(endMs)}, ${words[end]}`
    )
    .join("; ")
]

const lane = 8
const gap = 6
const least = 14
const heading = 26

/** Where everything goes, in pixels from the top. */
const layout = (groups: ReadonlyArray<CallGroup>) => {
  const titles: Array<{ readonly y: number; readonly text: string }> = []
  const labels: Array<{ readonly y: number; readonly text: string }> = []
  const bars: Array<{ readonly y: number } & Attempt> = []
  const plains: Array<{ readonly y: number; readonly height: number; readonly ms: number }> = []
  let y = 0
  for (const { calls, title } of groups) {
    titles.push({ y: y + heading - 10, text: title })
    y += heading
    for (const { attempts, number, plainMs } of calls) {
      const height = Math.max(least, attempts.length * lane)
      const top = y + (height - attempts.length * lane) / 2
      labels.push({ y: y + height / 2, text: Say.count(number) })
      attempts.forEach((attempt, i) => {
        bars.push({ ...attempt, y: top + i * lane })
      })
      if (plainMs !== undefined) plains.push({ y: y + height / 2, height, ms: plainMs })
      y += height + gap
    }
  }
  return { titles, labels, bars, plains, height: y }
}

const spec = (width: number, groups: ReadonlyArray<CallGroup>): Spec => {
  const { bars, height, labels, plains, titles } = layout(groups)
  const latest = Math.max(1, ...bars.map(({ endMs }) => endMs), ...plains.map(({ ms }) => ms))
  const ticks = Math.floor(width / 90)
  return {
    ...frame(width, height + margins.top + margins.bottom, margins),
    data: [
      { name: "titles", values: titles },
      { name: "labels", values: labels },
      { name: "plains", values: plains },
      ...ends.map((end) => ({ name: end, values: bars.filter((bar) => bar.end === end) }))
    ],
    scales: [{ name: "x", type: "linear", domain: [0, latest], range: "width", nice: ticks }],
    axes: (["top", "bottom"] as const).map((orient) => ({
      ...(orient === "bottom" ? gridded : { tickSize: 4 }),
      ...(orient === "bottom" ? { title: "milliseconds since the call was due" } : {}),
      orient,
      scale: "x",
      tickCount: ticks
    })),
    marks: [
      texts("titles", "left", -margins.left, "bold", "var(--text)"),
      texts("labels", "right", -8, "normal", "var(--muted)"),
      ...ends.flatMap((end) => barMarks(end)),
      {
        type: "symbol",
        from: { data: "plains" },
        encode: {
          enter: {
            x: { scale: "x", field: "ms" },
            y: { field: "y" },
            shape: { value: "diamond" },
            size: { value: 60 },
            fill: { value: plainLook.colour }
          }
        }
      }
    ]
  }
}

const texts = (
  data: string,
  align: "left" | "right",
  x: number,
  fontWeight: "bold" | "normal",
  fill: string
): Mark => ({
  type: "text",
  from: { data },
  encode: {
    enter: {
      align: { value: align },
      baseline: { value: "middle" },
      x: { value: x },
      y: { field: "y" },
      text: { field: "text" },
      fill: { value: fill },
      fontWeight: { value: fontWeight },
      fontSize: { value: align === "left" ? 12 : 11 }
    }
  }
})

const barMarks = (end: Attempt["end"]): ReadonlyArray<Mark> => {
  const { colour, kind, shape } = looks[end]
  const isFilled = kind === "filled bar"
  return [
    {
      type: "rect",
      from: { data: end },
      encode: {
        enter: {
          x: { scale: "x", field: "startMs" },
          x2: { scale: "x", field: "endMs" },
          y: { field: "y", offset: 1.5 },
          height: { value: lane - 3 },
          stroke: { value: colour },
          strokeWidth: { value: 1 },
          fill: { value: isFilled ? colour : "var(--back)" }
        }
      }
    },
    {
      type: "symbol",
      from: { data: end },
      encode: {
        enter: {
          x: { scale: "x", field: "endMs" },
          y: { field: "y", offset: lane / 2 },
          shape: { value: shape },
          size: { value: 44 },
          stroke: { value: colour },
          strokeWidth: { value: isFilled ? 0 : 1.5 },
          fill: { value: shape.startsWith("M") ? "none" : colour }
        }
      }
    }
  ]
}
