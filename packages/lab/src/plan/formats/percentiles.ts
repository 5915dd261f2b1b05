/** Percentiles that a tool printed: the full spectrum of HdrHistogram and wrk2, or the few of wrk. */
import { type Format, type Head, NoLatency, type Piece } from "../format.js"
import { milliseconds } from "../unit.js"
import * as Columns from "./columns.js"

export const coarse =
  "percentiles: the record holds a few percentiles and not the latencies; between them they are taken to lie evenly"

/** Pieces between percentiles, evenly filled; by nearest rank each percentile is again what was printed. */
export const between = (
  min: number,
  steps: ReadonlyArray<{ readonly p: number; readonly ms: number }>,
  total: number
): ReadonlyArray<Piece> => {
  const upTo = (p: number) => Math.ceil(total * p - 1e-9)
  return steps
    .map(({ ms, p }, i) => {
      const before = steps[i - 1] ?? { p: 0, ms: Math.min(min, ms) }
      return { from: before.ms, to: ms, count: upTo(p) - upTo(before.p) }
    })
    .filter(({ count }) => count > 0)
}

const spectrum = /^[\s"]*(\d+(?:\.\d+)?)"?[\s,]+([01](?:\.\d+)?)[\s,]+(\d+)(?:[\s,]+|$)/
const footer = /Total count\s*=\s*(\d+)/
const spectrumHead = /Value.*Percentile.*TotalCount/
const share = /^\s*(\d+(?:\.\d+)?)%\s+(\d+(?:\.\d+)?[a-zµμ]+)\s*$/
const spread = /^\s*Latency\s+\S+\s+\S+\s+(\d+(?:\.\d+)?[a-zµμ]+)\s/
const requests = /^\s*(\d+) requests in /

const isSpectrum = ({ text }: Head): boolean => spectrumHead.test(text)
const isLog = ({ text }: Head): boolean =>
  /^#\[Histogram log format|"Interval_Compressed_Histogram"/m.test(text)
const isWrk = ({ text }: Head): boolean => /Running \S+ test @/.test(text)

/** Cumulative counts at the values of an HdrHistogram: each is as exact as the histogram was. */
export const hgrm: Format = {
  name: "hgrm",
  recognise: (head) => isSpectrum(head) || isLog(head),
  open: (head, ask, sink) => {
    if (isLog(head))
      throw new NoLatency("is a log of HdrHistogram; its HistogramLogProcessor makes .hgrm of it")
    const column = { ...Columns.named(ask, "Value", "ms"), isAssumed: ask.unit === undefined && !isWrk(head) }
    Columns.refuseUnless(ask.column === undefined || ask.column === column.name, ask, [column.name])
    let isInside = false
    let spectra = 0
    let before = 0
    let latest = 0
    let announced: string | undefined
    const pieces: Array<Piece> = []
    return {
      title: isWrk(head) ? "wrk2's percentile spectrum" : "HdrHistogram percentiles",
      split: "lines",
      column,
      take: (line, number) => {
        if (spectrumHead.test(line)) {
          isInside = ++spectra === 1
          return
        }
        if (!isInside) return
        const [, value, , upTo] = spectrum.exec(line) ?? []
        if (value === undefined) {
          // below the spectrum stands a summary; what wrk2 prints there is its own
          announced ??= footer.exec(line)?.[1]
          if (line.startsWith("#")) isInside = announced === undefined
          else sink.skip("no percentile", line, number)
          return
        }
        const ms = milliseconds(value, column.unit)!
        if (ms < latest || Number(upTo) < before) return sink.skip("a percentile that falls", line, number)
        if (Number(upTo) > before) pieces.push({ from: ms, to: ms, count: Number(upTo) - before })
        latest = ms
        before = Number(upTo)
      },
      end: () => sink.counted({ field: () => undefined }, pieces),
      notes: () => [
        ...(spectra > 1 ? ["spectra: the file holds several percentile spectra; the first is used"] : []),
        ...(announced === undefined || Number(announced) === before
          ? []
          : [
              `spectrum: it holds ${before} latencies, and its last lines say ${announced}: a part is missing`
            ])
      ]
    }
  }
}

/** With or without the spectrum. */
export const wrk: Format = {
  name: "wrk2",
  recognise: isWrk,
  open: (head, ask, sink) => {
    if (isSpectrum(head)) return hgrm.open(head, ask, sink)
    if (!isWrk(head)) throw new NoLatency("is no output of wrk or wrk2")
    let total = 0
    let max: number | undefined
    const steps: Array<{ p: number; ms: number }> = []
    return {
      title: "wrk's percentiles",
      split: "lines",
      column: { name: "Latency Distribution", unit: "ms" },
      take: (line) => {
        const [, percent, time] = share.exec(line) ?? []
        const ms = milliseconds(time, "ms")
        const isNext = steps.every(({ p }) => p < Number(percent) / 100)
        if (percent !== undefined && ms !== undefined && isNext) steps.push({ p: Number(percent) / 100, ms })
        max ??= milliseconds(spread.exec(line)?.[1], "ms")
        total = Number(requests.exec(line)?.[1] ?? total)
      },
      end: () => {
        if (steps.length === 0) throw new NoLatency("wrk prints percentiles only with --latency")
        sink.counted({ field: () => undefined }, between(0, [...steps, { p: 1, ms: max ?? Infinity }], total))
      },
      notes: () => [coarse]
    }
  }
}
