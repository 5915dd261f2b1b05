import { HedgePolicy } from "effect-hedge"

export const PolicyLive = HedgePolicy.layerAdaptive({ extraLoad: 0.1 })
