import { globalValue } from "effect/GlobalValue"
import { HedgeThrottle } from "effect-hedge"

const most = 256

/** The default throttles of this process by origin, least recently used first. */
const throttles = globalValue(
  "@effect-hedge/platform/origins",
  () => new Map<string, HedgeThrottle.HedgeThrottle>()
)

/** The default throttle of an origin, shared by every client of the process. Only the 256 most recently used are kept. */
export const originThrottle = (origin: string): HedgeThrottle.HedgeThrottle => {
  const known = throttles.get(origin)
  const throttle = known ?? HedgeThrottle.makeDefault()
  if (known !== undefined) throttles.delete(origin)
  else if (throttles.size >= most) throttles.delete(throttles.keys().next().value!)
  throttles.set(origin, throttle)
  return throttle
}
