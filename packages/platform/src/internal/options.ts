import { Predicate } from "effect"
import { HedgePolicy } from "effect-hedge"
import type { EventsOptions, EventsOptionsWithPolicy, Options, OptionsWithPolicy } from "../HttpHedge.js"
import { isClient } from "./http.js"

export type AnyOptions = Options & Partial<OptionsWithPolicy<unknown, unknown>>

export type AnyEventsOptions = EventsOptions & Partial<EventsOptionsWithPolicy<unknown, unknown>>

export const refuse = (field: string, value: unknown, allowed: string): never => {
  throw new HedgePolicy.HedgePolicyError({ field, value, allowed })
}

export const defaultIdempotencyHeader = "Idempotency-Key"

type Check = (value: unknown, field: string) => void

const is =
  (ok: (value: unknown) => boolean, allowed: string): Check =>
  (value, field) => {
    if (!ok(value)) refuse(field, value, allowed)
  }

/** A token of RFC 9110, section 5.6.2. */
const token = /^[\w!#$%&'*+\-.^`|~]+$/
const headerName = is(
  (value) => typeof value === "string" && token.test(value),
  'the name of a header, such as "X-Attempt"'
)

const isBaseUrl = (value: unknown): boolean => {
  if (typeof value !== "string" || !URL.canParse(value)) return false
  const url = new URL(value)
  return (
    ["http:", "https:"].includes(url.protocol) && url.username + url.password === "" && !/[?#]/.test(value)
  )
}
const baseUrl = is(
  isBaseUrl,
  'an absolute http or https URL without credentials, query and fragment, such as "https://eu.example.com/api"'
)

const fieldsOf =
  (checks: Readonly<Record<string, Check>>, prefix: string): Check =>
  (value, field) => {
    if (!Predicate.isRecord(value) || Predicate.isIterable(value)) return refuse(field, value, "an object")
    for (const [name, part] of Object.entries(value)) {
      const check = Object.hasOwn(checks, name) ? checks[name] : undefined
      if (check === undefined) {
        return refuse(prefix + name, part, `one of the options ${Object.keys(checks).join(", ")}`)
      }
      if (part !== undefined) check(part, prefix + name)
    }
  }

const checks: { readonly [K in keyof Required<AnyOptions>]: Check } = {
  policy: is(HedgePolicy.isHedgePolicy, "a policy made by HedgePolicy.make"),
  eligible: is(Predicate.isFunction, "a function from a request to true or false"),
  idempotencyHeader: headerName,
  classify: is(Predicate.isFunction, "a function from an Exit to a HedgeOutcome"),
  replicas: (value, field) => {
    if (!Array.isArray(value) || value.length === 0) {
      return refuse(field, value, "a list of at least one base URL")
    }
    value.forEach((replica, i) => {
      baseUrl(replica, `${field}[${i}]`)
    })
  },
  key: is(Predicate.isFunction, "a function from a request to a string or an array of strings"),
  credentials: is((value) => value === "include" || value === "omit", '"include" or "omit"'),
  replay: is(Predicate.isFunction, "a function from a request to the same request with its whole body"),
  headers: fieldsOf({ attempt: headerName, callId: headerName, deadline: headerName }, "headers.")
}

const checkFields = fieldsOf(checks, "")

const checkEventFields = fieldsOf(
  { ...checks, decisive: is(Predicate.isFunction, "a function from an event to true or false") },
  ""
)

/** Two headers of one name would overwrite each other; and copies whose idempotency key differs are no copies. */
const checkNames = ({
  headers = {},
  idempotencyHeader = defaultIdempotencyHeader
}: AnyOptions | AnyEventsOptions): void => {
  const taken = new Map([[idempotencyHeader.toLowerCase(), "idempotencyHeader"]])
  for (const [field, name] of Object.entries(headers)) {
    if (name === undefined) continue
    const other = taken.get(name.toLowerCase())
    if (other !== undefined) refuse(`headers.${field}`, name, `another header than that of ${other}`)
    taken.set(name.toLowerCase(), `headers.${field}`)
  }
}

/** Refuses options that make no sense, and fields that do not exist. */
export const checkOptions = <O extends AnyOptions>(options: O): O => {
  checkFields(options, "options")
  checkNames(options)
  return options
}

/** The same of options for events. */
export const checkEventsOptions = (options: AnyEventsOptions): AnyEventsOptions => {
  checkEventFields(options, "options")
  checkNames(options)
  return options
}

/** Refuses what cannot send a request. */
export const checkClient = <C>(client: C): C =>
  isClient(client) ? client : refuse("client", client, "an HttpClient")
