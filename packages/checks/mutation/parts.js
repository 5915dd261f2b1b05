/**
 * What is mutated together, and the tests that are to notice it. Every source file of the two packages is in one part. A part leaves out
 * tests that cost far more than they would add: those of the other parts, and those below. A test that a change makes wait for ever fails after
 * `slowestTest` milliseconds: of most changes that is what a run waits for.
 */

const learning = new Set(
  [
    "adaptive",
    "adaptivePolicy",
    "adaptiveSchedule",
    "decisions",
    "estimator",
    "guards",
    "histogram",
    "inspect",
    "learners",
    "lru",
    "pairs",
    "policyLayer",
    "solver",
    "survival",
    "tuned",
    "windows"
  ].map((name) => `packages/hedge/src/internal/${name}.ts`)
)

/** A file is named from the root. */
export const parts = {
  engine: {
    package: "hedge",
    holds: (/** @type {string} */ file) => !learning.has(file),
    mutate: ["packages/hedge/src/**/*.ts", ...[...learning].map((file) => `!${file}`)],
    tests: [
      "packages/hedge/test/*.test.ts",
      "packages/hedge/test/{model,stream}/*.test.ts",
      "packages/hedge/test/adaptive/policy.test.ts"
    ],
    slowestTest: 5_000
  },
  learning: {
    package: "hedge",
    holds: (/** @type {string} */ file) => learning.has(file),
    mutate: [...learning],
    // quantiles of millions of samples
    slowestTest: 15_000,
    tests: [
      "packages/hedge/test/adaptive/*.test.ts",
      "packages/hedge/test/{config,learners,nonsense,ownership}.test.ts"
    ]
  },
  platform: {
    package: "platform",
    holds: () => true,
    mutate: ["packages/platform/src/**/*.ts"],
    tests: ["packages/platform/test/**/*.test.ts"],
    slowestTest: 5_000
  }
}

/** Whether tests look on that take seconds. */
export const withSlowTests = process.env.MUTATION_SLOW_TESTS !== undefined

const slowFiles = [
  // losers over sockets, by the dozen: a minute and a half
  "packages/platform/test/losers.test.ts",
  "packages/platform/test/events/losers.test.ts"
]

export const excludedFiles = [
  // collects garbage, which Stryker's threads cannot
  "packages/hedge/test/leaks.test.ts",
  // reads the sources, which Stryker has rewritten
  "packages/hedge/test/anyHost.test.ts",
  // runs tsc
  "packages/platform/test/types.test.ts",
  ...(withSlowTests ? [] : slowFiles)
]

/** Tests of a fifth of a second and more, and most of those that compute the same of several distributions, by a part of their names. */
const slowTests = [
  "the extra load stays within",
  "extra load within the budget, and every call ends",
  "after a thousand calls of every outcome",
  "whatever both do to FiberRefs",
  "accounts for every attempt, success, finalizer and release",
  "10,000 of them in one call",
  "within 6 % on average",
  "on 200 random distributions",
  "is left alone for longer each time",
  "keeps the hedge rate within 0.5 points",
  "knows it of Pareto(1.1, 2)",
  "in an outage whose failures are fast",
  "go on to answer after the delay for the meantime",
  "after the fixed delay, if one is given",
  "and all attempts fail late",
  "send a hedge when both agree",
  "% of the oracle's P99 on",
  "of pairs is within 0.5 %",
  "20,000 keys leave 256",
  "20,000 keys that come once",
  "leaves nothing in flight and teaches nothing",
  "a clock that stands still stops nothing",
  "for an objective of 0.999",
  "keeps the delay of a quantile between its bounds",
  "nobody knows the targets, none is idle",
  "would be without hedging, within",
  "that are always slow together suspend hedging",
  "one hedge on W1 with 8 % slow reaches",
  "what delays of 80 and 160 ms do",
  "0 calls: the delay has followed within 1.5 windows",
  "used in a thousand calls shares nothing"
]

export const excludedTests = [
  // loads modules, which makes what runs while they load look as if this test covered it
  "of other processes, too",
  // collects garbage
  "keeps nothing of its call alive",
  ...(withSlowTests ? [] : slowTests)
]
