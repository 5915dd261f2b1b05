/** A policy as code, for a program that uses `effect-hedge`. */
import type { Row } from "./plan.js"

/** Null for a row that sends no hedge. */
export const code = ({ attempts, delayMs, extraLoad, probability }: Row): string | null => {
  if (attempts === 1) return null
  const isDrawn = probability < 1
  const delay = `HedgeSchedule.fixed("${delayMs} millis")`
  return [
    ...(isDrawn ? ['import { Duration, Effect, Random, Schedule } from "effect"'] : []),
    'import { HedgePolicy, HedgeSchedule, HedgeThrottle } from "effect-hedge"',
    "",
    "export const policy = HedgePolicy.make({",
    ...(isDrawn
      ? [
          `  // ${percentOf(probability)} of the calls that are late get a hedge`,
          `  schedule: ${delay}.pipe(`,
          "    Schedule.modifyDelayEffect((_, delay) =>",
          `      Effect.map(Random.next, (drawn) => (drawn < ${probability} ? delay : Duration.infinity))`,
          "    )",
          "  ),"
        ]
      : [`  schedule: ${delay},`]),
    ...(attempts === 2 ? [] : [`  maxAttempts: ${attempts},`]),
    "  throttle: HedgeThrottle.all(",
    `    HedgeThrottle.loadBudget({ extraLoad: ${extraLoad}, burst: 10 }),`,
    "    HedgeThrottle.tokenBucket({ maxTokens: 100, tokenRatio: 0.1 })",
    "  )",
    "})"
  ].join("\n")
}

const percentOf = (share: number): string => `${Number((share * 100).toFixed(1))} %`
