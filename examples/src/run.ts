/** Runs the example that is named, and prints what it yields. */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect } from "effect"

const examples: Record<string, () => Promise<{ readonly main: Effect.Effect<unknown, unknown> }>> = {
  anyEffect: () => import("./anyEffect.js"),
  completion: () => import("./completion.js"),
  completionGateway: () => import("./completionGateway.js"),
  cursor: () => import("./cursor.js"),
  httpApi: () => import("./httpApi.js"),
  httpClient: () => import("./httpClient.js"),
  idempotentPost: () => import("./idempotentPost.js"),
  replicas: () => import("./replicas.js"),
  retry: () => import("./retry.js"),
  rpc: () => import("./rpc.js"),
  severalPolicies: () => import("./severalPolicies.js"),
  sqlPools: () => import("./sqlPools.js"),
  sqlReplicas: () => import("./sqlReplicas.js"),
  telemetry: () => import("./telemetry.js")
}

const name = process.argv[2] ?? ""
const load = Object.hasOwn(examples, name) ? examples[name] : undefined

if (load === undefined) {
  console.error(`"${name}" is no example; there are ${Object.keys(examples).join(", ")}`)
  process.exitCode = 1
} else {
  NodeRuntime.runMain(Effect.flatMap((await load()).main, Console.log))
}
