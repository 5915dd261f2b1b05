/** A policy as code, for a program that uses `effect-hedge`. */
import { type Percentile, percentiles, type Row } from "./plan.js"

export interface Code {
  /** A row's delays, probabilities and budget. */
  readonly fixed: string
  /** A policy that learns them under the same budget; null where it would not do the same. */
  readonly adaptive: string | null
}

/** Null for a row that sends no hedge. */
export const code = (row: Row, objective: Percentile, isPaired: boolean): Code | null => {
  if (row.delaysMs.length === 0) return null
  // it takes copies to be independent, and sends a second hedge only for such an objective
  const isLearned = !isPaired && (row.delaysMs.length === 1 || percentiles[objective] >= 0.999)
  return { fixed: fixed(row), adaptive: isLearned ? adaptive(row, objective) : null }
}

const adaptive = ({ extraLoad }: Row, objective: Percentile): string => {
  const aim = objective === "p99" ? "" : `, objective: ${percentiles[objective]}`
  return [
    'import { HedgePolicy } from "effect-hedge"',
    "",
    `export const PolicyLive = HedgePolicy.layerAdaptive({ extraLoad: ${extraLoad}${aim} })`
  ].join("\n")
}

const fixed = ({ delaysMs, extraLoad, probabilities }: Row): string => {
  const isDrawn = probabilities.some((probability) => probability < 1)
  const staggers = delaysMs.map(
    (delay, i) => `"${Number((delay - (delaysMs[i - 1] ?? 0)).toFixed(3))} millis"`
  )
  const isPlain = !isDrawn && staggers.length === 1
  const effect = isDrawn ? ["Duration", "Effect", "Random", "Schedule"] : isPlain ? [] : ["Schedule"]
  const hedge = ["HedgePolicy", ...(isPlain ? ["HedgeSchedule"] : []), "HedgeThrottle"]
  return [
    ...(effect.length === 0 ? [] : [imported(effect, "effect")]),
    imported(hedge, "effect-hedge"),
    "",
    ...(isDrawn ? withProbability : []),
    "export const PolicyLive = HedgePolicy.layer({",
    ...(isPlain
      ? [`  schedule: HedgeSchedule.fixed(${staggers[0]}),`]
      : isDrawn
        ? drawn(staggers, probabilities)
        : [`  schedule: Schedule.fromDelays(${staggers.join(", ")}),`]),
    `  maxAttempts: ${1 + delaysMs.length},`,
    "  throttle: HedgeThrottle.all(",
    `    HedgeThrottle.loadBudget({ extraLoad: ${extraLoad}, burst: 10 }),`,
    "    HedgeThrottle.tokenBucket({ maxTokens: 100, tokenRatio: 0.1 })",
    "  )",
    "})"
  ].join("\n")
}

const imported = (names: ReadonlyArray<string>, from: string) =>
  `import { ${names.join(", ")} } from "${from}"`

const withProbability = [
  "/** So many of the calls that are late get this hedge. */",
  "const withProbability = (probability: number) =>",
  "  Schedule.modifyDelayEffect((_: unknown, delay: Duration.DurationInput) =>",
  "    Effect.map(Random.next, (drawn) => (drawn < probability ? delay : Duration.infinity))",
  "  )",
  ""
]

const drawn = (
  staggers: ReadonlyArray<string>,
  probabilities: ReadonlyArray<number>
): ReadonlyArray<string> => {
  const hedges = staggers.map((stagger, i) => {
    const hedge = `Schedule.fromDelay(${stagger})`
    return probabilities[i]! < 1 ? `${hedge}.pipe(withProbability(${probabilities[i]}))` : hedge
  })
  return hedges.length === 1
    ? [`  schedule: ${hedges[0]},`]
    : ["  schedule: Schedule.andThen(", hedges.map((hedge) => `    ${hedge}`).join(",\n"), "  ),"]
}
