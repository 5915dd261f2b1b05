import type { HttpClientRequest } from "@effect/platform"
import type { LatencyEstimator } from "effect-hedge"
import { originOf, pathOf } from "./http.js"
import type { AnyOptions } from "./options.js"

type Request = HttpClientRequest.HttpClientRequest

/**
 * What is taken for an id, with an extension perhaps: digits, alone or grouped as in a date; a UUID; eight or more hexadecimal digits; sixteen or
 * more letters and digits, with a prefix such as `cus_` perhaps. All hold a digit, as no word does.
 */
const id =
  /^(?:\d+(?:[-:,]\d+)*|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|(?=[a-f]*\d)[\da-f]{8,}|(?:[a-z]{1,8}_)?(?=[a-z]*\d)[\da-z]{16,})(\.[a-z]\w{0,4})?$/i

const template = (path: string): string =>
  /\d/.test(path)
    ? path
        .split("/")
        .map((segment) => segment.replace(id, ":id$1"))
        .join("/")
    : path

export const routeOf = (request: Request): string => `${request.method} ${template(pathOf(request) ?? "")}`

/** What tells the calls of a client apart: the origin, and under it the route or what the user says. None for a URL that is none. */
export const keysOf =
  ({ key = routeOf }: Pick<AnyOptions, "key">) =>
  (request: Request): LatencyEstimator.Key => {
    const origin = originOf(request)
    return origin === undefined ? [] : [origin].concat(key(request))
  }
