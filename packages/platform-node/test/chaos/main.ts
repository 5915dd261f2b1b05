/** `npm run chaos -- --seed 7 --seconds 60`: says what was done and what was found; ends with 1 if that is anything. */
import { parseArgs } from "node:util"
import { Effect } from "effect"
import { type ChaosOptions, chaos } from "./chaos.js"
import { disturbances, mischiefs, protocols } from "./protocol.js"

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Date.now() % 100_000) },
    seconds: { type: "string", default: "60" },
    rounds: { type: "string", default: "4" },
    client: { type: "string", default: "lanes" },
    callers: { type: "string", default: "8" },
    /** Names of what is done, with commas, to find out which of it matters. */
    mischief: { type: "string", default: mischiefs.join() },
    disturb: { type: "string", default: disturbances.join() },
    protocol: { type: "string", default: protocols.join() }
  }
})

const number = (name: "seed" | "seconds" | "rounds" | "callers"): number => {
  const value = Number(values[name])
  if (!Number.isFinite(value) || value < 0) throw new Error(`--${name} ${values[name]}: a number is allowed`)
  return value
}

const some = <A extends string>(
  name: "mischief" | "disturb" | "protocol",
  all: ReadonlyArray<A>
): ReadonlyArray<A> =>
  values[name]
    .split(",")
    .filter((kind) => kind !== "")
    .map((kind) => {
      const known = all.find((one) => one === kind)
      if (known === undefined) throw new Error(`--${name} ${kind}: allowed are ${all.join()}`)
      return known
    })

const options: ChaosOptions = {
  seed: number("seed"),
  seconds: number("seconds"),
  rounds: number("rounds"),
  client: values.client === "undici" ? "undici" : "lanes",
  callers: number("callers"),
  mischiefs: some("mischief", mischiefs),
  disturbances: some("disturb", disturbances),
  protocols: some("protocol", protocols),
  server: new URL("./server.js", import.meta.url)
}

const report = await Effect.runPromise(chaos(options))
const { examples, ...figures } = report
console.log(JSON.stringify(figures, undefined, 2))
for (const example of examples) console.log(`\n✗ ${example}`)
process.exitCode = report.violations > 0 ? 1 : 0
