import { HedgePolicy } from "effect-hedge"

export const PolicyLive = HedgePolicy.layerAdaptive({ extraLoad: 0.11, objective: 0.999 })
