/** One percentile under each of several settings, a load or a budget, that stand beside each other. */
import type { Mark, Spec } from "vega"
import { frame, gridded, margins } from "./draw.js"
import type { Look } from "./looks.js"
import { type Chart, table } from "./page.js"
import * as Say from "./say.js"
import { lineOf, pointsOf, titleOf } from "./series.js"

export interface Series {
  readonly name: string
  readonly look: Look
  /** By setting, in milliseconds; null for what is not known. */
  readonly values: ReadonlyArray<number | null>
  /** Between which the value lies; an end that is not known is null. */
  readonly intervals?: ReadonlyArray<readonly [number | null, number | null]>
}

export interface Options {
  readonly caption: string
  /** What the settings are of. */
  readonly axis: string
  readonly settings: ReadonlyArray<string>
  /** What is shown of the latencies, such as `P99`. */
  readonly label: string
  readonly series: ReadonlyArray<Series>
  readonly notes?: ReadonlyArray<string>
}

const height = 260

/** Empty if there is but one setting, or nothing is known of any. */
export const chart = (options: Options): ReadonlyArray<Chart> => {
  const { axis, caption, label, notes = [], series, settings } = options
  if (settings.length < 2 || series.every(({ values }) => values.every((value) => value === null))) return []
  return [
    {
      _tag: "Chart",
      caption,
      alternative: `Line chart of ${label} by ${axis}. ${series
        .map(
          ({ name, values }) =>
            `${name}: ${values.map((value, i) => `${Say.ms(value)} at ${settings[i]}`).join(", ")}.`
        )
        .join(" ")}`,
      legend: series.map(({ look, name }) => ({ label: name, look })),
      notes: [...notes],
      figures: table(caption, [
        [axis, ...series.map(({ name }) => name)],
        ...settings.map((setting, i) => [setting, ...series.map(({ values }) => Say.ms(values[i]))])
      ]),
      spec: (width) => spec(width, options)
    }
  ]
}

const spec = (width: number, { axis, label, series, settings }: Options): Spec => {
  const values = series.flatMap(({ intervals = [], values }) => [
    ...values,
    ...intervals.flatMap(([, to]) => to)
  ])
  const most = Math.max(...values.map((value) => value ?? 0))
  return {
    ...frame(width, height, margins),
    data: series.flatMap(({ intervals = [], values }, i) => [
      {
        name: `line${i}`,
        values: values.flatMap((y, at) => (y === null ? [] : [{ x: settings[at], y }]))
      },
      {
        name: `interval${i}`,
        values: intervals.flatMap(([from, to], at) =>
          from === null || to === null ? [] : [{ x: settings[at], from, to }]
        )
      }
    ]),
    scales: [
      { name: "x", type: "point", domain: [...settings], range: "width", padding: 0.3 },
      { name: "y", type: "linear", domain: [0, most], range: "height", nice: 5 }
    ],
    axes: [
      { ...gridded, orient: "bottom", scale: "x", title: axis },
      { ...gridded, orient: "left", scale: "y", tickCount: 5 }
    ],
    marks: [
      titleOf(`${label} in milliseconds`, margins),
      ...series.flatMap(({ look }, i) => [
        intervalsOf(`interval${i}`, look),
        lineOf(`line${i}`, look),
        pointsOf(`line${i}`, look)
      ])
    ]
  }
}

const intervalsOf = (data: string, { colour }: Look): Mark => ({
  type: "rule",
  from: { data },
  encode: {
    enter: {
      x: { scale: "x", field: "x" },
      y: { scale: "y", field: "from" },
      y2: { scale: "y", field: "to" },
      stroke: { value: colour },
      strokeWidth: { value: 5 },
      strokeOpacity: { value: 0.35 }
    }
  }
})
