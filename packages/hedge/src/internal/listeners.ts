import { Context, Effect, Layer } from "effect"
import type { Listener } from "../HedgeEvent.js"

export class Listeners extends Context.Reference<Listeners>()("effect-hedge/HedgeEvent/Listeners", {
  defaultValue: (): { readonly list: ReadonlyArray<Listener> } => ({ list: [] })
}) {}

/** One list per layer build, so that merged layers add to the same; it starts with what surrounds the build. */
const shared = Layer.effect(
  Listeners,
  Effect.map(Listeners, (outer) => ({ list: [...outer.list] }))
)

export const layer = (listener: Listener): Layer.Layer<Listeners> =>
  Layer.scopedDiscard(
    Effect.flatMap(Listeners, ({ list }) => {
      const own = list as Array<Listener>
      return Effect.acquireRelease(
        Effect.sync(() => own.push(listener)),
        () => Effect.sync(() => own.splice(own.indexOf(listener), 1))
      )
    })
  ).pipe(Layer.provideMerge(shared))
