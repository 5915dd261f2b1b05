/** Moments, of whatever a record writes: only their order counts. */

const clf = /^(\d{1,2})\/(\w{3})\/(\d{4}):(\d\d:\d\d:\d\d)(?: ([+-]\d{4}))?$/

/** Lines of one second share its text. */
let last: { readonly text: string; readonly instant: number | undefined } = { text: "", instant: undefined }

/** A number that grows with time; undefined if this is no moment. */
export const instantOf = (value: unknown): number | undefined => {
  if (typeof value === "number") return value
  if (typeof value !== "string" || value === "") return undefined
  const n = Number(value)
  if (!Number.isNaN(n)) return n
  if (value !== last.text) last = { text: value, instant: parse(value) }
  return last.instant
}

const parse = (value: string): number | undefined => {
  const [, day, month, year, time, zone = "+0000"] = clf.exec(value) ?? []
  const ms = Date.parse(day === undefined ? value : `${day} ${month} ${year} ${time} ${zone}`)
  return Number.isNaN(ms) ? undefined : ms
}
