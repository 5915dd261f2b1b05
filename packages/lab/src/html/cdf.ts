/** Which share of calls was answered by when, with as much room for each nine of the share as for the one before. */
import type { Data, Mark, Spec } from "vega"
import { frame, gridded, margins } from "./draw.js"
import { bound, type Look } from "./looks.js"
import { type Chart, table } from "./page.js"
import * as Say from "./say.js"
import { lineOf, pointsOf, titleOf } from "./series.js"
import * as Ticks from "./ticks.js"

/** The latencies of one side, in milliseconds. */
export interface Curve {
  readonly name: string
  readonly look: Look
  /** How many there are, which says how far into the tail they can tell anything. */
  readonly n: number
  /** The time by which a share has been answered; Infinity for what is not known, or never was. */
  readonly quantile: (p: number) => number
  /** Bounds of that, if it is a forecast. */
  readonly bounds?: { readonly low: (p: number) => number; readonly high: (p: number) => number }
}

export interface Options {
  readonly caption: string
  readonly curves: ReadonlyArray<Curve>
  /** Marked on the curves and listed among the figures, as shares. */
  readonly percentiles: ReadonlyArray<number>
  /** Times worth a line: a delay, a time-out. */
  readonly marks?: ReadonlyArray<{ readonly name: string; readonly ms: number }>
  /** What the latencies are of. Default `calls`. */
  readonly of?: string
  readonly notes?: ReadonlyArray<string>
}

/** P99.99. */
const last = 4
const points = 240
const least = 10
/** Where the axis of times begins: few are faster, and they would stretch it. */
const lowest = 0.0005
const height = 340

/** Nearest rank. @param sorted ascending; Infinity for calls that nobody answered. */
export const ofSorted = (sorted: ArrayLike<number>): ((p: number) => number) => {
  const { length } = sorted
  return (p) => (length === 0 ? Infinity : sorted[Math.max(0, Math.ceil(p * length - 1e-9) - 1)]!)
}

/** Empty if there are too few latencies to draw. */
export const chart = (options: Options): ReadonlyArray<Chart> => {
  const { caption, curves, marks = [], notes = [], percentiles } = options
  if (curves.every(({ n }) => n < least)) return []
  const of = options.of ?? "calls"
  const shown = percentiles.filter((p) => curves.some((curve) => tells(curve, p)))
  const figures = [
    ["percentile", ...curves.map(({ name }) => name)],
    ...shown.map((p) => [
      Say.percentile(p),
      ...curves.map((curve) => (tells(curve, p) ? Say.ms(curve.quantile(p)) : Say.none))
    ])
  ]
  return [
    {
      _tag: "Chart",
      caption,
      alternative: `Line chart of the share of ${of} that were answered within a time. ${curves
        .map((curve) => sentence(curve, shown))
        .join(" ")}${marks.map(({ ms, name }) => ` A line marks the ${name}, ${Say.ms(ms)}.`).join("")}`,
      legend: curves.map(({ look, name }) => ({ label: name, look })),
      notes: [
        `Higher is a larger share of ${of}, further left is faster. Each nine of the share has the same height${ending(curves, of)}.`,
        ...notes
      ],
      figures: table(caption, figures),
      spec: (width) => spec(width, options)
    }
  ]
}

const ending = (curves: ReadonlyArray<Curve>, of: string): string => {
  const few = new Set(curves.flatMap(({ n }) => (n < 10 ** last ? Say.count(n) : [])))
  return few.size === 0
    ? ""
    : `; a curve ends where ${Array.from(few).join(" or ")} ${of} are too few to tell more`
}

/** Whether there are latencies enough to speak of a percentile: one of them at least is later. */
const tells = ({ n, quantile }: Curve, p: number): boolean =>
  (1 - p) * n >= 1 - 1e-9 && quantile(p) < Infinity

const sentence = (curve: Curve, percentiles: ReadonlyArray<number>): string =>
  `${curve.name}: ${
    percentiles
      .filter((p) => tells(curve, p))
      .map((p) => `${Say.percentile(p)} ${Say.ms(curve.quantile(p))}`)
      .join(", ") || "nothing is known"
  }.`

interface Point {
  readonly x: number
  readonly y: number
}

const shareAt = (y: number): number => 1 - 10 ** -y
const heightOf = (p: number): number => Math.min(last, -Math.log10(1 - p))

