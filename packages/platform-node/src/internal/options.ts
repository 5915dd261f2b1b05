import { isIP } from "node:net"
import { PassThrough } from "node:stream"
import { connect as connectTls } from "node:tls"
import { Duration, Predicate } from "effect"
import { HedgePolicy } from "effect-hedge"
import type { Options } from "../NodeHedgeClient.js"

const refuse = (field: string, value: unknown, allowed: string): never => {
  throw new HedgePolicy.HedgePolicyError({ field, value, allowed })
}

type Check = (field: string, value: unknown) => void

const is =
  (ok: (value: unknown) => boolean, allowed: string): Check =>
  (field, value) => {
    if (!ok(value)) refuse(field, value, allowed)
  }

const fields =
  (checks: Readonly<Record<string, Check>>): Check =>
  (field, value) => {
    const prefix = field === "options" ? "" : `${field}.`
    if (!Predicate.isRecord(value) || Predicate.isIterable(value)) {
      return refuse(field, value, `an object with the options ${Object.keys(checks).join(", ")}`)
    }
    for (const [name, part] of Object.entries(value)) {
      const check = Object.hasOwn(checks, name) ? checks[name] : undefined
      if (check === undefined)
        refuse(prefix + name, part, `one of the options ${Object.keys(checks).join(", ")}`)
      else if (part !== undefined) check(prefix + name, part)
    }
  }

const wholeNumber = (least: number, most: number): Check =>
  is(
    (n) => Number.isSafeInteger(n) && (n as number) >= least && (n as number) <= most,
    `a whole number from ${least} to ${most}`
  )

const millisOf = (value: unknown): number => {
  if (typeof value === "number") return value
  // which Duration takes for zero
  if (typeof value === "string" && value.trimStart().startsWith("-")) return Number.NaN
  if (typeof value === "bigint" && value < 0n) return Number.NaN
  if (Array.isArray(value) && value.some((part) => !(part >= 0))) return Number.NaN
  try {
    return Duration.toMillis(Duration.decode(value as Duration.DurationInput))
  } catch {
    return Number.NaN
  }
}

/** The longest time that a timer of Node can be set to. */
const longestTimer = 2 ** 31 - 1

const duration = (least: number, most = longestTimer, note = ""): Check =>
  is(
    (value) => millisOf(value) >= least && millisOf(value) <= most,
    `a duration of at least ${least} ms${most === Infinity ? "" : " and at most 24 days"}${note}, such as 500, "500 millis" or Duration.millis(500)`
  )

/** What the lanes decide themselves. */
const ownTls = ["ALPNProtocols", "host", "lookup", "path", "port", "socket"]

const tls: Check = (field, value) => {
  if (!Predicate.isRecord(value)) return refuse(field, value, "an object of options of tls.connect")
  for (const name of ownTls) {
    if (name in value)
      refuse(`${field}.${name}`, value[name], "any option of tls.connect but this one, which the lanes set")
  }
  const { checkServerIdentity, rejectUnauthorized = true } = value
  if (checkServerIdentity !== undefined && !Predicate.isFunction(checkServerIdentity)) {
    refuse(`${field}.checkServerIdentity`, checkServerIdentity, "a function of a name and a certificate")
  }
  if (typeof rejectUnauthorized !== "boolean") {
    refuse(`${field}.rejectUnauthorized`, rejectUnauthorized, "true or false")
  }
  try {
    connectTls({ ...value, socket: new PassThrough() })
      .on("error", () => {})
      .destroy()
  } catch (error) {
    refuse(field, value, `options that tls.connect takes: ${(error as Error).message}`)
  }
}

export interface Address {
  readonly host: string
  readonly port: number | undefined
}

const written = /^(?:\[(.+)\]|([^[\]:/?#@\s]+))(?::(\d{1,5}))?$/

/** A host or an IP address, with a port or without one; undefined if it is none. */
export const parseAddress = (value: unknown): Address | undefined => {
  if (typeof value !== "string") return undefined
  if (isIP(value) === 6) return { host: value, port: undefined }
  const match = written.exec(value)
  if (match === null || (match[1] !== undefined && isIP(match[1]) !== 6)) return undefined
  const port = match[3] === undefined ? undefined : Number(match[3])
  return port !== undefined && (port < 1 || port > 65_535) ? undefined : { host: match[1] ?? match[2]!, port }
}

const lanes = wholeNumber(1, 10_000)
const streamsPerLane = wholeNumber(1, 10_000)
/** RFC 9113, section 6.9.1. */
const window = wholeNumber(65_535, 2 ** 31 - 1)

const defaults = {
  protocol: is(
    (value) => value === "auto" || value === "http/1.1" || value === "h2",
    '"auto", "http/1.1" or "h2"'
  ),
  lanes,
  connecting: wholeNumber(1, 10_000),
  streamsPerLane,
  windowSize: window,
  connectionWindowSize: window,
  pingInterval: duration(10, Infinity),
  pingTimeout: duration(10),
  resetBurst: wholeNumber(0, 1_000_000),
  resetsPerSecond: is(
    (n) => typeof n === "number" && n >= 0 && n < Infinity,
    "a number that is not negative"
  ),
  connectTimeout: duration(1),
  keepAlive: duration(1),
  longStreams: fields({ lanes, streamsPerLane }),
  tls
} satisfies Record<string, Check>

const upstream = fields({
  ...defaults,
  address: is(
    (value) => parseAddress(value) !== undefined,
    'a host or an IP address, with or without a port, such as "10.0.0.7" or "[::1]:8443"'
  )
})

const isOrigin = (key: string): boolean =>
  URL.canParse(key) && /^https?:$/.test(new URL(key).protocol) && new URL(key).origin === key

const upstreams: Check = (field, value) => {
  if (!Predicate.isRecord(value) || Predicate.isIterable(value)) {
    return refuse(field, value, "an object whose keys are origins")
  }
  for (const [key, part] of Object.entries(value)) {
    if (!isOrigin(key)) refuse(field, key, 'keys that are origins, such as "https://api.example.com"')
    upstream(`${field}[${JSON.stringify(key)}]`, part)
  }
}

const listeners: Check = (field, value) => {
  if (!Array.isArray(value)) return refuse(field, value, "an array of listeners")
  value.forEach((listener, i) => {
    if (!Predicate.isFunction(listener?.onEvent)) {
      refuse(`${field}[${i}].onEvent`, listener?.onEvent, "a function of an event")
    }
  })
}

const options = fields({ ...defaults, upstreams, listeners, closeGrace: duration(0) })

/** Refuses options that make no sense, and fields that do not exist. */
export const checkOptions = (value: Options): void => options("options", value)
