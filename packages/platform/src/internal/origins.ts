import { globalValue } from "effect/GlobalValue"
import { HedgeThrottle } from "effect-hedge"

/** The default throttle of an origin, shared by every client of the process. */
export const originThrottle = globalValue("@effect-hedge/platform/origins", () =>
  HedgeThrottle.perUpstream(HedgeThrottle.makeDefault)
)
