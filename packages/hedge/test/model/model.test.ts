/**
 * The real engine against the reference model, on random scripts.
 *
 * `MODEL_RUNS` sets how many, `MODEL_SEED` another seed. A failure prints the seed, the shrunk script and how the two traces differ.
 */
import { FastCheck } from "effect"
import { expect, test } from "vitest"
import { useImmediateTimers } from "../immediateTimers.js"
import { broken } from "./invariants.js"
import { runModel } from "./model.js"
import { runEngine } from "./run.js"
import { type Script, script } from "./script.js"
import { render } from "./trace.js"

const runs = Number(process.env.MODEL_RUNS ?? 3000)
const seed = Number(process.env.MODEL_SEED ?? 20_260_101)

/** Instants at which something happens. A script with more has an endless schedule, and shows nothing new. */
const tooMany = 200

useImmediateTimers()

/** Both traces as one text: lines of the model only start with `-`, of the engine only with `+`. */
const difference = (model: ReadonlyArray<string>, engine: ReadonlyArray<string>): string => {
  const [line, ...rest] = model
  if (line === undefined) return engine.map((other) => `+ ${other}`).join("\n")
  if (line === engine[0]) return `  ${line}\n${difference(rest, engine.slice(1))}`
  const found = engine.indexOf(line)
  if (found < 0) return `- ${line}\n${difference(rest, engine)}`
  return `+ ${engine[0]}\n${difference(model, engine.slice(1))}`
}

const report = (details: FastCheck.RunDetails<[Script]>): string =>
  [
    `failed after ${details.numRuns} scripts and ${details.numShrinks} shrinks; MODEL_SEED=${details.seed}`,
    JSON.stringify(details.counterexample?.[0]),
    details.error
  ].join("\n")

const check = async (numRuns: number, seed: number, difference: (script: Script) => Promise<string>) => {
  const details = await FastCheck.check(
    FastCheck.asyncProperty(script, async (script) => {
      const found = await difference(script)
      if (found !== "") throw new Error(found)
    }),
    { seed, numRuns }
  )
  if (details.failed) expect.fail(report(details))
}

test("the engine does what the reference model says, on any script", { timeout: 600_000 }, () =>
  check(runs, seed, async (script) => {
    const { traces, coincidence, instants } = runModel(script)
    FastCheck.pre(!coincidence && instants < tooMany)
    const [model, engine] = [render(traces), render(await runEngine(script))]
    return model.join() === engine.join() ? "" : difference(model, engine)
  })
)

test("the engine keeps its promises, on any script", { timeout: 600_000 }, () =>
  check(Math.ceil(runs / 4), seed + 1, async (script) => {
    FastCheck.pre(runModel(script).instants < tooMany)
    const traces = await runEngine(script)
    const promises = broken(script, traces)
    return promises.length === 0 ? "" : [...promises, ...render(traces)].join("\n")
  })
)
