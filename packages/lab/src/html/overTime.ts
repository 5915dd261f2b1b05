/** Extra requests per call, as a load went on. */
import type { Mark, Spec } from "vega"
import { frame, gridded, margins } from "./draw.js"
import { bound, type Look } from "./looks.js"
import { type Chart, table } from "./page.js"
import * as Say from "./say.js"
import { lineOf, titleOf } from "./series.js"

/** A stretch of time, in milliseconds since the load began. */
export interface Stretch {
  readonly fromMs: number
  readonly toMs: number
  /** Hedges per call. */
  readonly extraLoad: number
}

export interface Series {
  readonly name: string
  readonly look: Look
  readonly stretches: ReadonlyArray<Stretch>
}

export interface Options {
  readonly caption: string
  readonly series: ReadonlyArray<Series>
  /** What is allowed; the axis shows it. */
  readonly budget: number
  /** A time worth a shade, such as that of a slowdown. */
  readonly shade?: { readonly name: string; readonly fromMs: number; readonly toMs: number }
  readonly notes?: ReadonlyArray<string>
}

const height = 230

/** Hedges by the stretch of time to which their call belongs. @param hedges of each call; calls ascend by their time. */
export const stretches = (
  startedAt: ArrayLike<number>,
  hedges: ArrayLike<number>,
  endMs: number
): ReadonlyArray<Stretch> => {
  const parts = Math.min(mostParts, Math.floor(startedAt.length / leastCalls))
  if (parts < 2) return []
  const width = endMs / parts
  const counted = Array.from({ length: parts }, () => ({ calls: 0, hedges: 0 }))
  for (let i = 0; i < startedAt.length; i++) {
    const part = counted[Math.min(parts - 1, Math.floor(startedAt[i]! / width))]!
    part.calls += 1
    part.hedges += hedges[i]!
  }
  return counted.map(({ calls, hedges }, i) => ({
    fromMs: i * width,
    toMs: (i + 1) * width,
    extraLoad: calls === 0 ? 0 : hedges / calls
  }))
}

/** Hedges by when they were sent, of calls that were all due at once. @param calls how many; @param sentAt in milliseconds since then. */
export const launches = (calls: number, sentAt: ReadonlyArray<number>): ReadonlyArray<Stretch> => {
  // there may be more than can be the arguments of one function
  const endMs = sentAt.reduce((latest, ms) => Math.max(latest, ms), 0)
  const width = endMs / mostParts
  const counted = Array.from({ length: mostParts }, () => 0)
  for (const ms of sentAt) counted[Math.min(mostParts - 1, Math.floor(ms / width))]! += 1
  return endMs <= 0
    ? []
    : counted.map((hedges, i) => ({ fromMs: i * width, toMs: (i + 1) * width, extraLoad: hedges / calls }))
}

/** Fewer calls make a share that chance alone decides. */
const leastCalls = 50
const mostParts = 60

/** Empty if there is no series of any length. */
export const chart = (options: Options): ReadonlyArray<Chart> => {
  const { budget, caption, notes = [] } = options
  const series = options.series.filter(({ stretches }) => stretches.length > 0)
  if (series.length === 0) return []
  return [
    {
      _tag: "Chart",
      caption,
      alternative: `Line chart of the hedges per call over time, beside the ${Say.percent(budget)} that are allowed. ${series.map(sentence).join(" ")}`,
      legend: [
        ...series.map(({ look, name }) => ({ label: name, look: { ...look, shape: bound.shape } })),
        { label: `allowed in the long run: ${Say.percent(budget)}`, look: bound }
      ],
      notes: [...notes],
      figures: table(caption, figures(series)),
      spec: (width) => spec(width, { ...options, series })
    }
  ]
}

const sentence = ({ name, stretches }: Series): string => {
  const loads = stretches.map(({ extraLoad }) => extraLoad)
  return `${name}: from ${Say.percent(Math.min(...loads))} to ${Say.percent(Math.max(...loads))}.`
}

const figures = (series: ReadonlyArray<Series>): ReadonlyArray<ReadonlyArray<string>> => [
  ["from", "to", ...series.map(({ name }) => name)],
  ...(series[0]?.stretches ?? []).map(({ fromMs, toMs }, i) => [
    seconds(fromMs),
    seconds(toMs),
    ...series.map(({ stretches }) =>
      stretches[i] === undefined ? Say.none : Say.percent(stretches[i].extraLoad)
    )
  ])
]

const seconds = (ms: number): string => `${Number((ms / 1_000).toPrecision(4))} s`

const spec = (width: number, { budget, series, shade }: Options): Spec => {
  const all = series.flatMap(({ stretches }) => stretches)
  const until = Math.max(...all.map(({ toMs }) => toMs)) / 1_000
  const most = Math.max(budget, ...all.map(({ extraLoad }) => extraLoad))
  return {
    ...frame(width, height, margins),
    data: [
      ...series.map(({ stretches }, i) => ({
        name: `line${i}`,
        values: [...stretches, ...stretches.slice(-1).map((last) => ({ ...last, fromMs: last.toMs }))].map(
          ({ extraLoad, fromMs }) => ({ x: fromMs / 1_000, y: 100 * extraLoad })
        )
      })),
      {
        name: "shades",
        values:
          shade === undefined
            ? []
            : [{ from: shade.fromMs / 1_000, to: Math.min(until, shade.toMs / 1_000), name: shade.name }]
      }
    ],
    scales: [
      { name: "x", type: "linear", domain: [0, until], range: "width" },
      { name: "y", type: "linear", domain: [0, 100 * most], range: "height", nice: 5 }
    ],
    axes: [
      {
        ...gridded,
        orient: "bottom",
        scale: "x",
        tickCount: Math.floor(width / 90),
        title: "seconds since the load began"
      },
      {
        ...gridded,
        orient: "left",
        scale: "y",
        tickCount: 5,
        encode: { labels: { update: { text: { signal: "format(datum.value, ',~r') + ' %'" } } } }
      }
    ],
    marks: [
      titleOf("hedges per call", margins),
      ...(shade === undefined ? [] : shadeMarks),
      {
        type: "rule",
        encode: {
          enter: {
            x: { value: 0 },
            x2: { signal: "width" },
            y: { scale: "y", value: 100 * budget },
            stroke: { value: bound.colour },
            strokeDash: { value: [...bound.dash] },
            strokeWidth: { value: 1.5 }
          }
        }
      },
      ...series.map(({ look }, i) => lineOf(`line${i}`, look, "step-after"))
    ]
  }
}

const shadeMarks: ReadonlyArray<Mark> = [
  {
    type: "rect",
    from: { data: "shades" },
    encode: {
      enter: {
        x: { scale: "x", field: "from" },
        x2: { scale: "x", field: "to" },
        y: { value: 0 },
        y2: { signal: "height" },
        fill: { value: "var(--grid)" }
      }
    }
  },
  {
    type: "text",
    from: { data: "shades" },
    encode: {
      enter: {
        x: { scale: "x", field: "from", offset: 4 },
        y: { value: 12 },
        text: { field: "name" },
        fill: { value: "var(--muted)" },
        fontSize: { value: 12 }
      }
    }
  }
]
