import { afterAll, beforeAll } from "vitest"

/** For the tests of a file. TestClock waits for several timers of no delay at each wake; Node makes each of them a millisecond. */
export const useImmediateTimers = (): void => {
  const { setTimeout: realSetTimeout, clearTimeout: realClearTimeout } = globalThis

  beforeAll(() => {
    const immediates = new Set<unknown>()
    globalThis.setTimeout = ((
      f: (...args: ReadonlyArray<unknown>) => void,
      millis: number,
      ...args: ReadonlyArray<never>
    ) => {
      if (millis !== 0) return realSetTimeout(f, millis, ...args)
      const immediate = setImmediate(() => {
        immediates.delete(immediate)
        f(...args)
      })
      immediates.add(immediate)
      return immediate
    }) as never
    globalThis.clearTimeout = ((handle: never) =>
      immediates.delete(handle) ? clearImmediate(handle) : realClearTimeout(handle)) as never
  })

  afterAll(() => {
    globalThis.setTimeout = realSetTimeout
    globalThis.clearTimeout = realClearTimeout
  })
}
