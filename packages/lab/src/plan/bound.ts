/**
 * The least percentile that any policy of at most three attempts could reach under a budget, whichever schedule it draws for a call. It is
 * searched for over schedules, on a grid and then around the best, and asks nobody who solves for one.
 *
 * A schedule is a point (extra load, probability of missing t), and a policy that draws among schedules may lie anywhere between their points. So
 * t can be reached if a line from a schedule within the budget to one beyond it passes below 1 − p there: two schedules are always enough.
 */
import type { Copies } from "./copies.js"
import type { Evidence } from "./evidence.js"

/** Delays of each kind that are tried for one hedge, and for two. */
const singles = 250
const pairs = 80
/** Each halves what is not known of the percentile. */
const steps = 20

/** When hedges are due. */
type Schedule = ReadonlyArray<number>

/** Infinity if the percentile is not known. */
export const bound = ({ copies, distribution }: Evidence, p: number, budget: number): number => {
  let high = distribution.quantile(p)
  if (high === Infinity) return Infinity
  const delaysFor = (ms: number, size: number) => delays(distribution.quantile, ms, 1 - p, size)
  let low = 0
  for (let step = 0; step < steps; step++) {
    const ms = (low + high) / 2
    const mixture = mixtures(budget, (1 - p) * (1 + 1e-9))
    addAny(copies, ms, [], mixture)
    for (const delay of delaysFor(ms, singles)) addAny(copies, ms, [delay], mixture)
    if (copies.mostAttempts > 2) addPairs(copies, ms, delaysFor(ms, pairs), mixture)
    refine(copies, ms, mixture)
    if (mixture.isReached()) high = ms
    else low = ms
  }
  return low
}

/** Delays that are spread over the time, over what they send, and, as long before the end, over what their copy leaves unanswered. */
const delays = (
  quantile: (p: number) => number,
  ms: number,
  tail: number,
  size: number
): ReadonlyArray<number> =>
  Array.from({ length: size }, (_, i) => i / size)
    .flatMap((share) => {
      const level = quantile(1 - (tail / 2) ** share)
      return [ms * share, level, ms - level]
    })
    .filter((delay) => delay >= 0 && delay < ms)
    .sort((a, b) => a - b)

/** Whether some mixture of the schedules that were added misses no more than `tail` at the budget. */
const mixtures = (budget: number, tail: number) => {
  /** Of the best schedule within the budget: by how much it misses more than `tail`, for each unit of load that it leaves. */
  let above = Infinity
  /** Of the best one beyond it: by how much it misses less, for each unit of load that it takes too much. */
  let below = 0
  let best: { within: Schedule; beyond: Schedule } = { within: [], beyond: [] }
  return {
    add: (load: number, miss: number, schedule: Schedule) => {
      if (load > budget) {
        if ((tail - miss) / (load - budget) <= below) return
        below = (tail - miss) / (load - budget)
        best = { ...best, beyond: schedule }
      } else {
        const excess = miss <= tail ? 0 : (miss - tail) / (budget - load)
        if (excess >= above) return
        above = excess
        best = { ...best, within: schedule }
      }
    },
    /** Whether a schedule might change anything that misses so many and sends at least so much. */
    isWanted: (load: number, miss: number) =>
      load > budget
        ? (tail - miss) / (load - budget) > below
        : miss < tail || (miss - tail) / (budget - load) < above,
    isReached: () => below >= above,
    best: () => best
  }
}

type Mixture = ReturnType<typeof mixtures>

const addAny = ({ ofCopy, survival }: Copies, ms: number, schedule: Schedule, { add }: Mixture): void => {
  const [first, second] = schedule
  if (first === undefined) return add(0, survival(ms), schedule)
  const miss = survival(ms) * ofCopy(ms, first)
  if (second === undefined) return add(survival(first), miss, schedule)
  add(survival(first) + survival(second) * ofCopy(second, first), miss * ofCopy(ms, second), schedule)
}

/** What is the same for many pairs is worked out once. */
const addPairs = (
  { ofCopy, survival }: Copies,
  ms: number,
  delays: ReadonlyArray<number>,
  { add, isWanted }: Mixture
): void => {
  const alone = survival(ms)
  const loads = delays.map(survival)
  const left = delays.map((delay) => ofCopy(ms, delay))
  for (let i = 0; i < delays.length; i++) {
    for (let j = i; j < delays.length; j++) {
      const miss = alone * left[i]! * left[j]!
      if (isWanted(loads[i]!, miss)) {
        const [first, second] = [delays[i]!, delays[j]!]
        add(loads[i]! + loads[j]! * ofCopy(second, first), miss, [first, second])
      }
    }
  }
}

/** Tries delays around those of the two best schedules, nearer and nearer. */
const refine = (copies: Copies, ms: number, mixture: Mixture): void => {
  for (let step = ms / 64; step > ms / 10_000 && !mixture.isReached(); step /= 2) {
    const { beyond, within } = mixture.best()
    for (const schedule of [within, beyond]) {
      for (const near of around(schedule, step)) {
        if (near.every((delay, i) => delay >= (near[i - 1] ?? 0))) addAny(copies, ms, near, mixture)
      }
    }
  }
}

const around = ([delay, ...others]: Schedule, step: number): ReadonlyArray<Schedule> =>
  delay === undefined
    ? [[]]
    : around(others, step).flatMap((rest) =>
        [delay - step, delay - step / 3, delay, delay + step / 3, delay + step].map((near) => [near, ...rest])
      )