const drawn = ({ n, quantile }: Pick<Curve, "n" | "quantile">): ReadonlyArray<Point> => {
  const top = Math.min(last, Math.log10(n))
  const curve: Array<Point> = []
  for (let i = 0; i <= points; i++) {
    const y = (top * i) / points
    const x = quantile(shareAt(y))
    if (x === Infinity) return curve
    curve.push({ x, y })
  }
  const slowest = quantile(1)
  return top < last && slowest < Infinity ? [...curve, { x: slowest, y: top }] : curve
}

const bandOf = ({ bounds, n }: Curve): ReadonlyArray<Point & { readonly x2: number }> =>
  bounds === undefined
    ? []
    : drawn({ n, quantile: bounds.high })
        .map(({ x, y }) => ({ x2: x, x: bounds.low(shareAt(y)), y }))
        .filter(({ x }) => x < Infinity)

const spec = (width: number, { curves, marks = [], of = "calls", percentiles }: Options): Spec => {
  const lines = curves.map(drawn)
  const bands = curves.map(bandOf)
  const times = [...lines, ...bands].flatMap((line) => line.flatMap(({ x, y }) => (y < lowest ? [] : x)))
  const [from, to] = Ticks.around([...times, ...marks.map(({ ms }) => ms)])
  // a logarithmic axis has no zero, which is where buckets and forecasts may begin
  const inside = (all: ReadonlyArray<Point & { readonly x2?: number }>) =>
    all.map(({ x, x2 = from, y }) => ({ x: Math.max(from, x), x2: Math.max(from, x2), y }))
  const data: Array<Data> = curves.flatMap((curve, i) => [
    { name: `line${i}`, values: inside(lines[i]!) },
    { name: `band${i}`, values: inside(bands[i]!) },
    {
      name: `points${i}`,
      values: inside(
        percentiles.filter((p) => tells(curve, p)).map((p) => ({ x: curve.quantile(p), y: heightOf(p) }))
      )
    }
  ])
  return {
    ...frame(width, height, margins),
    data: [...data, { name: "marks", values: marks.map(({ ms, name }) => markAt(ms, name, from, to)) }],
    scales: [
      { name: "x", type: "log", domain: [from, to], range: "width" },
      { name: "y", type: "linear", domain: [0, last], range: "height" }
    ],
    axes: [
      {
        ...gridded,
        orient: "bottom",
        scale: "x",
        values: [...Ticks.between(from, to, width / 45)],
        title: "latency in milliseconds, a logarithmic axis",
        encode: { labels: { update: { text: { signal: "format(datum.value, ',~r')" } } } }
      },
      {
        ...gridded,
        orient: "left",
        scale: "y",
        values: [0.5, 0.9, 0.99, 0.999, 0.9999].map(heightOf),
        encode: {
          labels: { update: { text: { signal: "'P' + format(100 - 100 * pow(10, -datum.value), '.6~r')" } } }
        }
      }
    ],
    marks: [
      titleOf(`share of ${of}`, margins),
      ...markLines(marks.length > 0),
      ...curves.flatMap(({ look }, i) => curveMarks(look, i))
    ]
  }
}

/** Its name stands on the side that has room for it. */
const markAt = (ms: number, name: string, from: number, to: number) =>
  Math.log(ms / from) > 0.7 * Math.log(to / from)
    ? { x: ms, name, align: "right", offset: -4 }
    : { x: ms, name, align: "left", offset: 4 }

const curveMarks = (look: Look, i: number): ReadonlyArray<Mark> => [
  {
    type: "area",
    from: { data: `band${i}` },
    encode: {
      enter: {
        orient: { value: "horizontal" },
        x: { scale: "x", field: "x" },
        x2: { scale: "x", field: "x2" },
        y: { scale: "y", field: "y" },
        fill: { value: look.colour },
        fillOpacity: { value: 0.18 }
      }
    }
  },
  lineOf(`line${i}`, look),
  pointsOf(`points${i}`, look)
]

const markLines = (isAny: boolean): ReadonlyArray<Mark> =>
  isAny
    ? [
        {
          type: "rule",
          from: { data: "marks" },
          encode: {
            enter: {
              x: { scale: "x", field: "x" },
              y: { value: 0 },
              y2: { signal: "height" },
              stroke: { value: bound.colour },
              strokeDash: { value: [...bound.dash] }
            }
          }
        },
        {
          type: "text",
          from: { data: "marks" },
          encode: {
            enter: {
              x: { scale: "x", field: "x", offset: { field: "offset" } },
              align: { field: "align" },
              y: { value: 6 },
              baseline: { value: "middle" },
              text: { field: "name" },
              fill: { value: bound.colour },
              fontSize: { value: 12 }
            }
          }
        }
      ]
    : []
