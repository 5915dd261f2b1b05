import { HttpClient, type HttpClientError } from "@effect/platform"
import { expect, it } from "@effect/vitest"
import { HttpHedge } from "@effect-hedge/platform"
import { Context, Effect, type Layer, type Schedule } from "effect"
import { type Hedge, HedgePolicy, HedgeSchedule } from "effect-hedge"

type Equal<X, Y> = (<T>() => T extends X ? 1 : 2) extends <T>() => T extends Y ? 1 : 2 ? true : false
const equal = <X, Y>(_: Equal<X, Y>): void => {}

class Conf extends Context.Tag("test/Conf")<Conf, 1>() {}
type Client<E, R = never> = HttpClient.HttpClient.With<E, R>
type Client0 = Client<HttpClientError.HttpClientError>

/** Never called: `tsc` is the test. */
export const types = (client: HttpClient.HttpClient, schedule: Schedule.Schedule<number, unknown, Conf>) => {
  const plain = HedgePolicy.make({ schedule: HedgeSchedule.fixed(10) })
  const needy = HedgePolicy.make({ schedule, deadline: "1 second" })

  const a = client.pipe(HttpHedge.withHedge({ policy: plain }))
  equal<typeof a, Client0>(true)
  const service: HttpClient.HttpClient = a
  const b = client.pipe(HttpHedge.withHedge({ policy: needy }))
  equal<typeof b, Client<HttpClientError.HttpClientError | Hedge.HedgeError, Conf>>(true)
  const c = client.pipe(HttpHedge.withHedge())
  equal<typeof c, Client<HttpClientError.HttpClientError | Hedge.HedgeError, HedgePolicy.DefaultPolicy>>(true)
  const d = client.pipe(HttpHedge.withHedge({ replicas: ["http://b"] }))
  equal<typeof d, typeof c>(true)
  // @ts-expect-error a client that can fail with HedgeError is no HttpClient: the layer maps it
  const wrong: HttpClient.HttpClient = c

  const e = HttpHedge.layerWith({ policy: needy, replicas: ["http://b"] })
  equal<typeof e, Layer.Layer<HttpClient.HttpClient, never, HttpClient.HttpClient | Conf>>(true)
  const f = HttpHedge.layerWith({ replicas: ["http://b"] })
  equal<
    typeof f,
    Layer.Layer<HttpClient.HttpClient, never, HttpClient.HttpClient | HedgePolicy.DefaultPolicy>
  >(true)
  const g = HttpClient.get("/users/1").pipe(
    Effect.flatMap((response) => response.json),
    Effect.provide(HttpHedge.layer)
  )
  equal<Effect.Effect.Context<typeof g>, HttpClient.HttpClient | HedgePolicy.DefaultPolicy>(true)
  equal<Effect.Effect.Error<typeof g>, HttpClientError.HttpClientError>(true)

  const searching = HedgePolicy.make({
    schedule: HedgeSchedule.fixed(10),
    classify: (exit: Parameters<typeof HttpHedge.fromExit>[0]) => HttpHedge.fromExit(exit)
  })
  const h = client.pipe(HttpHedge.withHedge({ policy: searching }))
  equal<typeof h, Client0>(true)
  const quotes = HedgePolicy.make({
    schedule: HedgeSchedule.fixed(10),
    onDiscard: (_: { readonly price: number }) => Effect.void
  })
  // @ts-expect-error a policy that judges quotes cannot judge responses
  HttpHedge.withHedge({ policy: quotes })
  // @ts-expect-error no such option
  HttpHedge.withHedge({ replica: "http://b" })
  return [service, wrong]
}

it("types are checked by tsc", () => {
  expect(types).toBeTypeOf("function")
})
