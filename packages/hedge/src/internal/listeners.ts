import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { HedgeEvent, Listener } from "../HedgeEvent.js"
import { aFunction, check, type Shape } from "./check.js"

/** The lists are never changed, only replaced: a call keeps to its end the one that it found when it started. */
export class Listeners extends /*#__PURE__*/ Context.Reference<Listeners>()(
  "effect-hedge/HedgeEvent/Listeners",
  {
    defaultValue: (): { readonly list: ReadonlyArray<Listener> } => ({ list: [] })
  }
) {}

interface Box {
  list: ReadonlyArray<Listener>
}

/** One box per layer build, so that merged layers add to the same; it starts with what surrounds the build. */
const shared = /*#__PURE__*/ Layer.effect(
  Listeners,
  Effect.map(Listeners, ({ list }): Box => ({ list }))
)

/** A listener that is there already, from a layer further out, is not told twice. */
const add = (box: Box, listener: Listener): boolean => {
  if (box.list.includes(listener)) return false
  box.list = [...box.list, listener]
  return true
}

const remove = (box: Box, listener: Listener): void => {
  box.list = box.list.filter((other) => other !== listener)
}

/** Whether a listener is told of an event. */
export const wants = ({ only }: Listener, tag: HedgeEvent["_tag"]): boolean =>
  only === undefined || only.includes(tag)

const tags: Readonly<Record<HedgeEvent["_tag"], true>> = {
  CallStarted: true,
  AttemptStarted: true,
  AttemptEnded: true,
  HedgeSuppressed: true,
  Discarded: true,
  CallEnded: true
}

const someTags: Shape = [
  (u) => Array.isArray(u) && u.every((tag) => Object.hasOwn(tags, tag)),
  `an array of ${Object.keys(tags).join(", ")}`
]

const withStarts: Shape = [
  (only) => (only as ReadonlyArray<string>).includes("AttemptStarted"),
  "an array with AttemptStarted, beside spanOf"
]

export const layer = (listener: Listener): Layer.Layer<Listeners> => {
  check("onEvent", listener?.onEvent, aFunction("of an event"))
  if (listener.only !== undefined) {
    check("only", listener.only, someTags)
    if (listener.spanOf !== undefined) check("only", listener.only, withStarts)
  }
  if (listener.spanOf !== undefined)
    check("spanOf", listener.spanOf, aFunction("from AttemptStarted to a span, or undefined"))
  return Layer.scopedDiscard(
    Effect.flatMap(Listeners, (box) =>
      Effect.acquireRelease(
        Effect.sync(() => add(box, listener)),
        (added) => Effect.sync(() => added && remove(box, listener))
      )
    )
  ).pipe(Layer.provideMerge(shared))
}
