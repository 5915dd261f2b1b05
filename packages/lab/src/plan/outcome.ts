/** Which calls had an answer: the latency of the others is how long somebody waited, not how long the work takes. */
import type { Row } from "./format.js"

/**
 * Why a call is left out; undefined if it was answered. A 4xx is an answer, however a tool marks it, but for those that
 * say that nobody waited for one.
 */
export const leftOut = ({ failure, status }: Row): string | undefined => {
  if (status === undefined) return failure
  if (status === 0) return "no answer (status 0)"
  if (status === 101 || status === 408 || status === 499) return String(status)
  if (status >= 500) return "5xx"
  return status >= 400 ? undefined : failure
}

/** A status as a number; undefined for `-` and whatever else is none. */
export const statusOf = (value: unknown): number | undefined => {
  if (value === undefined || value === null || value === "") return undefined
  const status = Number(value)
  return Number.isInteger(status) && status >= 0 && status < 1_000 ? status : undefined
}

/** A failure that a record tells by an error's code or text; nothing, `0`, `false` and `-` are no error. */
export const failureOf = (error: unknown): string | undefined =>
  error === undefined ||
  error === null ||
  error === "" ||
  error === "-" ||
  error === 0 ||
  error === "0" ||
  error === false ||
  error === "false" ||
  error === "null"
    ? undefined
    : "an error code without a status"
