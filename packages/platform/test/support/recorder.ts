import { Effect, type Layer } from "effect"
import { HedgeEvent } from "effect-hedge"

/** A listener that keeps every event, and can be waited for. */
export class Recorder implements HedgeEvent.Listener {
  readonly events: Array<HedgeEvent.HedgeEvent> = []
  private readonly watchers = new Set<() => void>()

  readonly layer: Layer.Layer<HedgeEvent.Listeners> = HedgeEvent.layer(this)

  onEvent(event: HedgeEvent.HedgeEvent): void {
    this.events.push(event)
    for (const check of this.watchers) check()
  }

  of<Tag extends HedgeEvent.HedgeEvent["_tag"]>(
    tag: Tag
  ): ReadonlyArray<Extract<HedgeEvent.HedgeEvent, { _tag: Tag }>> {
    return this.events.filter((event) => event._tag === tag) as never
  }

  get started(): number {
    return this.of("AttemptStarted").length
  }

  /** Waits, without a clock, until so many events of a kind have been told. */
  until(tag: HedgeEvent.HedgeEvent["_tag"], count = 1): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      const check = () => {
        if (this.of(tag).length < count) return
        this.watchers.delete(check)
        resume(Effect.void)
      }
      this.watchers.add(check)
      check()
      return Effect.sync(() => this.watchers.delete(check))
    })
  }
}
