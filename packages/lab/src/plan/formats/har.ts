/** HAR: the requests of a page, as a browser recorded them. */
import { type Format, NoLatency, type Row } from "../format.js"
import { instantOf } from "../instant.js"
import * as Json from "../json.js"
import { statusOf } from "../outcome.js"
import * as Columns from "./columns.js"

const urlOf = (entry: unknown): URL | undefined => {
  const url = Json.at(entry, "request.url")
  return typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined
}

const rowOf = (entry: unknown): Row => {
  const field = (name: string): unknown => {
    switch (name) {
      case "host":
        return urlOf(entry)?.host
      case "path":
        return urlOf(entry)?.pathname
      case "url":
      case "method":
        return Json.at(entry, `request.${name}`)
      case "status":
        return Json.at(entry, "response.status")
      default:
        return Json.at(entry, name)
    }
  }
  return {
    field,
    status: statusOf(field("status")),
    at: instantOf(field("startedDateTime")),
    route: () => urlOf(entry)?.host
  }
}

/** Browsers say it in different ways; an early Chrome only by an answer that took no time and no bytes. */
const isCacheHit = (entry: unknown): boolean => {
  const isSaid = Json.firstAt(entry, ["_fromCache", "_isCacheHit", "_fetchedViaCache", "response._fromCache"])
  const wait = Json.at(entry, "timings.wait")
  const isFree = Json.at(entry, "response._transferSize") === 0 && typeof wait === "number" && wait < 1
  return (isSaid !== undefined && isSaid !== false) || isFree
}

export const har: Format = {
  name: "har",
  recognise: ({ text }) => /^\s*\{\s*"log"\s*:\s*\{/.test(text),
  open: (_, ask, sink) => {
    let entries = 0
    let cacheHits = 0
    return {
      title: "HAR",
      split: "whole",
      column: Columns.named(
        ask,
        ask.column ?? "time",
        "ms",
        ask.column === undefined ? ["timings.wait"] : []
      ),
      take: (text, number) => {
        const value = Json.parse(text)
        if (value === undefined) throw new NoLatency("is no HAR: its JSON is cut off or broken")
        const found = Json.at(value, "log.entries")
        if (!Array.isArray(found)) throw new NoLatency("is no HAR: it has no log.entries")
        for (const entry of found) {
          entries++
          if (isCacheHit(entry)) cacheHits++
          sink.row(rowOf(entry), JSON.stringify(entry), number)
        }
      },
      notes: () =>
        cacheHits === 0
          ? []
          : [
              `cache: ${cacheHits} of ${entries} answers look as if they came from the browser's cache, which no hedge can help`
            ]
    }
  }
}
